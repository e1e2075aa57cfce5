"""Rollouts while somebody watches: lanes, budget, what waits and why, what is done, what failed.

Rule 1: on a terminal one picture, drawn anew when it changed; elsewhere a line for each rollout and each lane that
appears (+), changes (~) or goes (-). With --json the API's objects, as of any list.
Rule 2: it only looks. A server that goes away is waited for.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from notbefore.cli.control_api import ControlApi, Json
from notbefore.cli.listing import Listing, append_changes, each_second, show_list
from notbefore.cli.local_times import for_reader
from notbefore.cli.printable import printable
from notbefore.cli.rollout_lines import (
    Operations,
    beyond_lanes,
    budget,
    failures,
    headline,
    is_over,
    progress,
    stage,
    waiting_names,
    waits,
)
from notbefore.cli.tables import STYLES, cleaned, coloured

if TYPE_CHECKING:
    from rich.console import RenderableType

LANES = ("lane", "wave", "vms", "stage", "touched", "failed", "waiting for")
CHANGING = ("rollout", "lane", "status", "wave", "vms", "stage", "touched", "failed", "waiting for")
BAR_WIDTH = 40

FetchRollouts = Callable[[], Sequence[Json]]


@dataclass(frozen=True, slots=True)
class Seen:
    """Rollouts, and the operations that their lanes' waves are."""

    rollouts: Sequence[Json]
    operations: Operations


def watch_rollouts(api: ControlApi, fetch: FetchRollouts, listing: Listing, *, as_json: bool) -> None:
    if as_json:
        show_list(listing, fetch, as_json=True, watch=True)
    elif sys.stdout.isatty():
        _draw(lambda: seen(api, fetch()), listing.nothing)
    else:
        rows = Listing(CHANGING, lambda one: one["cells"], listing.nothing, key_columns=2)
        append_changes(rows, lambda: _changing(seen(api, fetch())), as_json=False)


def seen(api: ControlApi, rollouts: Sequence[Json]) -> Seen:
    if not any(one["in_hand"] for one in rollouts):
        return Seen(rollouts, {})
    live = api.get("operations", query={"status": "live"})["operations"]
    return Seen(rollouts, {one["id"]: one for one in live})


def _changing(now: Seen) -> list[Json]:
    """A rollout is a row, and so is each lane of it."""
    rows: list[list[str]] = []
    for one in now.rollouts:
        counted = [str(one["touched"]), str(one["failed"])]
        rows.append([one["id"], "-", one["status"], "-", "-", progress(one), *counted, waits(one)])
        rows += [[one["id"], *_lane(lane, now.operations, one["status"])] for lane in one["in_hand"]]
    return [{"cells": row} for row in rows]


def _lane(lane: Json, operations: Operations, status: str) -> list[str]:
    name, *rest = lane_cells(lane, operations)
    return [name, status, *rest]


def lane_cells(lane: Json, operations: Operations) -> list[str]:
    wave, vms = (str(lane["wave"]), str(lane["vms"])) if lane["wave"] else ("-", "-")
    counted = [str(lane["touched"]), str(lane["failed"])]
    return [lane["name"], wave, vms, stage(lane, operations), *counted, lane["waits_for"] or "-"]


def _draw(look: Callable[[], Seen], nothing: str) -> None:
    from rich.console import Group  # noqa: PLC0415  only terminals need it
    from rich.live import Live  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    shown = None
    with Live(auto_refresh=False) as live:
        for now in each_second(look):
            if now == shown:
                continue
            shown = now
            pictures = [part for rollout in now.rollouts for part in picture(rollout, now.operations)]
            live.update(Group(*pictures) if pictures else Text(nothing), refresh=True)


def picture(rollout: Json, operations: Operations) -> "list[RenderableType]":
    """One rollout, from its name down to what failed."""
    from rich.text import Text  # noqa: PLC0415  only terminals need it

    parts: list[RenderableType] = [
        Text(_shown(headline(rollout)), style=STYLES.get(rollout["status"], "")),
        _bar(rollout),
        Text(progress(rollout)),
    ]
    if not is_over(rollout):
        parts.append(Text(f"budget: {budget(rollout)}"))
        if lanes := [lane_cells(lane, operations) for lane in rollout["in_hand"]]:
            parts.append(coloured(LANES, cleaned(lanes)))
        parts += [Text(_shown(line)) for line in _what_waits(rollout)]
    parts += [Text(_shown(line), style=STYLES["Failed"]) for line in failures(rollout)]
    return [*parts, Text("")]


def _bar(rollout: Json) -> "RenderableType":
    from rich.progress_bar import ProgressBar  # noqa: PLC0415  only terminals need it
    from rich.table import Table  # noqa: PLC0415

    line = Table.grid()
    line.add_row(ProgressBar(total=max(1, rollout["targets"]), completed=len(rollout["done"]), width=BAR_WIDTH))
    return line


def _what_waits(rollout: Json) -> list[str]:
    lines = [f"waiting: {waiting_names(rollout)}"] if rollout["waiting"] else []
    return lines + ([f"waiting for {waits}"] if (waits := beyond_lanes(rollout)) else [])


def _shown(line: str) -> str:
    return for_reader(printable(line))
