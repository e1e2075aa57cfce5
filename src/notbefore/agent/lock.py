"""One agent for one state directory: a lock that ends with its process, however that ends.

Rule 1: a second agent refuses to start, and says who has the lock.
Rule 2: the file stays; it is the lock on it that counts, not that it is there.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from notbefore.core.errors import NotAllowed

NAME: Final = "agent.lock"
OWNER_ONLY: Final = 0o600
# Windows locks bytes against reading too: one that nobody reads.
LOCKED_BYTE: Final = 1 << 20
WRITTEN_MAX: Final = 64


class Lock:
    def __init__(self, directory: Path) -> None:
        self.path = directory / NAME
        self._fd = -1

    def take(self) -> None:
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), OWNER_ONLY)
        try:
            _lock(fd)
        except OSError:
            owner = _owner(fd)
            os.close(fd)
            raise NotAllowed(
                f"Another agent ({owner}) works with {self.path.parent}.",
                "One agent is enough for a VM. For a second one set another `state` in its agent.toml.",
                {"state": str(self.path.parent)},
            ) from None
        self._fd = fd
        with suppress(OSError):  # who has it is for people; a full disk does not keep an agent from watching
            os.ftruncate(fd, 0)
            os.write(fd, f"process {os.getpid()}".encode())

    def release(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1


def _owner(fd: int) -> str:
    with suppress(OSError):
        os.lseek(fd, 0, os.SEEK_SET)
        return os.read(fd, WRITTEN_MAX).decode("ascii", "replace") or "starting right now"
    return "another process"


if sys.platform == "win32":
    import msvcrt

    def _lock(fd: int) -> None:
        os.lseek(fd, LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        os.lseek(fd, 0, os.SEEK_SET)

else:
    import fcntl

    def _lock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
