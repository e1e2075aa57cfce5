"""A list for whoever reads it: JSON, a table, or with --watch what becomes of it.

Rule 1: --json shows the API's objects as they came.
Rule 2: a watched list is asked for again every second. On a terminal it is one table that is drawn anew when it
changed, as much of it as fits; elsewhere each row that appears (+), changes (~) or goes (-) is one line.
Rule 3: a server that goes away while it is watched is said once, and waited for.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Event as Pause
from typing import TypeVar

from notbefore.cli.control_api import Json, NoServer
from notbefore.cli.exits import complain
from notbefore.cli.tables import blocks, cleaned, coloured, fits, show_json, show_table
from notbefore.core.errors import StoreUnavailable

ASK_AGAIN_S = 1.0
CHANGES: Mapping[str, str] = {"+": "appeared", "~": "changed", "-": "gone"}

Fetch = Callable[[], Sequence[Json]]
Seen = TypeVar("Seen")


@dataclass(frozen=True, slots=True)
class Listing:
    """What is listed, and how one of it becomes a row. A row is known by its first `key_columns` cells."""

    columns: Sequence[str]
    row: Callable[[Json], list[str]]
    nothing: str
    key_columns: int = 1
    volatile: tuple[str, ...] = ()
    """Columns that move on by themselves: a change of them alone is not worth a line."""

    def rows(self, things: Sequence[Json]) -> list[list[str]]:
        return [self.row(one) for one in things]

    def key(self, row: Sequence[str]) -> tuple[str, ...]:
        return tuple(row[: self.key_columns])

    def settled(self, row: Sequence[str]) -> list[str]:
        return [cell for column, cell in zip(self.columns, row, strict=True) if column not in self.volatile]


def show_list(listing: Listing, fetch: Fetch, *, as_json: bool, watch: bool = False) -> None:
    if not watch:
        things = fetch()
        if as_json:
            show_json(things)
        else:
            show_table(listing.columns, listing.rows(things), listing.nothing)
    elif as_json or not sys.stdout.isatty():
        append_changes(listing, fetch, as_json=as_json)
    else:
        _redraw(listing, fetch)


def each_second(fetch: Callable[[], Seen]) -> Iterator[Seen]:
    """What there is, again and again; for as long as somebody wants to see it."""
    pause, is_away = Pause(), False
    yield fetch()
    while True:
        pause.wait(ASK_AGAIN_S)
        try:
            things = fetch()
        except (NoServer, StoreUnavailable) as away:
            if not is_away:
                complain(away.message, "Still watching; Ctrl-C ends it.")
            is_away = True
            continue
        is_away = False
        yield things


def append_changes(listing: Listing, fetch: Fetch, *, as_json: bool) -> None:
    seen: dict[tuple[str, ...], tuple[list[str], Json]] = {}
    widths = [len(column) for column in listing.columns]
    if not as_json:
        print(_line(" ", [column.upper() for column in listing.columns], widths))
    for things in each_second(fetch):
        now = {listing.key(row): (row, one) for row, one in zip(listing.rows(things), things, strict=True)}
        for mark, key in _changes(listing, seen, now):
            row, one = (seen if mark == "-" else now)[key]
            if as_json:
                print(json.dumps({"change": CHANGES[mark], "item": one}, ensure_ascii=False))
            else:
                (clean,) = cleaned([row])
                widths = [max(width, len(cell)) for width, cell in zip(widths, clean, strict=True)]
                print(_line(mark, clean, widths))
        sys.stdout.flush()
        seen = now


def _changes(
    listing: Listing,
    seen: Mapping[tuple[str, ...], tuple[list[str], Json]],
    now: Mapping[tuple[str, ...], tuple[list[str], Json]],
) -> Iterator[tuple[str, tuple[str, ...]]]:
    for key in seen:
        if key not in now:
            yield "-", key
    for key, (row, _) in now.items():
        if key not in seen:
            yield "+", key
        elif listing.settled(row) != listing.settled(seen[key][0]):
            yield "~", key


def _line(mark: str, cells: Sequence[str], widths: Sequence[int]) -> str:
    return f"{mark} {'  '.join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))}".rstrip()


def _redraw(listing: Listing, fetch: Fetch) -> None:
    from rich.live import Live  # noqa: PLC0415  only terminals need it
    from rich.text import Text  # noqa: PLC0415

    shown = None
    with Live(auto_refresh=False) as live:
        for things in each_second(fetch):
            rows = cleaned(listing.rows(things))
            if rows == shown:
                continue
            shown = rows
            if not rows:
                live.update(Text(listing.nothing), refresh=True)
            elif fits(listing.columns, rows):
                live.update(coloured(listing.columns, rows), refresh=True)
            else:
                live.update(Text(blocks(listing.columns, rows)), refresh=True)
