"""Events: list, read, approve, cancel, complete. Ended ones are read from history."""

from typing import Annotated, Any

from fastapi import APIRouter, Query

from notbefore.control.bodies import word
from notbefore.control.plane import ControlPlane, Operator, Plane
from notbefore.control.shapes import live_event, shown_event
from notbefore.core.errors import Invalid, UnknownEvent, UnknownScope, WrongStatus
from notbefore.core.kinds import ENDED, LIVE, Status
from notbefore.core.model import Event, Scope, name_key
from notbefore.core.requests import ApproveEvents, CancelEvent, CompleteEvent, Request
from notbefore.ports import HistoryQuery, StoredRecord

ENDED_SHOWN_MAX = 100
ACTIONS = {"approve": "approved", "cancel": "cancelled", "complete": "completed"}

router = APIRouter(prefix="/v1/events", tags=["events"])


@router.get("", summary="Current events; with a status, also ended ones (the newest 100)")
async def list_events(
    plane: Plane, scope: str | None = None, status: Annotated[list[str] | None, Query()] = None
) -> dict[str, Any]:
    statuses = [word(Status, one, "status") for one in status] if status else list(LIVE)
    ended = tuple(one for one in statuses if one in ENDED)
    if scope is not None and not ended and plane.node.snapshot.view(scope) is None:
        raise UnknownScope(scope)
    events = await ended_events(plane, HistoryQuery(scope=scope, statuses=ended, newest=True)) if ended else []
    for live_scope in sorted(plane.node.snapshot.scopes(), key=lambda one: one.key):
        if scope is None or live_scope.key == name_key(scope):
            events += [shown(plane, live_scope, event) for event in live_scope.events_in(*statuses)]
    return {"events": events}


@router.get("/{event_id}", summary="One event, current or ended")
async def read_event(event_id: str, plane: Plane) -> dict[str, Any]:
    found = plane.node.snapshot.event(event_id)
    if found:
        return shown(plane, *found)
    ended = await ended_events(plane, HistoryQuery(event_id=event_id, statuses=ENDED, newest=True, limit=1))
    if not ended:
        raise UnknownEvent(event_id)
    return ended[0]


@router.post("/{event_id}/{action}", summary="approve, cancel or complete an event")
async def act(event_id: str, action: str, plane: Plane, by: Operator) -> dict[str, Any]:
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
