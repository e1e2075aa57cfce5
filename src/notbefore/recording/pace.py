"""How a replay goes on: by the recorded times, or by a person who presses Enter.

Rule 1: times are counted from one beginning, so that waiting never adds up to being late.
Rule 2: the last line is shown at least LAST_SHOWN_S, so that who asks once a second has seen it.
"""

import asyncio
import os
from typing import Protocol

from notbefore.clock import RealTime
from notbefore.core.errors import NotAllowed

LAST_SHOWN_S = 2.5
STDIN = 0
READ_BYTES = 4096


class NoMoreSteps(Exception):
    """Whoever pressed Enter is gone."""


class Pace(Protocol):
    async def until(self, t_s: float) -> None:
        """Wait until what was shown so far into the flow is to be shown."""
        ...

    async def until_over(self, lasts_s: float) -> None:
        """Wait until a flow that lasted so long is over."""
        ...


class Timed:
    """`rate` times as fast as it was."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._time = RealTime()
        self._start_s = self._time.steady_s()

    async def until(self, t_s: float) -> None:
        await self._time.rest(max(0.0, self._start_s + t_s / self._rate - self._time.steady_s()))

    async def until_over(self, lasts_s: float) -> None:
        last_shown_s = self._time.steady_s()
        await self.until(lasts_s)
        await self._time.rest(max(0.0, last_shown_s + LAST_SHOWN_S - self._time.steady_s()))


class Stepped:
    """One line for each that is typed; Enter is enough."""

    def __init__(self) -> None:
        self._steps = asyncio.Semaphore(0)
        self._left = 0
        try:
            asyncio.get_running_loop().add_reader(STDIN, self._typed)
        except OSError:
            raise NotAllowed("--step needs somebody who presses Enter, and stdin is none.") from None

    async def until(self, t_s: float) -> None:  # noqa: ARG002  however long it was
        await self._steps.acquire()
        if not self._left:
            raise NoMoreSteps
        self._left -= 1

    async def until_over(self, lasts_s: float) -> None:
        await self.until(lasts_s)

    def _typed(self) -> None:
        typed = os.read(STDIN, READ_BYTES)
        for _ in range(typed.count(b"\n")):
            self._left += 1
            self._steps.release()
        if not typed:
            asyncio.get_running_loop().remove_reader(STDIN)
            self._steps.release()
