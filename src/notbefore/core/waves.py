"""A scope's part in an operation: it lets the operation's event in, opens its gate, and lets it go (SPEC §3.4).

Rule 1: a scope may always refuse: where another update domain has its turn, or a VM is not what it was, there is no
event, and the operation comes again in a later wave.
Rule 2: the event has the wave's NotBefore or there is none. One that comes too late for its notice is refused, so a
message that was long on its way makes nothing.
Rule 3: each message may come twice and in any order; what was taken back before it came never comes.
Not here: who is in which wave (operation.py), passing the gate (settle.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from notbefore.core.domains import domains_having_their_turn, is_planned_platform, must_queue
from notbefore.core.draft import REQUESTS_REMEMBERED, Answer, Draft
from notbefore.core.errors import Hindered
from notbefore.core.kinds import EventType, Source, Status, VmState
from notbefore.core.lifecycle import Happening
from notbefore.core.model import THE_SERVICE, Event, Gate, Scope, TakenRequest, Vm, name_key
from notbefore.core.requests import JoinWave, LeaveWave, OpenGate
from notbefore.core.schedule import with_asked_time
from notbefore.core.settle import make_visible
from notbefore.core.times import Moment
from notbefore.core.values import replace


@dataclass(frozen=True, slots=True)
class Hindrance:
    """Why VMs cannot be announced now, and when that may be over by itself; None when only others can end it."""

    why: str
    until_ms: int | None = None


def join_wave(draft: Draft, request: JoinWave) -> Answer:
    if draft.scope.event(request.event_id):
        return Answer((request.event_id,))
    vms = [vm for name in request.vms if (vm := draft.scope.vm(name)) and is_where_it_was(vm, request)]
    if len(vms) < len(request.vms):
        hindrance: Hindrance | None = Hindrance("not all of the VMs are where they were")
    else:
        hindrance = hindrance_to(draft.scope, vms, request.type, draft.now)
    if hindrance:
        raise Hindered(
            f"Scope '{draft.scope.name}' cannot take part in the wave: {hindrance.why}.",
            "The operation comes again in a later wave.",
            {"scope": draft.scope.name, "operation": request.operation},
        )
    event = Event(
        id=request.event_id,
        type=request.type,
        source=Source.PLATFORM,
        vms=tuple(vm.name for vm in vms),
        made_at_ms=draft.now.wall_ms,
        made_by=request.by,
        update_domain=vms[0].update_domain,
        description=request.description,
        duration_s=request.duration_s,
        gate=Gate(request.operation, request.wave),
        recovery_s=request.recovery_s,
    )
    event = with_asked_time(draft, event, request.not_before_ms)
    make_visible(draft, event, f"wave {request.wave} of the maintenance asked for by {request.by}")
    return Answer((event.id,))


def is_where_it_was(vm: Vm, request: JoinWave) -> bool:
    return request.update_domain in (None, vm.update_domain) and (
        request.host is None or name_key(request.host) == name_key(vm.host)
    )


def hindrance_to(scope: Scope, vms: Sequence[Vm], event_type: EventType, now: Moment) -> Hindrance | None:
    """What keeps these VMs of one update domain and host from being announced together now."""
    if not all(vm.state is VmState.RUNNING for vm in vms):
        return Hindrance("not all of the VMs are running")
    if len({(vm.update_domain, name_key(vm.host)) for vm in vms}) != 1:
        return Hindrance("the VMs are no longer of one update domain and host")
    probe = Event("", event_type, Source.PLATFORM, (), now.wall_ms, THE_SERVICE, update_domain=vms[0].update_domain)
    for other in scope.events_in(Status.QUEUED, Status.SCHEDULED, Status.STARTED):
        if is_planned_platform(other) and any(other.has_vm(vm.name) for vm in vms):
            return Hindrance(f"event {other.id} is still to come or under way for one of the VMs")
    if not must_queue(scope, probe, now):
        return None
    if busy := domains_having_their_turn(scope) - {probe.update_domain}:
        return Hindrance(f"update domain {min(busy)} has its turn")
    if scope.recovery and not scope.events_in(Status.QUEUED):
        until_ms = now.wall_ms + scope.recovery.span.remaining_ms(now)
        return Hindrance(f"update domain {scope.recovery.update_domain} rests", until_ms)
    return Hindrance("another update domain is queued before it")


def open_gate(draft: Draft, request: OpenGate) -> Answer:
    event = draft.scope.event(request.event_id)
    if event and event.gate and not event.gate.open and event.status is Status.SCHEDULED:
        opened = replace(event, gate=replace(event.gate, open=True))
        draft.put(opened)
        draft.tell("gate opened", "every event of its wave may start", event=opened)
    return Answer()


def leave_wave(draft: Draft, request: LeaveWave) -> Answer:
    """The answer names the event when it has come, whatever has become of it."""
    event = draft.scope.event(request.event_id)
    joined = next((taken for taken in draft.scope.taken if taken.request_id == request.joined_by), None)
    if event and event.status is Status.SCHEDULED and not request.keeps:
        draft.move(event, Happening.CANCELLED, request.why)
    elif event is None and joined is None:
        # As if it had been taken: should it still come, it makes nothing.
        taken = (*draft.scope.taken, TakenRequest(request.joined_by, ()))
        draft.scope = replace(draft.scope, taken=taken[-REQUESTS_REMEMBERED:])
    has_come = event is not None or (joined is not None and bool(joined.event_ids))
    return Answer((request.event_id,) if has_come else ())
