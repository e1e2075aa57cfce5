"""What the client says to the endpoint, as plans: read, approve, watch, and who am I.

Rule 1: no I/O and no clock here: plans yield steps (steps.py) and are told what came of them.
Rule 2: a refused approval is looked into once: ids that are gone are dropped, the rest approved [ours].
Rule 3: a watcher is told at once when its first question is refused. After that nothing ends it: it logs and asks on.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Never

from notbefore.client.changes import Seen
from notbefore.client.document import Document
from notbefore.client.endpoint import Endpoint, EndpointError, log
from notbefore.client.identity import INSTANCE_PATH, INSTANCE_VERSION, name_in, nobody
from notbefore.client.polling import Known, Poll, Shown
from notbefore.client.retries import Patience, Retries
from notbefore.client.steps import Answer, Ask, Outcome, Plan, Tell, asked
from notbefore.client.verdicts import BAD_REQUEST, NOT_FOUND, NOT_MODIFIED, Refused, Trouble, document_in, verdict_on
from notbefore.wire.api_versions import PATH
from notbefore.wire.approval import START_REQUESTS_MAX, render_start_requests

JSON: Mapping[str, str] = {"Content-Type": "application/json"}


class Conversation:
    def __init__(self, endpoint: Endpoint, api_version: str, patience: Patience, vm: str | None = None) -> None:
        self._endpoint = endpoint
        self._target = endpoint.target(PATH, api_version)
        self._patience = patience
        self._vm = vm
        self._name = ""
        self._shown = Shown()
        self._answered_s: float | None = None

    # -- read

    def document(self, now_s: float) -> Plan[Document]:
        """The events scheduled for the VM's scope, now."""
        known: Known | None = None

        def question(now_s: float) -> Ask:
            nonlocal known
            known = self._shown.known(now_s)
            timeout_s = self._patience.for_answer_s(now_s, self._answered_s)
            return Ask("GET", self._target, timeout_s, known.condition if known else {})

        answer = yield from self._persistently(question, now_s)
        if isinstance(answer, Refused):
            raise answer.error
        self._answered_s = answer.at_s
        document = self._document_of(answer, known, self._shown)
        if isinstance(document, Trouble):
            raise document.error
        return document

    def _document_of(self, answer: Answer, known: Known | None, shown: Shown) -> Document | Trouble:
        if answer.status == NOT_MODIFIED:
            if known is not None:
                return known.document
            return Trouble(EndpointError(f"{self._endpoint.url} answered 304 to a plain question."))
        document = document_in(answer, self._endpoint.url)
        if isinstance(document, Document):
            shown.keep(document, answer)
        return document

    # -- approve

    def approval(self, event_ids: Sequence[str], now_s: float) -> Plan[tuple[str, ...]]:
        """Approve these; the ids whose approval was taken."""
        wanted = list({event_id.lower(): event_id for event_id in event_ids}.values())
        approved: tuple[str, ...] = ()
        for start in range(0, len(wanted), START_REQUESTS_MAX):
            approved += yield from self._approved(tuple(wanted[start : start + START_REQUESTS_MAX]), now_s)
        return approved

    def _approved(self, event_ids: tuple[str, ...], now_s: float) -> Plan[tuple[str, ...]]:
        refused = yield from self._posted(event_ids, now_s)
        if refused is None:
            return event_ids
        if refused.status != BAD_REQUEST:
            raise refused.error
        self._shown.forget()
        document = yield from self.document(now_s)
        left = tuple(event_id for event_id in event_ids if document.event(event_id))
        if left == event_ids:
            raise refused.error
        for event_id in event_ids:
            if event_id not in left:
                log.info("event %s is no longer there: not approved", event_id)
        refused = (yield from self._posted(left, now_s)) if left else None
        if refused:
            raise refused.error
        return left

    def _posted(self, event_ids: tuple[str, ...], now_s: float) -> Plan[Refused | None]:
        body = render_start_requests(event_ids)

        def approval(now_s: float) -> Ask:
            return Ask("POST", self._target, self._patience.for_answer_s(now_s, self._answered_s), JSON, body)

        answer = yield from self._persistently(approval, now_s)
        if isinstance(answer, Refused):
            return answer
        self._answered_s = answer.at_s
        return None

    # -- watch

    def watch(self, now_s: float) -> Plan[Never]:
        """Every change as it is seen, for as long as somebody watches."""
        poll, seen, retries = Poll(self._target, self._patience), Seen(), Retries(self._patience, endless=True)
        while True:
            outcome = yield from asked(poll.question(now_s))
            now_s = outcome.at_s
            verdict = self._read(outcome, poll)
            if isinstance(verdict, Trouble):
                poll.trouble()
                wait = retries.wait_after(verdict, now_s)
                assert wait is not None
                log.warning("%s Asked again in %.1f to %.1f s.", verdict.why, wait.low_s, wait.high_s)
                yield wait
                continue
            answer, document = verdict
            if troubles := retries.end():
                log.warning("%s answers again, after %d in vain", self._endpoint.url, troubles)
            changes = seen.changes_in(document)
            for change in changes:
                log.info("event %s %s: %s", change.event.id, change.kind, change.event.type)
                yield Tell(change)
            yield poll.rest(answer, changed=bool(changes))

    def _read(self, outcome: Outcome, poll: Poll) -> tuple[Answer, Document] | Trouble:
        verdict = verdict_on(outcome, self._endpoint.url)
        if isinstance(verdict, Refused):
            if not poll.was_answered:
                raise verdict.error
            return Trouble(verdict.error)
        if isinstance(verdict, Trouble):
            return verdict
        document = self._document_of(verdict, poll.known, poll.shown)
        if isinstance(document, Trouble):
            return document
        poll.took(verdict)
        self._answered_s = verdict.at_s
        return verdict, document

    # -- who am I

    def name(self, now_s: float) -> Plan[str]:
        """The VM's own name: from the instance metadata, else from settings; never the hostname by itself.

        Its answer enables nothing: the first question for events still has the time of a first one.
        """
        if not self._name:
            told, why = yield from self._told_name(now_s)
            self._name = told or self._vm or nobody(self._endpoint.url, why)
        return self._name

    def _told_name(self, now_s: float) -> Plan[tuple[str, str]]:
        target = self._endpoint.target(INSTANCE_PATH, INSTANCE_VERSION)
        ask = Ask("GET", target, self._patience.later_s)
        try:
            answer = yield from self._persistently(lambda _: ask, now_s, final=NOT_FOUND)
        except EndpointError as error:
            return "", error.message
        if isinstance(answer, Refused):
            return "", answer.error.message
        return name_in(answer.body), "its answer names no VM"

    # -- below

    def _persistently(
        self, question: Callable[[float], Ask], now_s: float, final: int | None = None
    ) -> Plan[Answer | Refused]:
        """Ask until there is an answer, or patience ends. A `final` status is not asked again."""
        retries = Retries(self._patience)
        while True:
            outcome = yield from asked(question(now_s))
            now_s = outcome.at_s
            verdict = verdict_on(outcome, self._endpoint.url)
            if not isinstance(verdict, Trouble):
                return verdict
            self._shown.forget()
            is_final = final is not None and isinstance(outcome, Answer) and outcome.status == final
            wait = None if is_final else retries.wait_after(verdict, now_s)
            if wait is None:
                raise verdict.error
            log.warning("%s Asked again in %.1f to %.1f s.", verdict.why, wait.low_s, wait.high_s)
            yield wait
