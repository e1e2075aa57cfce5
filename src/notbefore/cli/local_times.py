"""Times as the reader wants them: UTC for programs, the local time zone for people at a terminal.

Rule 1: into a pipe, with --json, with --utc or NOTBEFORE_UTC=1 a time is ISO 8601 in UTC, as the API sends it.
Rule 2: on a terminal it is ISO 8601 too, in local time with its offset: `2026-03-02T13:15:00+01:00`. So it says which
zone it means, and can be pasted back into --not-before.
"""

import os
import re
import sys
from datetime import datetime
from typing import Annotated, TextIO

import typer

from notbefore.core.times import SECOND_MS, iso

UTC_VARIABLE = "NOTBEFORE_UTC"
_UTC_TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def _say_utc(wanted: bool) -> bool:  # noqa: FBT001  typer's shape of a callback
    if wanted:
        # The flag is the variable said louder: everything that prints reads it from there.
        os.environ[UTC_VARIABLE] = "1"
    return wanted


Utc = Annotated[
    bool, typer.Option("--utc", callback=_say_utc, help="Times in UTC on a terminal too; also NOTBEFORE_UTC=1.")
]


def shown_time(at: datetime | None, otherwise: str = "-") -> str:
    """As the API writes it; whoever prints it makes it local where that is wanted."""
    return otherwise if at is None else iso(round(at.timestamp() * SECOND_MS))


def is_local(stream: TextIO | None = None) -> bool:
    """Whether whoever reads the stream (stdout) wants local times."""
    return os.environ.get(UTC_VARIABLE) != "1" and (stream or sys.stdout).isatty()


def for_reader(text: str, stream: TextIO | None = None) -> str:
    """The text with every UTC time in it as the reader of the stream wants it."""
    return _UTC_TIME.sub(_local, text) if is_local(stream) else text


def _local(found: re.Match[str]) -> str:
    try:
        at = datetime.fromisoformat(found[0]).astimezone()
    except (ValueError, OverflowError):
        return found[0]
    return at.isoformat() if at.utcoffset() else found[0]
