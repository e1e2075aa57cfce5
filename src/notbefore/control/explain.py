"""Why an event waits, on whom, until when, by which rule, and what would release it; of an ended one how it ended."""

from collections.abc import Sequence
from typing import Any

from notbefore.control import answers, examples
from notbefore.control.openapi import answered
from notbefore.control.parameters import EventId
from notbefore.control.plane import ControlPlane, Plane
from notbefore.control.roles import By, Caller, Role, needs
from notbefore.control.router import router_under
from notbefore.control.shapes import live_event, shown_event, shown_explanation
from notbefore.core.errors import StoreUnavailable, UnknownEvent
from notbefore.core.explain import UNKNOWN, Behind, Told, WaveMate, explain, why_over
from notbefore.core.kinds import ENDED
from notbefore.core.model import Event, Scope, with_asked
from notbefore.core.operation import Stage
from notbefore.ports import HistoryQuery, StoredRecord

RECORDS_READ_MAX = 1000

router = router_under("/v1/events", "events")


@router.get(
    "/{event_id}/explain",
    summary="Why it waits, on whom, until when, by which rule, what would release it",
    dependencies=[needs(Role.VIEWER)],
    responses=answered(
        {200: "Why it waits, or how it ended"}, answers.Explanation, examples.EXPLANATION, "unknown_event"
    ),
)
async def explain_event(event_id: EventId, plane: Plane, caller: By) -> dict[str, Any]:
    if found := plane.node.snapshot.event(event_id):
        return await explain_live(plane, *found, behind_gate(plane, found[1], caller))
    if ended := explain_ended(event_id, await records_of(plane, event_id)):
        return ended
    raise UnknownEvent(event_id, plane.keep_days)


def behind_gate(plane: ControlPlane, event: Event, caller: Caller) -> Behind:
    """The others of its wave that hold it; those of other tenants only for who sees all scopes."""
    operation = plane.node.operations.book.get(event.gate.operation) if event.gate else None
    if operation is None or operation.wave is None:
        return UNKNOWN
    holding = [
        WaveMate(one.scope, one.event_id, one.vms)
        for one in operation.wave.members
        if one.event_id != event.id and one.stage in (Stage.ASKED, Stage.ANNOUNCED)
    ]
    named = tuple(mate for mate in holding if caller.sees(mate.scope))
    return Behind(operation.host, named, len(holding) - len(named))


async def explain_live(plane: ControlPlane, scope: Scope, event: Event, behind: Behind) -> dict[str, Any]:
    """Also while the store is away, only without the reason that history has for its start."""
    try:
        records = await records_of(plane, event.id)
    except StoreUnavailable:
        records = ()
    now = plane.node.witness.now(scope)
    heard = with_asked(scope, plane.node.asked.unsaved(scope.key))
    explanation = explain(heard, event, now, story_of(event.id, records), behind)
    return shown_explanation(explanation, live_event(heard, event, now))


def explain_ended(event_id: str, records: Sequence[StoredRecord]) -> dict[str, Any] | None:
    story = story_of(event_id, records)
    for stored in reversed(records):
        for change in stored.record.changes:
            if (event := change.event) and event.id == event_id.upper() and event.status in ENDED:
                explanation = why_over(stored.record.scope, event, story)
                then = shown_event(event, stored.record.scope, stored.record.incarnation, explanation.waiting_for)
                return shown_explanation(explanation, then)
    return None


async def records_of(plane: ControlPlane, event_id: str) -> Sequence[StoredRecord]:
    query = HistoryQuery(event_id=event_id, newest=True, limit=RECORDS_READ_MAX)
    return await plane.node.store.history(query)


def story_of(event_id: str, records: Sequence[StoredRecord]) -> list[Told]:
    return [
        Told(stored.record.at_ms, change)
        for stored in records
        for change in stored.record.changes
        if change.event and change.event.id == event_id.upper()
    ]
