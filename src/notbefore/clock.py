"""The one place that reads a clock.

Rule 1: `now()` is the domain's time, both hands of it (SPEC §4); `steady_s` and `rest` are real time always.
Rule 2: the system clock looks again at least every second, because a wall clock can be stepped under a sleeper.
Rule 3: the manual clock moves only when told, from due time to due time, and lets everything settle at each.
Implements: ports.Clock. Used by: wiring.py.
"""

import asyncio
import heapq
import time
import uuid
from itertools import count
from pathlib import Path

from notbefore.core.times import SECOND_MS, Moment, rounded_up_to_second
from notbefore.ports import Signal
from notbefore.tasks import AsyncioTasks

LOOK_AGAIN_S = 1.0
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class RealTime:
    """The half of a clock that nobody can turn."""

    def steady_s(self) -> float:
        return time.monotonic()

    def real_s(self) -> float:
        return time.time()

    async def rest(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def rest_until(self, seconds: float | None, signal: Signal) -> None:
        await signal.rung(seconds)


class SystemClock(RealTime):
    def __init__(self) -> None:
        # Without a boot id of the machine every start counts as another boot: then the wall clock decides.
        self._boot_id = _BOOT_ID.read_text().strip() if _BOOT_ID.exists() else str(uuid.uuid4())

    def now(self) -> Moment:
        boot_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        return Moment(time.time_ns() // 1_000_000, boot_ns // 1_000_000, self._boot_id)

    async def wait(self, until_ms: int | None, signal: Signal) -> None:
        if until_ms is None:
            await signal.rung(LOOK_AGAIN_S)
            return
        left_s = (until_ms - self.now().wall_ms) / SECOND_MS
        await signal.rung(min(max(left_s, 0.0), LOOK_AGAIN_S))


class ManualClock(RealTime):
    """A clock that stands still until it is turned, and goes on from there after a restart: never back."""

    def __init__(self, tasks: AsyncioTasks, kept_in: Path) -> None:
        self._tasks = tasks
        self._kept_in = kept_in
        self._wall_ms = rounded_up_to_second(self._kept_ms() or time.time_ns() // 1_000_000)
        self._started_ms = self._wall_ms
        self._boot_id = f"manual-{uuid.uuid4()}"
        self._waiting: list[tuple[int, int, Signal]] = []
        self._order = count()
        self._turning = asyncio.Lock()

    def now(self) -> Moment:
        return Moment(self._wall_ms, self._wall_ms - self._started_ms, self._boot_id)

    async def wait(self, until_ms: int | None, signal: Signal) -> None:
        if until_ms is None:
            await signal.rung(None)
        elif until_ms > self._wall_ms:
            entry = (until_ms, next(self._order), signal)
            heapq.heappush(self._waiting, entry)
            try:
                await signal.rung(None)
            finally:
                if entry in self._waiting:
                    self._waiting.remove(entry)
                    heapq.heapify(self._waiting)

    def next_due_ms(self) -> int | None:
        return self._waiting[0][0] if self._waiting else None

    async def advance_by(self, span_ms: int) -> None:
        async with self._turning:
            await self._advance_to(self._wall_ms + span_ms)

    async def advance_to_next(self) -> bool:
        """To the next due time, if there is one once everything has settled."""
        async with self._turning:
            await self._tasks.settled()
            due_ms = self.next_due_ms()
            if due_ms is not None:
                await self._advance_to(due_ms)
            return due_ms is not None

    async def _advance_to(self, until_ms: int) -> None:
        """From due time to due time; at each, everything that follows happens before the clock moves on."""
        await self._tasks.settled()
        while (due_ms := self.next_due_ms()) is not None and due_ms <= until_ms:
            self._move_to(due_ms)
            self._ring_due()
            await self._tasks.settled()
        self._move_to(until_ms)

    def _move_to(self, wall_ms: int) -> None:
        """Kept before anything happens at that time, so that a crash does not turn it back."""
        self._wall_ms = max(self._wall_ms, wall_ms)
        fresh = self._kept_in.with_suffix(".new")
        fresh.write_text(f"{self._wall_ms}\n")
        fresh.replace(self._kept_in)

    def _kept_ms(self) -> int | None:
        kept = self._kept_in.read_text().strip() if self._kept_in.exists() else ""
        return int(kept) if kept.isdecimal() else None

    def _ring_due(self) -> None:
        while self._waiting and self._waiting[0][0] <= self._wall_ms:
            heapq.heappop(self._waiting)[2].ring()
