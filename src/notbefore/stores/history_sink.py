"""Where history goes before it is deleted: JSON lines, one file for each day that records are of.

Rule 1: what was kept is on disk (fsync of file and directory) before `keep` returns.
Rule 2: only whole lines. What a crash or a full disk left half-written is cut off before anything is added; its
record is still in the store then, and comes again. So a record may stand twice, and is never lost.
Rule 3: a file is its owner's alone (0600), and one writer's at a time (flock).
Not here: which records (runtime/retention.py), how a line looks (handed over by wiring.py).
"""

import asyncio
import fcntl
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from notbefore.core.errors import NotAllowed, SinkUnavailable
from notbefore.core.times import iso
from notbefore.ports import StoredRecord

DATE_LENGTH: Final = len("2026-09-19")
LOOK_BACK_BYTES: Final = 64 * 1024

LineOf = Callable[[StoredRecord], str]


class JsonLinesSink:
    def __init__(self, directory: Path, line_of: LineOf) -> None:
        self._directory = directory
        self._line_of = line_of

    def prepare(self) -> None:
        """Refused at start rather than found out when the first record is old."""
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not os.access(self._directory, os.W_OK | os.X_OK):
                raise PermissionError(0, "it may not be written to")
        except OSError as error:
            raise NotAllowed(
                f"Cannot keep old history in {self._directory}: {error.strerror}.",
                "Set history.sink to a directory that this program may write to.",
                {"directory": str(self._directory)},
            ) from None

    async def keep(self, records: Sequence[StoredRecord]) -> None:
        by_day: dict[str, list[str]] = {}
        for stored in records:
            by_day.setdefault(iso(stored.record.at_ms)[:DATE_LENGTH], []).append(self._line_of(stored))
        try:
            await asyncio.to_thread(self._append, by_day)
        except OSError as error:
            raise SinkUnavailable(
                f"History cannot be kept in {self._directory}: {error.strerror}.",
                "Make room there, or make it writable; nothing is deleted meanwhile.",
                {"directory": str(self._directory)},
            ) from None

    def _append(self, by_day: Mapping[str, list[str]]) -> None:
        for day, lines in by_day.items():
            append_lines(self._directory / f"history-{day}.jsonl", lines)
        flush(self._directory)


class NoSink:
    """`sink = "none"`: old history is let go."""

    async def keep(self, records: Sequence[StoredRecord]) -> None:
        """Nowhere."""


def append_lines(file: Path, lines: Sequence[str]) -> None:
    with locked(file) as descriptor:
        end = end_of_whole_lines(descriptor)
        os.ftruncate(descriptor, end)
        try:
            write_all(descriptor, "".join(f"{line}\n" for line in lines).encode())
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, end)
            raise


@contextmanager
def locked(file: Path) -> Iterator[int]:
    descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def end_of_whole_lines(descriptor: int) -> int:
    end = os.fstat(descriptor).st_size
    while end > 0:
        begin = max(0, end - LOOK_BACK_BYTES)
        newline = os.pread(descriptor, end - begin, begin).rfind(b"\n")
        if newline >= 0:
            return begin + newline + 1
        end = begin
    return 0


def write_all(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]


def flush(directory: Path) -> None:
    """A new file is on disk when its directory is."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
