"""What a recorder asks, when, and what it notes: a plan, as the client's are (client/steps.py).

Rule 1: no I/O and no clock here. It only reads: nothing is ever approved.
Rule 2: asked at a steady pace, also in trouble, or by a question that is held where the endpoint holds it.
Rule 3: an answer that says the same as the one before is not noted.
Rule 4: an endpoint that is not there, or refuses, at the first question is an error, not a recording.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Never

from notbefore.client.document import Document
from notbefore.client.endpoint import Endpoint
from notbefore.client.identity import INSTANCE_PATH, INSTANCE_VERSION, name_in
from notbefore.client.polling import Poll
from notbefore.client.retries import Patience
from notbefore.client.steps import Answer, Ask, Loss, Lost, Outcome, Wait
from notbefore.client.verdicts import NOT_MODIFIED, Refused, Trouble, document_in, verdict_on
from notbefore.recording.flow import BROKEN, OK, STATUSES, TIMEOUT, UNREACHABLE, Shown, is_name, is_plain, shortened
from notbefore.wire.api_versions import PATH

ERROR_OF = {Loss.TIMED_OUT: TIMEOUT, Loss.UNREACHABLE: UNREACHABLE, Loss.BROKEN: BROKEN}


@dataclass(frozen=True, slots=True)
class Began:
    """The endpoint is there: the flow begins with what it showed at `at_s`."""

    at_s: float
    vm: str


@dataclass(frozen=True, slots=True)
class Noted:
    """At `at_s`, on the steady clock, this was shown, and not what was shown before."""

    at_s: float
    shown: Shown


Listening = Generator[Ask | Wait | Began | Noted, Outcome | None, Never]
"""Sent an Outcome after an Ask, None after anything else."""


def listening(endpoint: Endpoint, api_version: str, every_s: float, patience: Patience, now_s: float) -> Listening:
    """Ask for the document without end, and note each change of it."""
    poll = Poll(endpoint.target(PATH, api_version), patience, every_s)
    outcome = yield poll.question(now_s)
    assert outcome is not None
    _refuse_at_once(outcome, endpoint.url)
    told = yield Ask("GET", endpoint.target(INSTANCE_PATH, INSTANCE_VERSION), patience.later_s)
    yield Began(_noticed_s(outcome), _name(told))
    before: Shown | None = None
    while True:
        document = _document(outcome, poll, endpoint.url)
        shown = _shown(outcome, is_document=document is not None)
        changed = shown is not None and shown != before
        if shown is not None and changed:
            before = shown
            yield Noted(_noticed_s(outcome), shown)
        yield _rest(outcome, poll, every_s, is_document=document is not None, changed=changed)
        outcome = yield poll.question(outcome.at_s)
        assert outcome is not None


def _refuse_at_once(outcome: Outcome, url: str) -> None:
    verdict = verdict_on(outcome, url)
    is_nobody = isinstance(outcome, Lost) and outcome.loss is Loss.UNREACHABLE
    if isinstance(verdict, Refused) or (is_nobody and isinstance(verdict, Trouble)):
        raise verdict.error


def _document(outcome: Outcome, poll: Poll, url: str) -> Document | None:
    """What it shows, if that is a document; the poll learns either way."""
    document: Document | None = None
    if isinstance(outcome, Answer) and outcome.status == NOT_MODIFIED:
        document = poll.known.document if poll.known else None
    elif isinstance(outcome, Answer) and outcome.status == OK:
        read = document_in(outcome, url)
        document = read if isinstance(read, Document) else None
        if document:
            poll.shown.keep(document, outcome)
    if document and isinstance(outcome, Answer):
        poll.took(outcome)
    else:
        poll.trouble()
    return document


def _shown(outcome: Outcome, *, is_document: bool) -> Shown | None:
    """None: what was shown before."""
    if isinstance(outcome, Lost):
        return Shown(error=ERROR_OF[outcome.loss])
    if outcome.status == NOT_MODIFIED and is_document:
        return None
    if outcome.status not in STATUSES:
        return Shown(error=BROKEN)
    headers = {name: value for name, value in outcome.headers.items() if is_plain(value)}
    shown = Shown(
        outcome.status,
        body=outcome.body,
        etag=headers.get("etag", ""),
        content_type=headers.get("content-type", ""),
        retry_after=headers.get("retry-after", ""),
    )
    return shown if is_document else shortened(shown)


def _rest(outcome: Outcome, poll: Poll, every_s: float, *, is_document: bool, changed: bool) -> Wait:
    if isinstance(outcome, Answer) and is_document:
        return poll.rest(outcome, changed=changed)
    return Wait(every_s, every_s, since_s=outcome.asked_s)


def _noticed_s(outcome: Outcome) -> float:
    """An answer shows what is when it comes. Silence had begun when the question was asked."""
    is_silence = isinstance(outcome, Lost) and outcome.loss is Loss.TIMED_OUT
    return outcome.asked_s if is_silence else outcome.at_s


def _name(told: Outcome | None) -> str:
    name = name_in(told.body) if isinstance(told, Answer) and told.status == OK else ""
    return name if is_name(name) else ""
