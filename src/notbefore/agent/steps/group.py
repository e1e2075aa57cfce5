"""Who is alive in a process group, as /proc tells it (Linux).

Rule 1: one that has ended and is merely not yet reaped is not alive.
Rule 2: nobody is found where that cannot be seen: on other systems, with the /proc of another PID namespace, and
processes of other users behind `hidepid`. What is not seen is held against nobody.
Not here: whose group it is, and what becomes of it (process.py).
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Member:
    pid: int
    name: str

    def __str__(self) -> str:
        return f"{self.name} ({self.pid})"


def alive_in(group: int, proc: Path = PROC) -> list[Member]:
    try:
        if (proc / "self").readlink() != Path(str(os.getpid())):
            return []
        pids = [int(entry.name) for entry in proc.iterdir() if entry.name.isdecimal()]
    except OSError:
        return []
    return [member for pid in pids if (member := member_of(group, pid, proc))]


def still_alive(group: int, members: list[Member]) -> list[Member]:
    """As they are called by now; only when none of those is left it is worth a look at every process there is."""
    return [now for member in members if (now := member_of(group, member.pid))] or alive_in(group)


def member_of(group: int, pid: int, proc: Path = PROC) -> Member | None:
    with suppress(OSError, ValueError):
        return member_in((proc / str(pid) / "stat").read_text("utf-8", "replace"), group)
    return None


def member_in(stat: str, group: int) -> Member | None:
    """`stat` is "pid (name) state parent group …"; a name may have anything in it."""
    start, _, rest = stat.rpartition(")")
    pid, _, name = start.partition(" (")
    state, _, of, *_ = rest.split()
    if int(of) != group or state in "ZX":
        return None
    return Member(int(pid), "".join(one if one.isprintable() else " " for one in name))
