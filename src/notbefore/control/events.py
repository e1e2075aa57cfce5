"""Events: list, read, approve, cancel, complete. Ended ones are read from history."""

from itertools import chain
from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import Field

from notbefore.control import answers, examples
from notbefore.control.bodies import word
from notbefore.control.long_lists import listed
from notbefore.control.openapi import answered
from notbefore.control.parameters import EventId, OfScope
from notbefore.control.plane import ControlPlane, Operator, Plane
from notbefore.control.roles import By, Role, needs
from notbefore.control.router import router_under
from notbefore.control.shapes import live_event, shown_event
from notbefore.core.errors import Invalid, UnknownEvent, UnknownScope, WrongStatus
from notbefore.core.kinds import ENDED, LIVE, Status
from notbefore.core.model import Event, Scope
from notbefore.core.requests import ApproveEvents, CancelEvent, CompleteEvent, Request
from notbefore.ports import HistoryQuery, StoredRecord

ENDED_SHOWN_MAX = 100
ACTIONS = {"approve": "approved", "cancel": "cancelled", "complete": "completed"}
Action = Annotated[
    str,
    Path(description="What to say of it.", examples=["approve"], json_schema_extra={"enum": list(ACTIONS)}),
]
OneStatus = Annotated[str, Field(json_schema_extra={"enum": [one.value for one in Status]})]
STATUS = "Only these; may be repeated. Without it the live ones: Queued, Scheduled, Started."

router = router_under("/v1/events", "events")


@router.get(
    "",
    summary="Current events; with a status, also ended ones (the newest 100)",
    dependencies=[needs(Role.VIEWER)],
    responses=answered({200: "The events"}, answers.Events, examples.EVENTS, "unknown_scope"),
)
async def list_events(
    plane: Plane,
    caller: By,
    scope: OfScope = None,
    status: Annotated[list[OneStatus] | None, Query(description=STATUS)] = None,
) -> Any:
    """A scope that is not there is `unknown_scope` when only live events are asked for: ended ones outlive it."""
    statuses = [word(Status, one, "status") for one in status] if status else list(LIVE)
    ended = tuple(one for one in statuses if one in ENDED)
    if scope is not None and not ended and not (caller.sees(scope) and plane.node.snapshot.view(scope)):
        raise UnknownScope(scope)
    query = HistoryQuery(scope=scope, scopes=caller.scopes, statuses=ended, newest=True)
    events = await ended_events(plane, query) if ended else []
    scopes = [one for one in scopes_with_events(plane, scope) if caller.sees(one.name)]
    live = (shown(plane, one, event) for one in scopes for event in one.events_in(*statuses))
    return listed("events", chain(events, live))


@router.get(
    "/{event_id}",
    summary="One event, current or ended",
    dependencies=[needs(Role.VIEWER)],
    responses=answered({200: "The event"}, answers.Event, examples.EVENT, "unknown_event"),
)
async def read_event(event_id: EventId, plane: Plane) -> dict[str, Any]:
    found = plane.node.snapshot.event(event_id)
    if found:
        return shown(plane, *found)
    ended = await ended_events(plane, HistoryQuery(event_id=event_id, statuses=ENDED, newest=True, limit=1))
    if not ended:
        raise UnknownEvent(event_id, plane.keep_days)
    return ended[0]


@router.post(
    "/{event_id}/{action}",
    summary="approve, cancel or complete an event",
    dependencies=[needs(Role.OPERATOR)],
    responses=answered(
        {200: "The event as it is afterwards"}, answers.Event, examples.APPROVED, "unknown_event", "wrong_status"
    ),
)
async def act(event_id: EventId, action: Action, plane: Plane, by: Operator) -> dict[str, Any]:
    """`approve`, while Scheduled or Started: an operator's word, which releases it under any policy. `cancel`, while
    Queued or Scheduled: it never starts. `complete`, while Started: the operator's word that it is over on every VM.
    """
    if action not in ACTIONS:
        raise Invalid(f"There is no action {action!r}.", f"It is one of: {', '.join(ACTIONS)}.", {"action": action})
    found = plane.node.snapshot.event(event_id)
    if found is None:
        ended = await read_event(event_id, plane)
        raise WrongStatus(ended["id"], ended["status"], ACTIONS[action])
    await plane.node.turns.take(request_for(action, found[0], found[1], plane, by))
    return await read_event(event_id, plane)


def request_for(action: str, scope: Scope, event: Event, plane: ControlPlane, by: Operator) -> Request:
    request_id = plane.node.ids()
    if action == "approve":
        return ApproveEvents(scope=scope.name, request_id=request_id, by=by, event_ids=(event.id,))
    if action == "cancel":
        return CancelEvent(scope=scope.name, request_id=request_id, by=by, event_id=event.id)
    return CompleteEvent(scope=scope.name, request_id=request_id, by=by, event_id=event.id)


def scopes_with_events(plane: ControlPlane, only: str | None) -> list[Scope]:
    """As they are now: what is sent piece by piece tells of one moment all the same."""
    if only is None:
        return plane.node.snapshot.scopes_with_events()
    view = plane.node.snapshot.view(only)
    return [view.scope] if view else []


def shown(plane: ControlPlane, scope: Scope, event: Event) -> dict[str, Any]:
    return live_event(scope, event, plane.node.witness.now(scope))


async def ended_events(plane: ControlPlane, query: HistoryQuery) -> list[dict[str, Any]]:
    records = await plane.node.store.history(query)
    return [event for stored in records for event in ended_in(stored, query)][-ENDED_SHOWN_MAX:]


def ended_in(stored: StoredRecord, query: HistoryQuery) -> list[dict[str, Any]]:
    """The events that this record ended, as far as the query asks for them."""
    wanted = query.event_id.upper() if query.event_id else None
    return [
        shown_event(change.event, stored.record.scope, stored.record.incarnation, "nothing: it is over")
        for change in stored.record.changes
        if change.event and change.event.status in query.statuses and wanted in (None, change.event.id)
    ]
