"""Who is connected: a cap for each caller and for all, and an end for those who keep a connection for nothing.

Rule 1: a connection counts from accept to close, whichever protocol holds it meanwhile.
Rule 2: a connection has a deadline while it owes something: its head, or its next request.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from notbefore.metadata.answers import error

REFUSED = error(503, "Service unavailable. Too many connections; close some and ask again", (b"retry-after", b"1"))


@dataclass(frozen=True, slots=True)
class Limits:
    connections_max: int = 10_000
    connections_per_vm_max: int = 64
    head_timeout_s: float = 10.0
    body_timeout_s: float = 10.0
    idle_timeout_s: float = 75.0
    long_polls_max: int = 8_000


class Connection(Protocol):
    deadline_s: float | None

    def cut_off(self) -> None: ...


class Connections:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.count = 0
        self.refused = 0
        self._of: dict[object, int] = {}

    def admit(self, caller: object) -> bool:
        """Whether one more connection of this caller may stay; if so it is counted."""
        limits = self.limits
        of_caller = self._of.get(caller, 0)
        if self.count >= limits.connections_max or of_caller >= limits.connections_per_vm_max:
            self.refused += 1
            return False
        self.count += 1
        self._of[caller] = of_caller + 1
        return True

    def release(self, caller: object) -> None:
        self.count -= 1
        left = self._of.pop(caller) - 1
        if left:
            self._of[caller] = left


def cut_off_overdue(connections: Iterable[Connection], now_s: float) -> None:
    for connection in [one for one in connections if one.deadline_s is not None and one.deadline_s < now_s]:
        connection.cut_off()
