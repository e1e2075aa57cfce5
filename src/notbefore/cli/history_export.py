"""history --export: everything that happened, as JSON lines, to a file or to stdout.

Rule 1: page after page by revision, so that any length of history fits in memory, and nothing that happens meanwhile
is missed or comes twice.
Rule 2: a file under its name is whole; until then it is `.part`, its owner's alone (0600). None is replaced.
Rule 3: what takes longer than two seconds says on stderr how far it is.
"""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from notbefore.cli.control_api import ControlApi, Json
from notbefore.cli.exits import complain
from notbefore.clock import RealTime
from notbefore.control_client.control_api import Query
from notbefore.core.errors import NotAllowed

PAGE = 1000
STDOUT = "-"
SAY_EVERY_S = 2.0


def pages(api: ControlApi, query: Query, after: int) -> Iterator[Json]:
    """Answers of /v1/history from a revision on, to the end of history as it is when it gets there."""
    while True:
        answer = api.get("history", query={**query, "after": after, "limit": PAGE})
        yield answer
        if not answer["more"]:
            return
        after = answer["next"]


def export(api: ControlApi, query: Query, after: int, target: str) -> None:
    with opened(target) as out:
        number, last = written(api, query, after, out, RealTime())
    complain(f"{number} records, up to revision {last}.", f"`--export FILE --after {last}` goes on from there.")


def written(api: ControlApi, query: Query, after: int, out: TextIO, time: RealTime) -> tuple[int, int]:
    """How many records, and up to which revision."""
    number, last, said_s = 0, after, time.steady_s()
    for answer in pages(api, query, after):
        if not number and answer["retired_through"] > after:
            complain(
                f"Records up to revision {answer['retired_through']} were retired; the sink has them, if there is one."
            )
        for record in answer["history"]:
            out.write(json.dumps(record, separators=(",", ":")) + "\n")
            number += 1
        last = answer["next"]
        if time.steady_s() - said_s >= SAY_EVERY_S:
            complain(f"{number} records so far, up to revision {last}")
            said_s = time.steady_s()
    return number, last


@contextmanager
def opened(target: str) -> Iterator[TextIO]:
    if target == STDOUT:
        yield sys.stdout
        sys.stdout.flush()
        return
    file = Path(target)
    refuse_existing(file)
    part = file.with_name(f"{file.name}.part")
    try:
        part.unlink(missing_ok=True)
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise NotAllowed(f"Cannot write {part}: {error.strerror}.", "Name another file.") from None
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as out:
            yield out
            out.flush()
            os.fsync(descriptor)
        refuse_existing(file)
        part.rename(file)
    except OSError as error:
        raise NotAllowed(f"Cannot write {file}: {error.strerror}.", "Make room, or name another file.") from None
    finally:
        part.unlink(missing_ok=True)


def refuse_existing(file: Path) -> None:
    if file.exists():
        raise NotAllowed(f"{file} is there already.", "Name another file; with --after it holds only what is new.")
