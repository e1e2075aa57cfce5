"""Judging a scenario's expectations: look as whoever is said to look, and compare.

Rule 1: a verdict is what was seen instead, in the words that scenarios are written in; nothing when it was met.
Rule 2: the incarnation is compared with what it was after the last line of the time before.
"""

from collections.abc import Sequence

from notbefore.client import Document, EventView
from notbefore.control_client import Change, Vm
from notbefore.core.errors import Refusal
from notbefore.core.model import name_key
from notbefore.core.times import SECOND_MS
from notbefore.scenarios.emulator import Emulator
from notbefore.scenarios.expectations import (
    GONE,
    Expectation,
    HistorySays,
    HistoryTells,
    NoLongerSees,
    Sees,
    SeesIncarnation,
    SeesNothing,
    VmIs,
)
from notbefore.scenarios.scenario import Scenario
from notbefore.scenarios.spans import shown_span

RECORDS_MAX = 1000


class Judge:
    def __init__(self, scenario: Scenario, emulator: Emulator, events: dict[str, str]) -> None:
        """`events` are ids by the names that lines gave them."""
        self._scenario = scenario
        self._emulator = emulator
        self._events = events
        self._earlier: dict[str, int] = {}
        self.remember_incarnations()

    def remember_incarnations(self) -> None:
        """Those that the next time's are compared with."""
        self._earlier = {scope.name: scope.incarnation for scope in self._emulator.operator.scopes()}

    def verdict(self, expected: Expectation) -> str:
        """What was seen instead; empty when it was met."""
        try:
            return self._verdict(expected)
        except Refusal as refusal:
            return refusal.message

    def _verdict(self, expected: Expectation) -> str:
        match expected:
            case Sees():
                return self._judged_event(expected)
            case SeesNothing(vm):
                document = self._document(vm)
                return self._shown(document) if document.events else ""
            case NoLongerSees(vm, event):
                document = self._document(vm)
                return self._shown(document) if document.event(self._id(event)) else ""
            case SeesIncarnation(vm, changed):
                return self._judged_incarnation(vm, changed=changed)
            case VmIs():
                return self._judged_vm(expected)
            case HistoryTells() | HistorySays():
                return self._judged_history(expected)

    # -- As a VM

    def _document(self, vm: str) -> Document:
        return self._emulator.vm(vm).document()

    def _judged_event(self, expected: Sees) -> str:
        document = self._document(expected.vm)
        alike = [event for event in document.events if self._is_as(event, expected)]
        if not alike or (expected.only and len(document.events) > 1):
            return self._shown(document)
        if expected.called:
            self._events.setdefault(expected.called, alike[0].id)
        return ""

    def _is_as(self, event: EventView, expected: Sees) -> bool:
        """What is expected is None where the line says nothing of it."""
        not_before_s = self._not_before_s(event)
        facts: Sequence[tuple[object, object]] = (
            (expected.type, event.type),
            (expected.status, event.status),
            (_keys(expected.of), _keys(event.resources)),
            (expected.not_before_s, not_before_s),
            (expected.source, event.source),
            (expected.duration_s, event.duration_s),
            (expected.description, event.description),
            (self._events.get(expected.called), event.id),
        )
        is_blank_once_started = not event.is_started or not_before_s is None
        is_alike = all(wanted in (None, found) for wanted, found in facts)
        return is_alike and is_blank_once_started and self._is_free(event, expected)

    def _is_free(self, event: EventView, expected: Sees) -> bool:
        """An event has one name: a second one is for another event."""
        return not expected.called or self._name_of(event) in ("", expected.called)

    def _judged_incarnation(self, vm: str, *, changed: bool) -> str:
        earlier = self._earlier[self._scenario.scope_of(vm)]
        now = self._document(vm).incarnation
        return "" if (now != earlier) is changed else f"incarnation {now}, earlier {earlier}"

    def _not_before_s(self, event: EventView) -> int | None:
        if event.not_before is None:
            return None
        return round(event.not_before.timestamp()) - self._emulator.began_ms // SECOND_MS

    def _shown(self, document: Document) -> str:
        return "; ".join(self._told(event) for event in document.events) or "nothing"

    def _told(self, event: EventView) -> str:
        not_before_s = self._not_before_s(event)
        facts = [
            f"{event.type} {event.status} of {' and '.join(event.resources)}",
            *([] if not_before_s is None else [f"not before {shown_span(not_before_s)}"]),
            f"source {event.source}",
            f"duration {event.duration_s}",
            f'"{event.description}"',
            *([f"as {name}"] if (name := self._name_of(event)) else []),
        ]
        return ", ".join(facts)

    def _name_of(self, event: EventView) -> str:
        return next((name for name, event_id in self._events.items() if event_id == event.id), "")

    def _id(self, event: str) -> str:
        if event not in self._events:
            raise Refusal(f"no event is called {event}: the line that names it saw none")
        return self._events[event]

    # -- As the operator

    def _judged_vm(self, expected: VmIs) -> str:
        vms = self._emulator.operator.scope(self._scenario.scope_of(expected.vm)).vms
        found = next((vm for vm in vms if name_key(vm.name) == name_key(expected.vm)), None)
        if found is None:
            return "" if expected.state == GONE else "gone"
        is_there = expected.state == found.state and name_key(expected.host or found.host) == name_key(found.host)
        return "" if is_there else _state_of(found)

    def _judged_history(self, expected: HistoryTells | HistorySays) -> str:
        if isinstance(expected, HistorySays) and expected.scope:
            changes = self._changes(scope=expected.scope)
        else:
            changes = self._changes(event=self._id(expected.event))
        if isinstance(expected, HistorySays):
            lines = [f"{change.what} ({change.by}): {change.why}" for change in changes]
            return "" if any(expected.text in line for line in lines) else "; ".join(lines)
        told = tuple(change.what.partition(":")[0] for change in changes)
        return "" if told == tuple(word.lower() for word in expected.words) else ", ".join(told)

    def _changes(self, *, event: str | None = None, scope: str | None = None) -> list[Change]:
        records = self._emulator.operator.history(scope, event, limit=RECORDS_MAX).history
        changes = (change for record in records for change in record.changes)
        return [one for one in changes if event is None or (one.event and one.event.id == event)]


def _keys(names: Sequence[str]) -> list[str]:
    return sorted(map(name_key, names))


def _state_of(vm: Vm) -> str:
    return f"{vm.state} on {vm.host}" if vm.host else vm.state
