"""What a VM may expect of the documents it gets, one after the other; and L3: one answer brings it up to date.

Rule 1, ordered: one process never goes back, whichever VM of the scope asks; from any process, under a number not lower
than before, what was Started is not Scheduled again, and what was gone does not return.
Rule 2, unique: an EventId is in a document once.
Rule 3, reliable: a process that is well shows what was committed 150 ms before it was asked, and what it has answered
for itself at once (DESIGN: read your own writes; other nodes follow within 100 ms). So does L3's one answer.
Not here: whether a document is one committed state (isolation.py).
"""

import json
from typing import ClassVar

from notbefore.core.draft import Answer
from notbefore.core.model import ActorKind, name_key
from notbefore.runtime.snapshot import VmRef
from notbefore.simulation.facts import Facts
from notbefore.simulation.laws.approvals import ids_asked_for
from notbefore.simulation.laws.document import is_shown
from notbefore.simulation.laws.isolation import tag_of
from notbefore.simulation.laws.law import Violation
from notbefore.simulation.laws.ledger import Ledger
from notbefore.simulation.steps import Committed, OperatorAnswered, Step, VmAnswered

OK = 200
NOT_MODIFIED = 304
FOLLOWED_US = 150_000
SETTLED_US = 2_000_000
STARTED = "Started"


class Seen:
    """What one VM was shown last: a number, and the events with status and type."""

    __slots__ = ("events", "gone", "incarnation")

    def __init__(self) -> None:
        self.incarnation = 0
        self.events: dict[str, tuple[str, str]] = {}
        self.gone: set[str] = set()


class Streams:
    code: ClassVar[str] = "L3"

    def __init__(self, ledger: Ledger | None = None) -> None:
        self._ledger = ledger or Ledger()
        # Per scope and process: the highest number that was shown, and when it first was.
        self._last: dict[tuple[str, str], tuple[int, int]] = {}
        self._seen: dict[VmRef, Seen] = {}
        self._parsed: dict[bytes, dict[str, tuple[str, str]]] = {}
        # Which incarnation a request, or a VM's word on an event, came to, and in which process.
        self._came_to: dict[tuple[str, ...], tuple[str, int]] = {}
        # What a process has answered for itself, per scope.
        self._answered: dict[tuple[str, str], int] = {}

    def see(self, step: Step, facts: Facts) -> None:
        if isinstance(step, Committed):
            self._note(step)
        elif isinstance(step, OperatorAnswered):
            if isinstance(step.answer, Answer):
                self._own(step.process, name_key(step.request.scope), (step.request.request_id,))
        elif isinstance(step, VmAnswered) and step.answer.status in {OK, NOT_MODIFIED}:
            if not self._ledger.askers.is_certain(step, facts):
                return
            if step.head.method == "POST":
                for event_id in ids_asked_for(step.body) or ():
                    self._own(step.process, step.vm.scope, (event_id, step.vm.vm))
            else:
                self._judge(step, facts)

    def _note(self, step: Committed) -> None:
        commit = self._ledger.read(step)
        if step.record is None:
            return
        came_to = (step.process, step.after.incarnation)
        self._came_to[step.record.request_id,] = came_to
        for move in commit.moves:
            for change in move.told:
                if change.what == "approved" and change.by.kind is ActorKind.VM:
                    self._came_to[move.id, name_key(change.by.name)] = came_to

    def _own(self, process: str, key: str, what: tuple[str, ...]) -> None:
        by, incarnation = self._came_to.get(what, ("", 0))
        if by == process:
            self._answered[process, key] = max(incarnation, self._answered.get((process, key), 0))

    def _judge(self, step: VmAnswered, facts: Facts) -> None:
        incarnation = int(tag_of(step))
        last, shown_us = self._last.get((step.vm.scope, step.process), (0, 0))
        # What left at the instant of the question may have left after its answer was made.
        if incarnation < last and shown_us < step.asked_us:
            raise self._broken("ordered", f"the scope was shown {last}, then {incarnation}", step)
        if incarnation > last:
            self._last[step.vm.scope, step.process] = (incarnation, step.at_us)
        self._judge_newest(step, incarnation, facts)
        if step.answer.status == OK:
            self._judge_events(step, incarnation)

    def _judge_newest(self, step: VmAnswered, incarnation: int, facts: Facts) -> None:
        owned = self._answered.get((step.process, step.vm.scope), 0)
        if incarnation < owned:
            raise self._broken("reliable", f"shows {incarnation} after it answered for {owned}", step)
        process = facts.processes[step.process]
        if process.loaded_us is None or process.calm_since_us is None:
            return
        if max(process.loaded_us, process.calm_since_us) > step.asked_us - SETTLED_US:
            return
        for risen_us, risen in reversed(self._ledger.risen.get(step.vm.scope, ())):
            if risen <= incarnation:
                return
            if risen_us <= step.asked_us - FOLLOWED_US:
                ago_ms = (step.asked_us - risen_us) // 1000
                raise self._broken("reliable", f"shows {incarnation}; {risen} was there {ago_ms} ms before", step)

    def _judge_events(self, step: VmAnswered, incarnation: int) -> None:
        shown = self._events_in(step)
        seen = self._seen.get(step.vm)
        if seen is None:
            seen = self._seen[step.vm] = Seen()
        if incarnation < seen.incarnation:
            return
        version = step.head.query.decode().partition("api-version=")[2][:10]
        for event_id, (status, event_type) in seen.events.items():
            now = shown.get(event_id)
            if now is None and is_shown(event_type, version):
                seen.gone.add(event_id)
            elif now is not None and status == STARTED != now[0]:
                raise self._broken("ordered", f"shows {event_id} as {now[0]} after {STARTED}", step)
        if not seen.gone.isdisjoint(shown):
            raise self._broken("ordered", f"shows {sorted(seen.gone & shown.keys())} again, which had gone", step)
        # An earlier api-version leaves types out; what it left out is still there.
        seen.events = {i: s for i, s in seen.events.items() if i not in seen.gone} | shown
        seen.incarnation = incarnation

    def _events_in(self, step: VmAnswered) -> dict[str, tuple[str, str]]:
        shown = self._parsed.get(step.answer.body)
        if shown is None:
            events = json.loads(step.answer.body)["Events"]
            shown = {event["EventId"]: (event["EventStatus"], event["EventType"]) for event in events}
            if len(shown) != len(events):
                raise self._broken("unique", "shows an EventId twice", step)
            self._parsed[step.answer.body] = shown
        return shown

    @staticmethod
    def _broken(law: str, sentence: str, step: VmAnswered) -> Violation:
        return Violation(law, f"{step.process} to {step.vm.scope}/{step.vm.vm}: {sentence}", step.vm.scope)
