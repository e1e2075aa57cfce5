"""The journal on disk: one fact a line, as JSON with a checksum, each on disk before anything follows from it.

Rule 1: a line is whole or it is not there: what could not be written whole is cut away before the next is written.
Rule 2: a last line without its end was torn by a crash; nothing had followed from it, so it is dropped.
Rule 3: any other line that is wrong, or missing by its number, is a hole: nobody knows what it said.
Rule 4: what is no longer needed goes by an atomic new file; a journal with holes is never rewritten.
Nobody but its owner may read it: rules may hold secrets.
"""

import json
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

NAME: Final = "journal.jsonl"
SUM: Final = b',"sum":"'
SIZE_MAX: Final = 64 * 1024 * 1024
OWNER_ONLY: Final = 0o600

Line = Mapping[str, Any]


@dataclass(slots=True)
class Replay:
    """What a journal said. `holes`: the numbers of the lines that are wrong, or come after a missing one."""

    lines: list[Line] = field(default_factory=list)
    holes: list[int] = field(default_factory=list)
    torn: bool = False
    next_n: int = 0


def sync_directory(directory: Path) -> None:
    """A new name in it is on disk, where a directory can be told so."""
    if os.name != "posix":
        return
    fd = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


class Journal:
    """OSError from anything that writes means: it is not on disk. `sync` keeps a new name in a directory."""

    def __init__(self, directory: Path, sync: Callable[[Path], None] = sync_directory) -> None:
        self.path = directory / NAME
        self._sync = sync
        self._fd = -1
        self.size = 0
        self._next_n = 0

    def open(self) -> Replay:
        """Read what is there, and be ready to write behind it."""
        self._fd = self._opened()
        read = _whole(self._fd)
        replay = replayed(read)
        self.size = len(read) if not replay.torn else read.rfind(b"\n") + 1
        self._next_n = replay.next_n
        return replay

    def append(self, line: Line) -> None:
        if self._fd < 0:
            self._fd = self._opened()
        written = rendered({"n": self._next_n, **line})
        os.ftruncate(self._fd, self.size)
        os.lseek(self._fd, self.size, os.SEEK_SET)
        _write(self._fd, written)
        os.fsync(self._fd)
        self.size += len(written)
        self._next_n += 1

    def rewrite(self, kept: Callable[[list[Line]], Iterable[Line]]) -> None:
        """An atomic new file with only the lines that are kept; the old one stays when that fails."""
        lines = list(kept(replayed(_whole(self._fd)).lines))
        written = b"".join(rendered({"n": n, **_without_place(line)}) for n, line in enumerate(lines))
        fresh = self.path.with_name(f"{NAME}.new")
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), OWNER_ONLY)
        try:
            _write(fd, written)
            os.fsync(fd)
        finally:
            os.close(fd)
        self.close()
        fresh.replace(self.path)
        # From here on the file is the new one, also when what follows fails.
        self.size, self._next_n = len(written), len(lines)
        self._sync(self.path.parent)
        self._fd = self._opened()

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def _opened(self) -> int:
        is_new = not self.path.exists()
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), OWNER_ONLY)
        if sys.platform != "win32":
            os.fchmod(fd, OWNER_ONLY)
        if is_new:
            self._sync(self.path.parent)
        return fd


def rendered(line: Line) -> bytes:
    body = json.dumps(line, ensure_ascii=False, separators=(",", ":"), default=str).encode("utf-8", "replace")[:-1]
    return body + SUM + f'{zlib.crc32(body):08x}"}}\n'.encode()


def replayed(read: bytes) -> Replay:
    replay = Replay()
    lines = read.split(b"\n")
    replay.torn = bool(lines.pop())
    for number, written in enumerate(lines, 1):
        line = _checked(written)
        n = line.pop("n", None) if line else None
        if n != replay.next_n:
            replay.holes.append(number)
        replay.next_n = n + 1 if isinstance(n, int) else replay.next_n + 1
        if line is not None:
            replay.lines.append({**line, "line": number})
    return replay


def _without_place(line: Line) -> Line:
    return {key: value for key, value in line.items() if key != "line"}


def _checked(written: bytes) -> dict[str, Any] | None:
    body, _, checksum = written.rpartition(SUM)
    if checksum != f'{zlib.crc32(body):08x}"}}'.encode():
        return None
    try:
        line = json.loads(body + b"}")
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) else None


def _whole(fd: int) -> bytes:
    size = min(os.fstat(fd).st_size, SIZE_MAX)
    os.lseek(fd, 0, os.SEEK_SET)
    parts = []
    while size > 0 and (part := os.read(fd, size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _write(fd: int, written: bytes) -> None:
    view = memoryview(written)
    while view:
        view = view[os.write(fd, view) :]
