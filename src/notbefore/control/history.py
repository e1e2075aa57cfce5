"""History: what happened, when, by whom and why; in order, and resumable."""

from typing import Annotated, Any

from fastapi import APIRouter, Query

from notbefore.control.plane import Plane
from notbefore.control.shapes import shown_record
from notbefore.ports import HistoryQuery

LIMIT_MAX = 1000

router = APIRouter(prefix="/v1/history", tags=["history"])


@router.get("", summary="Records after a revision, or the newest ones")
async def read_history(
    plane: Plane,
    scope: str | None = None,
    event: str | None = None,
    after: Annotated[int | None, Query(ge=0, le=2**62)] = None,
    limit: Annotated[int, Query(ge=1, le=LIMIT_MAX)] = 100,
) -> dict[str, Any]:
    query = HistoryQuery(scope=scope, event_id=event, after=after or 0, limit=limit, newest=after is None)
    records = await plane.node.store.history(query)
    following = records[-1].revision if records else after or 0
    return {"history": [shown_record(stored) for stored in records], "next": following}
