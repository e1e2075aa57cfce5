"""Lists for people: coloured tables on a terminal, aligned columns anywhere else; and JSON for programs.

Rule 1: an id is never cut or folded, however narrow the terminal.
Rule 2: one row, one line elsewhere; what cannot be printed becomes a space.
Rule 3: rich is imported only for a terminal: pipes should start fast.
"""

import json
import shutil
import sys
from collections.abc import Mapping, Sequence

Rows = Sequence[Sequence[str]]

WHOLE_COLUMNS = ("id", "event")
FOLDED_MIN = 8
STYLES: Mapping[str, str] = {
    "Queued": "dim",
    "Scheduled": "yellow",
    "Started": "bold magenta",
    "Completed": "green",
    "Cancelled": "dim",
    "Failed": "bold red",
}


def show_json(value: object) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))


def show_table(columns: Sequence[str], rows: Rows, nothing: str) -> None:
    """The rows under their columns, or the sentence that there are none."""
    clean = [[_printable(cell) for cell in row] for row in rows]
    if not clean:
        print(nothing)
    elif sys.stdout.isatty():
        _show_rich(columns, clean)
    else:
        print("\n".join(aligned([[column.upper() for column in columns], *clean])))


def aligned(rows: Rows) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _printable(cell: str) -> str:
    return "".join(character if character.isprintable() else " " for character in cell)


def _show_rich(columns: Sequence[str], rows: Rows) -> None:
    from rich import box  # noqa: PLC0415  see rule 3
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    needed = 0
    for title, cells in zip(columns, zip(*rows, strict=True), strict=True):
        whole = title in WHOLE_COLUMNS
        table.add_column(title, no_wrap=whole, overflow="fold")
        needed += (max(map(len, cells)) if whole else FOLDED_MIN) + 2
    for row in rows:
        table.add_row(*(Text(cell, style=STYLES.get(cell, "")) for cell in row))
    width = max(shutil.get_terminal_size().columns, needed)
    Console(width=width).print(table, crop=False)
