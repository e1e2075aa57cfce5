"""Carrying a scenario's steps out: as the operator by the control API, as a VM over the wire.

Rule 1: what is refused is told, not raised: whether it should have been is the caller's to judge.
Rule 2: what a step calls an event is remembered under that name.
"""

from collections.abc import Iterable

from notbefore.control_client import Event
from notbefore.control_client.client import Wanted as AskedFor
from notbefore.core.errors import Refusal
from notbefore.core.times import SECOND_MS, iso
from notbefore.scenarios.emulator import Emulator
from notbefore.scenarios.scenario import Scenario
from notbefore.scenarios.steps import Act, HostFails, Maintain, Operate, Step, VmApproves, VmAsks, Wanted


class Actors:
    """Whoever does something in a scenario, and the events they know by name."""

    def __init__(self, scenario: Scenario, emulator: Emulator, events: dict[str, str]) -> None:
        self._scenario = scenario
        self._emulator = emulator
        self._operator = emulator.operator
        self._events = events

    def take(self, step: Step) -> str:
        """Carry it out; the refusal, if there was one."""
        try:
            self._take(step)
        except Refusal as refusal:
            return refusal.message
        self._emulator.settle()
        return ""

    def _take(self, step: Step) -> None:
        match step:
            case Operate():
                self._operate(step)
            case Maintain():
                self._maintain(step)
            case Act(action, event):
                self._operator.act(self._id(event), action)
            case HostFails(host):
                self._operator.host_failed(host)
            case VmAsks(vm):
                self._emulator.vm(vm).document()
            case VmApproves(vm, events):
                self._approve(vm, events)

    def _operate(self, step: Operate) -> None:
        scope = self._scenario.scope_of(step.vm)
        event = self._operator.operate(scope, step.vm, step.operation, **self._asked(step.wanted))
        self._remember(step.called, event)

    def _maintain(self, step: Maintain) -> None:
        asked, of = self._asked(step.wanted), step.of
        if of.host:
            self._operator.maintain_host(of.host, step.type, **asked)
        else:
            scope = of.scope or self._scenario.scope_of(of.vms[0])
            self._operator.maintain(scope, step.type, vms=of.vms, update_domains=of.update_domains, **asked)

    def _approve(self, vm: str, events: Iterable[str]) -> None:
        ids = {event: self._id(event) for event in events}
        approved = self._emulator.vm(vm).approve(*ids.values())
        gone = [event for event, event_id in ids.items() if event_id not in approved]
        if gone:
            raise Refusal(f"{' and '.join(gone)} cannot be approved any more.")

    def _asked(self, wanted: Wanted) -> AskedFor:
        at_s = wanted.not_before_s
        not_before = None if at_s is None else iso(self._emulator.began_ms + at_s * SECOND_MS)
        return {"not_before": not_before, "duration_s": wanted.duration_s, "description": wanted.description}

    def _id(self, event: str) -> str:
        if event not in self._events:
            raise Refusal(f"No event is called {event}: the line that names it saw none.")
        return self._events[event]

    def _remember(self, called: str, event: Event) -> None:
        if called:
            self._events[called] = event.id
