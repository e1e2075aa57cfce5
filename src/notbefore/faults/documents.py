"""What is shown instead of the truth, while faults are at work.

Rule 1: what strikes an event changes the document of its scope for all who see it; its number then rises exactly when
what is shown changes, and never above the true one: so it does not fall when the faults are gone.
Rule 2: what strikes an answer (stale, incarnation-reset, letter-case) changes that answer alone.
Rule 3: nothing here is stored, and nothing asks for anything.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from notbefore.core.kinds import EventType, Status
from notbefore.core.model import Event, Scope
from notbefore.core.times import SECOND_MS, rounded_up_to_second
from notbefore.core.visibility import picture
from notbefore.faults.book import FaultBook
from notbefore.faults.fault import Edge, Fault

FIRST = 1


class Documents:
    def __init__(self, book: FaultBook) -> None:
        self._book = book
        self._shown: dict[str, Scope] = {}
        # The true number beside it, and by how much the shown one is behind.
        self._true: dict[str, int] = {}
        self._behind: dict[str, int] = {}
        # What was shown when a fault of documents was set.
        self._kept: dict[str, Mapping[str, Scope]] = {}

    def see(self, scope: Scope) -> None:
        """A scope has changed, or what strikes its events has."""
        key, shown = scope.key, self._struck(scope)
        behind = self._behind_now(scope, shown)
        self._behind[key], self._true[key] = behind, scope.incarnation
        self._shown[key] = replace(shown, incarnation=scope.incarnation - behind) if behind else shown

    def keep(self) -> None:
        """The faults that are set have changed: what is shown now is what a new one began with."""
        ids = [one.id for one in self._book.all() if one.kind.edge is Edge.DOCUMENT]
        self._kept = {one: self._kept[one] if one in self._kept else dict(self._shown) for one in ids}

    def forget(self) -> None:
        # Anew, not emptied: an answer may be in the midst of them.
        self._shown, self._true, self._behind, self._kept = {}, {}, {}, {}

    def for_answer(self, scope: Scope, vm: str) -> Scope:
        """The scope as this one answer shows it."""
        # First what is shown, then who is struck: a strike may be the last one, and all of this forgotten.
        shown, kept = self._shown.get(scope.key, scope), self._kept
        for fault in self._book.strikes_document(scope.name, vm):
            shown = changed_answer(shown, fault, kept.get(fault.id, {}).get(scope.key))
        return shown

    def _struck(self, scope: Scope) -> Scope:
        events = tuple(as_shown(event, self._book.working_on(event.id)) for event in scope.events)
        return replace(scope, events=events) if events != scope.events else scope

    def _behind_now(self, scope: Scope, shown: Scope) -> int:
        before, behind = self._shown.get(scope.key), self._behind.get(scope.key, 0)
        if before is None or (shown is scope and behind == 0):
            return 0
        risen = scope.incarnation - self._true[scope.key]
        if picture(before) == picture(shown):
            return behind + risen
        return behind if risen else max(0, behind - 1)


def as_shown(event: Event, faults: Sequence[Fault]) -> Event:
    for fault in faults:
        match fault.kind.name, event.status:
            case "skip-scheduled", Status.SCHEDULED:
                event = replace(event, hidden=True)
            case "short-notice", Status.SCHEDULED if event.notice:
                event = replace(event, notice=replace(event.notice, until_ms=short_not_before_ms(event, fault)))
            case "freeze-instead", Status.STARTED:
                event = replace(event, type=EventType.FREEZE)
    return event


def short_not_before_ms(event: Event, fault: Fault) -> int:
    """So long after it became visible, to the second; never later than the true one."""
    early_ms = rounded_up_to_second((event.visible_since_ms or 0) + round(fault.seconds("notice_s") * SECOND_MS))
    return early_ms if event.not_before_ms is None else min(early_ms, event.not_before_ms)


def changed_answer(shown: Scope, fault: Fault, kept: Scope | None) -> Scope:
    """`kept` is what the fault began with; None for a scope that was not there then."""
    match fault.kind.name:
        case "stale":
            return kept or shown
        case "incarnation-reset":
            began = kept.incarnation if kept else FIRST
            return replace(shown, incarnation=max(FIRST, shown.incarnation - began + FIRST))
        case "letter-case":
            return replace(shown, events=tuple(_in_other_case(event) for event in shown.events))
    return shown


def _in_other_case(event: Event) -> Event:
    return replace(event, vms=tuple(vm.swapcase() for vm in event.vms))
