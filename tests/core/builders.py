"""The words the core's tests are told in: moments, VMs, scopes, events and requests.

Rule 1: a scope that takes several turns to reach is reached by taking them (`after`); `scope_with` only shortens the
first of them: one event, already Scheduled or Started.
Rule 2: `refused` proves each time that a refusal changes nothing.
"""

from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from uuid import UUID

import pytest

from notbefore.core.decide import decide
from notbefore.core.draft import Decision
from notbefore.core.effects import PendingEffect, StartImpact
from notbefore.core.errors import Refusal
from notbefore.core.kinds import EventType, Kind, Listening, Source, Status
from notbefore.core.model import THE_SERVICE, Actor, ActorKind, Event, Scope, Span, Vm
from notbefore.core.requests import (
    ApproveEvents,
    CancelEvent,
    ClaimEffect,
    CompleteEvent,
    DeclareScope,
    FailHost,
    ImpactFailed,
    ImpactFinished,
    JoinWave,
    LeaveWave,
    Maintain,
    NoteAsked,
    OpenGate,
    OperateVm,
    RemoveScope,
    Request,
    Tick,
)
from notbefore.core.scope_settings import ScopeSettings
from notbefore.core.times import Moment

NOON = Moment(int(datetime(2026, 3, 2, 12, tzinfo=UTC).timestamp()) * 1000, boot_ms=7_000_000, boot_id="boot-1")
MINUTE, HOUR, DAY = 60, 3600, 24 * 3600
EVENT = "602D9444-D2CD-49C7-8624-8643E7171297"
OTHER_EVENT = "F020BA2E-3BC0-4C40-A10B-86575A9EABD5"
OPERATION = "0b9bd4d4-79a5-4c4b-a9f4-6a5a2a1f3a01"
SHOP = "shop"
OPERATOR = Actor(ActorKind.OPERATOR, "ops")
EXECUTOR = Actor(ActorKind.EXECUTOR, "simulate")
_numbers = count(1)


# -- Time


def later(seconds: float, of: Moment = NOON) -> Moment:
    """Both hands of the clock have moved."""
    ms = round(seconds * 1000)
    return replace(of, wall_ms=of.wall_ms + ms, boot_ms=of.boot_ms + ms)


def stepped(seconds: float, of: Moment = NOON) -> Moment:
    """Somebody set the wall clock; no time has passed."""
    return replace(of, wall_ms=of.wall_ms + round(seconds * 1000))


def rebooted(of: Moment) -> Moment:
    return replace(of, boot_ms=5_000, boot_id="boot-2")


# -- Scopes and events


def scope_of(*vms: str | Vm, listening: Listening = Listening.ALWAYS, **settings) -> Scope:
    """A declared scope; a VM given by its name alone is in update domain 0."""
    return decide(None, declare(*vms, listening=listening, **settings), NOON).scope


def scope_with(*events: Event, **settings) -> Scope:
    """A scope of the VMs these events speak of, with the events as they stand."""
    scope = scope_of(*dict.fromkeys(name for event in events for name in event.vms), **settings)
    impacts = [
        PendingEffect(StartImpact(event.id, name, event.type), since_ms=NOON.wall_ms)
        for event in events
        if event.status is Status.STARTED
        for name in event.vms
    ]
    return replace(scope, events=events, pending=tuple(impacts))


def reboot_of(*vms: str, event_id: str = EVENT, **facts) -> Event:
    """A platform Reboot, Scheduled at noon with a quarter of an hour's notice."""
    event = Event(
        id=event_id,
        type=EventType.REBOOT,
        source=Source.PLATFORM,
        vms=vms,
        made_at_ms=NOON.wall_ms,
        made_by=OPERATOR,
        status=Status.SCHEDULED,
        notice=Span(NOON, later(15 * MINUTE).wall_ms),
        visible_since_ms=NOON.wall_ms,
    )
    return replace(event, **facts)


def running(event: Event) -> Event:
    return replace(event, status=Status.STARTED, started_at_ms=NOON.wall_ms)


def after(scope: Scope | None, *requests: Request, now: Moment = NOON) -> Scope:
    for request in requests:
        scope = decide(scope, request, now).scope
    return scope


def made(decision: Decision) -> Event:
    """The one event a request made, as it stands afterwards."""
    (event_id,) = decision.answer.event_ids
    return decision.scope.event(event_id)


def only_event(scope: Scope) -> Event:
    (event,) = scope.events
    return event


def event_on(scope: Scope, vm: str) -> Event:
    (event,) = scope.live_events_of(vm)
    return event


def statuses(scope: Scope) -> dict[str, str]:
    """Where each event stands, by the first of its VMs."""
    return {event.vms[0]: str(event.status) for event in scope.events}


def refused(kind: type[Refusal], scope: Scope | None, request: Request, now: Moment = NOON) -> Refusal:
    """The refusal; the scope it was asked of is what it was."""
    before = deepcopy(scope)

    with pytest.raises(kind) as caught:
        decide(scope, request, now)

    assert scope == before
    assert type(caught.value) is kind
    return caught.value


# -- Requests


def request_id() -> str:
    return str(UUID(int=next(_numbers)))


def facts_of_asking(given: dict) -> dict:
    return {"scope": SHOP, "request_id": request_id(), "by": OPERATOR} | given


def declare(*vms: str | Vm, force: bool = False, with_state: tuple[str, ...] = (), **settings) -> DeclareScope:
    settings.setdefault("listening", Listening.ALWAYS)
    return DeclareScope(
        **facts_of_asking({}),
        kind=Kind.AVAILABILITY_SET,
        settings=ScopeSettings(**settings),
        vms=tuple(vm if isinstance(vm, Vm) else Vm(vm) for vm in vms),
        with_state=frozenset(with_state),
        force=force,
    )


def spot(name: str, **facts) -> Vm:
    """A VM that the platform may take away."""
    return Vm(name, spot=True, **facts)


def remove(**facts) -> RemoveScope:
    return RemoveScope(**facts_of_asking(facts))


def operate(operation: str, vm: str, **facts) -> OperateVm:
    return OperateVm(**facts_of_asking(facts), operation=operation, vm=vm)


def restart(vm: str, **facts) -> OperateVm:
    return operate("restart", vm, **facts)


def terminate(vm: str, **facts) -> OperateVm:
    return operate("terminate", vm, **facts)


def maintain(event_type: EventType = EventType.REBOOT, **facts) -> Maintain:
    return Maintain(**facts_of_asking(facts), type=event_type)


def join(*vms: str, event_id: str = EVENT, **facts) -> JoinWave:
    """An operation's Reboot of these VMs, a second after the quarter of an hour that it takes at noon."""
    given = {"request_id": f"join {event_id}", "operation": OPERATION, "wave": 1, "type": EventType.REBOOT} | facts
    given = {"not_before_ms": later(15 * MINUTE + 1).wall_ms, "duration_s": -1, "description": ""} | given
    return JoinWave(**facts_of_asking(given), event_id=event_id, vms=vms)


def open_gate(event_id: str = EVENT) -> OpenGate:
    return OpenGate(**facts_of_asking({"by": THE_SERVICE}), event_id=event_id)


def leave(event_id: str = EVENT, why: str = "cancelled as a whole") -> LeaveWave:
    return LeaveWave(**facts_of_asking({}), event_id=event_id, joined_by=f"join {event_id}", why=why)


def host_failed(host: str, **facts) -> FailHost:
    return FailHost(**facts_of_asking(facts), host=host)


def approve(*events: Event | str, by: str | Actor = OPERATOR, **facts) -> ApproveEvents:
    """Approval by an operator, or by the VM that is named."""
    actor = by if isinstance(by, Actor) else Actor(ActorKind.VM, by)
    ids = tuple(event if isinstance(event, str) else event.id for event in events)
    return ApproveEvents(**facts_of_asking({"by": actor} | facts), event_ids=ids)


def cancel(event: Event | str, **facts) -> CancelEvent:
    return CancelEvent(**facts_of_asking(facts), event_id=event if isinstance(event, str) else event.id)


def complete(event: Event | str, **facts) -> CompleteEvent:
    return CompleteEvent(**facts_of_asking(facts), event_id=event if isinstance(event, str) else event.id)


def tick(node: str = "") -> Tick:
    return Tick(scope=SHOP, request_id=request_id(), node=node)


def asked(vm: str, at: Moment = NOON) -> NoteAsked:
    by = Actor(ActorKind.VM, vm)
    return NoteAsked(**facts_of_asking({"by": by}), asked_ms={vm: at.wall_ms})


def claim(event: Event, vm: str, seen: int = 0, node: str = "node-1") -> ClaimEffect:
    return ClaimEffect(**facts_of_asking({"by": EXECUTOR}), event_id=event.id, vm=vm, node=node, seen_attempt=seen)


def finished(event: Event, vm: str, attempt: int = 1, **facts) -> ImpactFinished:
    given = {"by": EXECUTOR, "evidence": f"{vm} was seen to be back"} | facts
    return ImpactFinished(**facts_of_asking(given), event_id=event.id, vm=vm, attempt=attempt)


def failed(event: Event, vm: str, attempt: int = 1, reason: str = "no route to host") -> ImpactFailed:
    return ImpactFailed(**facts_of_asking({"by": EXECUTOR}), event_id=event.id, vm=vm, attempt=attempt, reason=reason)


def carried_out(scope: Scope, event: Event, *vms: str, now: Moment = NOON, **facts) -> Scope:
    """The scope after these VMs (all of the event's when none is named) were claimed and reported done."""
    for vm in vms or event.vms:
        scope = after(scope, claim(event, vm), finished(event, vm, **facts), now=now)
    return scope
