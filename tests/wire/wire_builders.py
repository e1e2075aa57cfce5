"""Scopes as the wire's tests need them: events in any status, at the seeds' own time and with the seeds' own names."""

from dataclasses import replace

from notbefore.core.kinds import EventType, Source, Status
from notbefore.core.model import Actor, ActorKind, Event, Scope, Span, Vm
from notbefore.core.scope_settings import ScopeSettings
from notbefore.core.times import Moment

# The seeds' example: 2016-09-19T18:29:47Z.
NOT_BEFORE_MS = 1_474_309_787_000
VISIBLE = Moment(NOT_BEFORE_MS - 900_000, 0, "boot-1")
EVENT = "602D9444-D2CD-49C7-8624-8643E7171297"


def event_of(event_type: EventType = EventType.REBOOT, **facts) -> Event:
    event = Event(
        id=EVENT,
        type=event_type,
        source=Source.PLATFORM,
        vms=("FrontEnd_IN_0", "BackEnd_IN_0"),
        made_at_ms=VISIBLE.wall_ms,
        made_by=Actor(ActorKind.OPERATOR, "ops"),
        status=Status.SCHEDULED,
        description="Host server is undergoing maintenance.",
        notice=Span(VISIBLE, NOT_BEFORE_MS),
        visible_since_ms=VISIBLE.wall_ms,
    )
    return replace(event, **facts)


def scope_showing(*events: Event, incarnation: int = 5, **settings) -> Scope:
    vms = tuple(Vm(name) for name in dict.fromkeys(name for event in events for name in event.vms))
    return Scope("shop", settings=ScopeSettings(**settings), vms=vms, events=events, incarnation=incarnation)
