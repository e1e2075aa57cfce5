"""Driving things that go on by themselves, each under its key: when somebody says so, and when it is time.

Rule 1: a drive of one key at a time in this process; what comes meanwhile makes it drive once more.
Rule 2: a refusal (the store is away, say) is tried again a second later.
Called by: operations.py, rollouts.py.
"""

import logging
from collections.abc import Awaitable, Callable

from notbefore.core.errors import Refusal
from notbefore.core.times import SECOND_MS
from notbefore.ports import Clock, Tasks
from notbefore.runtime.wheel import Wheel

TRY_AGAIN_MS = SECOND_MS

log = logging.getLogger("notbefore.driver")


class Driver:
    def __init__(self, kind: str, drive: Callable[[str], Awaitable[None]], clock: Clock, tasks: Tasks) -> None:
        self._kind = kind
        self._drive_once = drive
        self._clock = clock
        self._tasks = tasks
        self._wheel = Wheel()
        self._bell = tasks.signal()
        # Whether it has to be driven once more.
        self._in_hand: dict[str, bool] = {}

    async def run(self) -> None:
        while True:
            for key in self._wheel.pop_due(self._clock.now().wall_ms):
                self.soon(key)
            await self._clock.wait(self._wheel.next_due_ms(), self._bell)

    def soon(self, key: str) -> None:
        if key in self._in_hand:
            self._in_hand[key] = True
            return
        self._in_hand[key] = False
        self._tasks.spawn(f"{self._kind} {key}", self._drive(key))

    def look_again(self, key: str, at_ms: int | None) -> None:
        self._wheel.set(key, at_ms)
        self._bell.ring()

    async def _drive(self, key: str) -> None:
        try:
            again = True
            while again:
                self._in_hand[key] = False
                await self._drive_once(key)
                again = self._in_hand[key]
        except Refusal as refusal:
            log.warning("could not go on, will try again: %s", refusal.message, extra={self._kind: key})
            self.look_again(key, self._clock.now().wall_ms + TRY_AGAIN_MS)
        finally:
            del self._in_hand[key]
