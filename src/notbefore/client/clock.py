"""Time as the client meets it: the one place in it that reads a clock, waits, or rolls dice.

Rule 1: everything that waits between two questions waits here, so that a test gives it an hour in no time.
Not here: how long a socket waits for an answer, which is real time always (transport.py).
"""

import os
import time
from typing import Protocol


class Clock(Protocol):
    """What the client needs of time."""

    def steady_s(self) -> float:
        """Seconds that only go forward."""
        ...

    def wall_s(self) -> float:
        """Seconds since the epoch, for dates that others wrote."""
        ...

    def sleep(self, seconds: float) -> None: ...

    async def async_sleep(self, seconds: float) -> None: ...

    def chance(self) -> float:
        """From 0 to 1: where in its span a wait falls, so that many VMs do not ask in step."""
        ...


class SystemClock:
    def steady_s(self) -> float:
        return time.monotonic()

    def wall_s(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    async def async_sleep(self, seconds: float) -> None:
        import asyncio  # noqa: PLC0415  whoever gets here has imported it; a VM's plain program never does

        await asyncio.sleep(seconds)

    def chance(self) -> float:
        return int.from_bytes(os.urandom(2), "big") / 0x10000
