"""The emulator: a real server in this process with a simulated executor, and a clock that a test turns.

Rule 1: it is the server that `notbefore serve` runs: every rule, wire and store is the real one. Only the clock stands
still, and scopes listen by themselves (`listening = "always"`), so that events have their notice without a first poll.
Rule 2: VMs and scopes are declared when they are first spoken of.
Rule 3: a refusal of the server is raised as the class it was there, with its hint as a note.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal, Unpack

from notbefore.control_client import Event, HistoryRecord, Scope
from notbefore.control_client.given import given
from notbefore.core.errors import Invalid, NotAllowed, NotSpot, Refusal
from notbefore.core.kinds import MAINTENANCE_TYPES, EventType, Source
from notbefore.core.vm_operations import VM_OPERATIONS
from notbefore.testing.event import ScheduledEvent
from notbefore.testing.faults import OrderedFault, faults_of
from notbefore.testing.fleet import DEFAULT_SCOPE, Fleet, GivenSettings
from notbefore.testing.judging import EventGiven, Judging, name_of
from notbefore.testing.requests_heard import RequestLog
from notbefore.testing.spans import Span, perhaps_seconds, seconds_of
from notbefore.testing.vm import EmulatedVm
from notbefore.testing.waiting import Condition, looked_at

TURNS_MAX = 10_000
OPERATIONS = {operation.type: operation for operation in VM_OPERATIONS.values()}

VmGiven = EmulatedVm | str
"""A VM, or its name: `web-0`, or `scope/web-0`."""


class Emulator(Judging):
    """`with Emulator() as scheduled_events:`, or `async with`.

    `listening`: of scopes that are declared by naming a VM: always, auto (the real rule: who has not asked for a day
    gets no notice) or never. `rate_limit_per_s`: of each VM, 0 is none; the real one is 5. `duration_s`: how long
    impacts take by the emulator's clock, per event type. `directory`: where to keep the state, also afterwards.
    """

    def __init__(
        self,
        *,
        listening: Literal["always", "auto", "never"] = "always",
        rate_limit_per_s: float = 0.0,
        duration_s: Mapping[str, float] | None = None,
        directory: Path | str | None = None,
    ) -> None:
        metadata = {"listeners": [], "rate_limit_per_s": rate_limit_per_s}
        executor = {"simulate": {"duration_s": duration_s or {}}}
        super().__init__({"metadata": metadata, "executor": executor}, directory)
        self._listening = listening
        self._forget()

    # -- who there is

    @property
    def vms(self) -> Sequence[EmulatedVm]:
        """Those that were spoken of."""
        return self._fleet.vms

    def vm(
        self,
        name: str,
        *,
        scope: str | None = None,
        spot: bool | None = None,
        update_domain: int | None = None,
        fault_domain: int | None = None,
        host: str | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> EmulatedVm:
        """The VM of this name, declared at its first use, in scope `test` unless told; what is given is declared so."""
        wanted = given(spot=spot, update_domain=update_domain, fault_domain=fault_domain, host=host)
        tagged = {} if tags is None else {"tags": dict(tags)}
        with hinted():
            return self._fleet.vm(self.control, name, scope, wanted | tagged)

    def scope(self, name: str = DEFAULT_SCOPE, *, kind: str | None = None, **settings: Unpack[GivenSettings]) -> Scope:
        """Declare a scope, or change its settings: `scope(approval="all", notice_s={"Reboot": 60})`."""
        with hinted():
            return self._fleet.scope(self.control, name, kind, settings)

    # -- what happens to them

    def schedule(
        self,
        event_type: str,
        *vms: VmGiven,
        not_before: datetime | str | None = None,
        in_s: Span | None = None,
        duration_s: int | None = None,
        description: str | None = None,
        source: str | None = None,
    ) -> ScheduledEvent:
        """One event: Freeze, Reboot, Redeploy, Preempt or Terminate.

        Of one VM it is what its owner or the platform asks for that type; of several, or with `source="Platform"`,
        maintenance of the platform (Freeze, Reboot, Redeploy). It starts when its notice ends, or at `not_before`, or
        `in_s` from now when that is later than the notice.
        """
        wanted_type = type_of(event_type)
        if not_before is None and in_s is not None:
            not_before = self.now + timedelta(seconds=seconds_of(in_s))
        wanted = given(not_before=not_before, duration_s=duration_s, description=description)
        named = self._named(wanted_type, vms)
        with hinted():
            if len(named) > 1 or (source or OPERATIONS[wanted_type].source) != OPERATIONS[wanted_type].source:
                return self._maintained(wanted_type, named, source, wanted)
            made = self.control.operate(named[0].scope, named[0].name, OPERATIONS[wanted_type].name, **wanted)
        return ScheduledEvent(self, made)

    def schedule_each(self, event_type: str, *vms: VmGiven, **wanted: Any) -> tuple[ScheduledEvent, ...]:
        """An event for each VM; what may be said is as in `schedule`."""
        return tuple(self.schedule(event_type, vm, **wanted) for vm in vms)

    def approve(self, event: EventGiven) -> ScheduledEvent:
        """As an operator, whose word releases it under any policy; `vm(...).approve` is a VM's word."""
        return self._acted(event, "approve")

    def cancel(self, event: EventGiven) -> ScheduledEvent:
        return self._acted(event, "cancel")

    def complete(self, event: EventGiven) -> ScheduledEvent:
        """Say that its impact is over."""
        return self._acted(event, "complete")

    def fail_host(self, host: str) -> tuple[ScheduledEvent, ...]:
        """The host is gone: the reboots of its VMs, which have no notice."""
        with hinted():
            return self._events(self.control.host_failed(host).events)

    # -- time

    def advance(self, span: Span) -> tuple[HistoryRecord, ...]:
        """Turn the clock by seconds, "15m" or a timedelta: what falls due happens, each at its time; what happened."""
        with hinted():
            return self.control.advance(seconds_of(span)).happened

    def advance_to_next(self) -> tuple[HistoryRecord, ...]:
        """Turn the clock to the next time that anything is due."""
        with hinted():
            return self.control.to_next().happened

    def advance_until(self, condition: str | Condition, event: EventGiven | None = None) -> Any:
        """Turn the clock from due time to due time until something is so, as `wait_until` has it."""
        __tracebackhide__ = True
        met, judged, _ = self._meant(condition, event)
        value, turns = looked_at(met), 0
        while not value:
            turns += 1
            if turns > TURNS_MAX or not self._turned_to_next():
                what = f"{judged} was not {condition}" if judged else f"{name_of(condition)} did not come true"
                self._fail(f"{what}, and nothing more is due.", judged)
            value = looked_at(met)
        return value

    # -- faults

    def fault(
        self,
        kind: str | int,
        *vms: VmGiven,
        times: int | None = None,
        probability: float | None = None,
        seed: int | None = None,
        on: Literal["get", "post", "any"] | None = None,
        delay_s: Span | None = None,
        after_s: Span | None = None,
        notice_s: Span | None = None,
        duration_s: Span | None = None,
    ) -> OrderedFault:
        """Order a trick of the service, for all VMs or those named; until cleared, or so many times.

        `with scheduled_events.fault("503", times=2):` clears it at the end of the block.
        """
        spans = {"delay_s": delay_s, "after_s": after_s, "notice_s": notice_s, "duration_s": duration_s}
        wanted = given(times=times, probability=probability, seed=seed, on=on)
        wanted |= given(**{name: perhaps_seconds(span) for name, span in spans.items()})
        named = tuple(self._vm(vm).full_name for vm in vms)
        with hinted():
            return OrderedFault(self.control, faults_of(self.control).add_fault(str(kind), vms=named, **wanted))

    def clear_faults(self, kind: str | int | None = None) -> int:
        """All of them, or those of a kind; how many there were."""
        with hinted():
            return faults_of(self.control).clear_faults(kind=None if kind is None else str(kind))

    # -- below

    def _forget(self) -> None:
        self._fleet = Fleet(self._listening, self._open_line)

    def _open_line(self, vm: str) -> tuple[str, RequestLog]:
        return self._running.listen_for(vm)

    def _vm(self, vm: VmGiven) -> EmulatedVm:
        return vm if isinstance(vm, EmulatedVm) else self.vm(vm)

    def _named(self, event_type: EventType, vms: Sequence[VmGiven]) -> list[EmulatedVm]:
        """The VMs; one that is first spoken of by its eviction is a spot VM."""
        if not vms:
            raise Invalid(f"A {event_type} of which VM?", 'Such as schedule("Reboot", "web-0").')
        named = []
        for vm in vms:
            is_new = isinstance(vm, str) and self._fleet.found(vm) is None
            spot = event_type is EventType.PREEMPT and is_new
            named.append(self.vm(str(vm), spot=True) if spot else self._vm(vm))
        return named

    def _maintained(
        self, event_type: EventType, vms: Sequence[EmulatedVm], source: str | None, wanted: Mapping[str, Any]
    ) -> ScheduledEvent:
        if event_type not in MAINTENANCE_TYPES or source not in {None, str(Source.PLATFORM)}:
            raise Invalid(
                f"{source or 'One'} {event_type} of {', '.join(map(str, vms))} cannot be one event.",
                "Use schedule_each: an event for each VM. Maintenance is Freeze, Reboot or Redeploy by the Platform.",
            )
        self._refuse_several_events(vms)
        made = self.control.maintain(vms[0].scope, event_type, vms=[vm.name for vm in vms], **wanted)
        return self._events((*made.events, *made.queued))[0]

    def _refuse_several_events(self, vms: Sequence[EmulatedVm]) -> None:
        """One event holds VMs of one scope, update domain and host [seed]."""
        names = {vm.name for vm in vms}
        places = {
            (scope, one.update_domain, one.host)
            for scope in {vm.scope for vm in vms}
            for one in self.control.scope(scope).vms
            if one.name in names
        }
        if len(places) > 1:
            shown = "; ".join(f"{scope}, update domain {domain}, host {host!r}" for scope, domain, host in places)
            raise Invalid(
                f"One event holds VMs of one scope, update domain and host; these are in {shown}.",
                "Use schedule_each, or control.maintain for one update domain after the other.",
            )

    def _turned_to_next(self) -> bool:
        try:
            self.control.to_next()
        except NotAllowed:
            return False
        return True

    def _acted(self, event: EventGiven, action: str) -> ScheduledEvent:
        judged = self._which(event)
        with hinted():
            self.control.act(judged.id, action)
        return judged

    def _events(self, events: Sequence[Event]) -> tuple[ScheduledEvent, ...]:
        return tuple(ScheduledEvent(self, event) for event in events)


def type_of(text: str) -> EventType:
    try:
        return EventType(text.capitalize())
    except ValueError:
        raise Invalid(f"There is no event type {text!r}.", f"There are {', '.join(EventType)}.") from None


@contextmanager
def hinted() -> Iterator[None]:
    """A refusal goes on with its hint as a note, which pytest shows."""
    try:
        yield
    except Refusal as refusal:
        here = "Declare it so: vm(name, spot=True)." if isinstance(refusal, NotSpot) else refusal.hint
        if here:
            refusal.add_note(here)
        raise
