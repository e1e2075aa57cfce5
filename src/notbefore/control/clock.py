"""The clock of the emulator: show it, turn it. A real clock is shown and left alone (SPEC §4)."""

from typing import Any

from notbefore.clock import ManualClock, Pace
from notbefore.control import answers, examples
from notbefore.control.bodies import ClockBody
from notbefore.control.openapi import answered
from notbefore.control.plane import ControlPlane, Plane
from notbefore.control.roles import By, Role, needs
from notbefore.control.router import router_under
from notbefore.control.shapes import shown_record
from notbefore.core.errors import Invalid, NotAllowed
from notbefore.core.times import LATEST_MS, SECOND_MS, iso
from notbefore.ports import HistoryQuery, StoredRecord

RECORDS_PER_READ = 1000
TURNS = ("advance_s", "to_next", "rate", "paused")

router = router_under("/v1/clock", "clock")


@router.get(
    "",
    summary="What time it is for events, and when the next one is due",
    dependencies=[needs(Role.VIEWER)],
    responses=answered({200: "The clock"}, answers.Clock, examples.CLOCK),
)
async def read_clock(plane: Plane, caller: By) -> dict[str, Any]:
    """What is due next may be another scope's, so a token that is limited to some is not told."""
    clock = plane.manual_clock
    due_ms = clock.next_due_ms() if clock and caller.scopes is None else None
    pace = clock.pace if clock else Pace(paused=False)
    return {
        "kind": clock.kind.partition(":")[0] if clock else "real",
        "now": iso(plane.node.clock.now().wall_ms),
        "rate": pace.rate,
        "paused": pace.paused,
        "next_due": None if due_ms is None else iso(due_ms),
    }


@router.post(
    "",
    summary="Turn an emulator's clock, let it run or stand; answers with what happened",
    dependencies=[needs(Role.ADMIN, fleet_wide=True)],
    responses=answered(
        {200: "The clock, and what came of turning it"}, answers.TurnedClock, examples.TURNED_CLOCK, "not_allowed"
    ),
)
async def turn_clock(body: ClockBody, plane: Plane, caller: By) -> dict[str, Any]:
    """From due time to due time; everything that follows happens at each. A real clock is left alone: `not_allowed`."""
    clock = plane.manual_clock
    if clock is None:
        raise NotAllowed(
            "This server runs on the real clock, which nobody can turn.",
            "Start an emulator: `notbefore serve --clock manual`, or `--clock rate:60` for a minute in each second.",
        )
    last = await plane.node.store.history(HistoryQuery(limit=1, newest=True))
    await turn(clock, body)
    happened = await records_after(plane, last[-1].revision if last else 0)
    return {**await read_clock(plane, caller), "happened": [shown_record(stored) for stored in happened]}


async def turn(clock: ManualClock, body: ClockBody) -> None:
    if [body.to_next, body.advance_s is not None, body.rate is not None, body.paused is not None].count(True) != 1:
        raise Invalid(f"Say one of {', '.join(TURNS)}.", facts={"fields": list(TURNS)})
    if body.rate is not None:
        clock.set_pace(Pace(float(body.rate), paused=False))
    elif body.paused is not None:
        clock.set_pace(Pace(clock.pace.rate, paused=body.paused))
    else:
        await turn_by_hand(clock, body)


async def turn_by_hand(clock: ManualClock, body: ClockBody) -> None:
    if clock.now().wall_ms + round((body.advance_s or 0) * SECOND_MS) > LATEST_MS:
        raise NotAllowed(
            f"The clock goes no further than {iso(LATEST_MS)}.", "Start anew with a state directory of its own."
        )
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
