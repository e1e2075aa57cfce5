"""History: what happened, when, by whom and why; in order, filtered, and resumable.

Rule 1: records are shown whole; a filter says which.
Rule 2: `next` is where to go on with `after`, and nothing that fits is left out by going on.
Rule 3: what was retired is said, never passed over: `retired_through`.
"""

from typing import Annotated, Any

from fastapi import Query

from notbefore.control import answers, examples
from notbefore.control.history_search import found_after, newest_found
from notbefore.control.openapi import answered
from notbefore.control.parameters import By as DoneBy
from notbefore.control.parameters import (
    OfEvent,
    OfOperation,
    OfRollout,
    OfScope,
    OfVm,
    Revision,
    Since,
    Until,
    What,
    since,
    until,
)
from notbefore.control.plane import ControlPlane, Plane
from notbefore.control.roles import By, Role, needs
from notbefore.control.router import router_under
from notbefore.control.shapes import shown_record
from notbefore.core.history import Sought
from notbefore.ports import HistoryQuery
from notbefore.runtime.retention import KIND as RETENTION
from notbefore.runtime.retention import retired_through

LIMIT_MAX = 1000

router = router_under("/v1/history", "history")


@router.get(
    "",
    summary="Records after a revision, or the newest ones",
    dependencies=[needs(Role.VIEWER)],
    responses=answered({200: "Records, oldest first"}, answers.History, examples.HISTORY),
)
async def read_history(
    plane: Plane,
    caller: By,
    scope: OfScope = None,
    event: OfEvent = None,
    vm: OfVm = None,
    by: DoneBy = None,
    what: What = None,
    operation: OfOperation = None,
    rollout: OfRollout = None,
    since_: Since = None,
    until_: Until = None,
    after: Revision = None,
    limit: Annotated[int, Query(ge=1, le=LIMIT_MAX, description="At most so many records.")] = 100,
) -> dict[str, Any]:
    """`event`, `vm`, `by`, `what`, `operation` and `rollout` have to fit one and the same change of a record. An empty
    `scope` asks for records that concern none, such as of hosts and tokens. To follow history, pass `next` as `after`
    of the next question.
    """
    query = HistoryQuery(
        scope=scope,
        scopes=caller.scopes,
        event_id=event,
        after=after or 0,
        limit=limit,
        since_ms=since(since_),
        until_ms=until(until_),
    )
    look = newest_found if after is None else found_after
    found = await look(plane.node.store, query, Sought(event, vm, by, what, operation, rollout).fits)
    return {
        "history": [shown_record(stored) for stored in found.records],
        "next": max(found.next, after or 0),
        "more": found.more,
        "retired_through": await revision_retired_through(plane),
    }


async def revision_retired_through(plane: ControlPlane) -> int:
    return retired_through(next(iter(await plane.node.store.documents(RETENTION)), None))
