"""The clock of the emulator: show it, turn it. A real clock is shown and left alone (SPEC §4)."""

from typing import Any

from fastapi import APIRouter

from notbefore.clock import ManualClock
from notbefore.control.bodies import ClockBody
from notbefore.control.plane import ControlPlane, Plane
from notbefore.control.shapes import shown_record
from notbefore.core.errors import Invalid, NotAllowed
from notbefore.core.times import SECOND_MS, iso
from notbefore.ports import HistoryQuery, StoredRecord

RECORDS_PER_READ = 1000

router = APIRouter(prefix="/v1/clock", tags=["clock"])


@router.get("", summary="What time it is for events, and when the next one is due")
async def read_clock(plane: Plane) -> dict[str, Any]:
    clock = plane.manual_clock
    due_ms = clock.next_due_ms() if clock else None
    return {
        "kind": "manual" if clock else "real",
        "now": iso(plane.node.clock.now().wall_ms),
        "next_due": None if due_ms is None else iso(due_ms),
    }


@router.post("", summary="Turn a manual clock; answers with what happened")
async def turn_clock(body: ClockBody, plane: Plane) -> dict[str, Any]:
    clock = plane.manual_clock
    if clock is None:
        raise NotAllowed(
            "This server runs on the real clock, which nobody can turn.",
            "Start an emulator with `notbefore serve --clock manual`.",
        )
    last = await plane.node.store.history(HistoryQuery(limit=1, newest=True))
    await turn(clock, body)
    happened = await records_after(plane, last[-1].revision if last else 0)
    return {**await read_clock(plane), "happened": [shown_record(stored) for stored in happened]}


async def turn(clock: ManualClock, body: ClockBody) -> None:
    if body.to_next == (body.advance_s is not None):
        raise Invalid("Say either advance_s or to_next.", facts={"fields": ["advance_s", "to_next"]})
    if body.advance_s is not None:
        await clock.advance_by(round(body.advance_s * SECOND_MS))
    elif not await clock.advance_to_next():
        raise NotAllowed("Nothing is due: the clock has nowhere to go next.", "Advance it by a time instead.")


async def records_after(plane: ControlPlane, revision: int) -> list[StoredRecord]:
    records: list[StoredRecord] = []
    while page := await plane.node.store.history(HistoryQuery(after=revision, limit=RECORDS_PER_READ)):
        records += page
        revision = page[-1].revision
    return records
