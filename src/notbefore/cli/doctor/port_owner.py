"""Which program listens on a port of this machine, as far as the kernel tells this user."""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
LISTENING = "0A"
_SOCKET = re.compile(r"socket:\[(\d+)\]")


def port_owner(port: int) -> str | None:
    """`nginx (pid 4711)`; None when nobody listens, or it cannot be seen who does."""
    inodes = set(_inodes_listening(port))
    if not inodes:
        return None
    for process in PROC.iterdir():
        if process.name.isdecimal() and inodes & set(_sockets_of(process)):
            return f"{_name_of(process)} (pid {process.name})"
    return "a program of another user"


def _inodes_listening(port: int) -> Iterator[str]:
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in (PROC / "net" / table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                    yield fields[9]


def _sockets_of(process: Path) -> Iterator[str]:
    with suppress(OSError):
        for handle in (process / "fd").iterdir():
            with suppress(OSError):
                if found := _SOCKET.fullmatch(str(handle.readlink())):
                    yield found[1]


def _name_of(process: Path) -> str:
    try:
        return (process / "comm").read_text().strip()
    except OSError:
        return "a program that has just ended"
