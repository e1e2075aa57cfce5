"""Lists for people: coloured columns on a terminal, plain aligned ones anywhere else; and JSON for programs.

Rule 1: nothing is cut. On a terminal sentences fold and the rest stays whole; where that does not fit, each row
becomes a block of lines.
Rule 2: one row, one line elsewhere; what cannot be printed becomes a space.
Rule 3: rich is imported only for a terminal: pipes should start fast.
"""

import json
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from notbefore.cli.local_times import for_reader
from notbefore.cli.printable import printable

if TYPE_CHECKING:
    from rich.table import Table

Rows = Sequence[Sequence[str]]

FOLDING = ("why", "by", "waiting for", "vms", "resources", "addresses", "description", "update domains", "sentence")
FOLDED_MIN = 16
GAP = 2
STYLES: Mapping[str, str] = {
    "Queued": "dim",
    "Scheduled": "yellow",
    "Started": "bold magenta",
    "Completed": "green",
    "Cancelled": "dim",
    "Failed": "bold red",
    "Running": "bold magenta",
    "Paused": "yellow",
    "Halted": "bold red",
    "Cancelling": "dim",
}


def show_json(value: object) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))


def show_table(columns: Sequence[str], rows: Rows, nothing: str) -> None:
    """The rows under their columns, or the sentence that there are none."""
    clean = cleaned(rows)
    if not clean:
        print(nothing)
    elif not sys.stdout.isatty():
        print("\n".join(_aligned([_titles(columns), *clean])))
    elif not fits(columns, clean):
        print(blocks(columns, clean))
    else:
        from rich.console import Console  # noqa: PLC0415  see rule 3

        Console().print(coloured(columns, clean))


def cleaned(rows: Rows) -> list[list[str]]:
    return [[for_reader(printable(cell)) for cell in row] for row in rows]


def fits(columns: Sequence[str], rows: Rows) -> bool:
    return shutil.get_terminal_size().columns >= _width_needed(columns, rows)


def blocks(columns: Sequence[str], rows: Rows) -> str:
    """Each row as a block of lines, for a terminal too narrow for columns."""
    return "\n\n".join("\n".join(_aligned(zip(_titles(columns), row, strict=True))) for row in rows)


def _titles(columns: Sequence[str]) -> list[str]:
    return [column.upper() for column in columns]


def _aligned(rows: Iterable[Sequence[str]]) -> list[str]:
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    gap = " " * GAP
    return [gap.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _width_needed(columns: Sequence[str], rows: Rows) -> int:
    widest = [max(map(len, cells)) for cells in zip(columns, *rows, strict=True)]
    return sum(
        (min(width, FOLDED_MIN) if column in FOLDING else width) + GAP
        for column, width in zip(columns, widest, strict=True)
    )


def coloured(columns: Sequence[str], rows: Rows) -> "Table":
    from rich.table import Table  # noqa: PLC0415  see rule 3
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column.upper(), no_wrap=column not in FOLDING, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell, style=STYLES.get(cell, "")) for cell in row))
    return table
