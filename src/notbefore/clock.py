"""The one place that reads a clock.

Rule 1: `now()` is the domain's time, both hands of it (SPEC §4); `steady_s` and `rest` are real time always.
Rule 2: the system clock looks every second whether the wall was stepped under its sleepers, or the machine slept: then
all of them look again. It does so once for all: thousands may wait for the ends of their impacts.
Rule 3: the emulator's clock is moved by hand, or runs at a rate; either way from due time to due time, and lets
everything settle at each. It stands while anything is being done, and never passes what is due.
Rule 4: it shows no time that is not kept already, so that a crash does not turn it back.
Implements: ports.Clock. Used by: wiring.py.
"""

import asyncio
import heapq
import math
import mmap
import os
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from notbefore.core.errors import Invalid, NotAllowed
from notbefore.core.times import LATEST_MS, MS_NS, SECOND_MS, Moment, rounded_up_to_second
from notbefore.ports import Signal
from notbefore.tasks import AsyncioTasks

LOOK_AGAIN_S = 1.0
STEP_MS = 20
# A day in a second.
RATE_MAX = 86_400.0
# How far ahead of itself a running clock is kept: what a crash may cost, in real time.
KEPT_AHEAD_S = 2.0
KEPT_DIGITS = 15
MANUAL = "manual"
RATE_PREFIX = "rate:"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class RealTime:
    """The half of a clock that nobody can turn."""

    # Not methods of its own: they are asked for with every request.
    steady_s = staticmethod(time.monotonic)

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
        # Those who wait for longer than until the next look.
        self._sleepers: set[Signal] = set()
        self._offset_ms = 0
        self._is_looking = False

    def now(self) -> Moment:
        boot_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        return Moment(time.time_ns() // 1_000_000, boot_ns // 1_000_000, self._boot_id)

    wall_ns = staticmethod(time.time_ns)

    async def wait(self, until_ms: int | None, signal: Signal) -> None:
        if until_ms is None:
            await signal.rung(LOOK_AGAIN_S)
            return
        left_s = (until_ms - self.now().wall_ms) / SECOND_MS
        if left_s <= LOOK_AGAIN_S:
            await signal.rung(max(left_s, 0.0))
            return
        self._sleepers.add(signal)
        self._look_out()
        try:
            await signal.rung(left_s)
        finally:
            self._sleepers.discard(signal)

    def _look_out(self) -> None:
        if not self._is_looking:
            self._is_looking = True
            self._offset_ms = self._wall_offset_ms()
            asyncio.get_running_loop().call_later(LOOK_AGAIN_S, self._look)

    def _look(self) -> None:
        """Alarms are set on the loop's own time: whoever slept by that is told when the wall has moved otherwise."""
        self._is_looking = False
        if abs(self._wall_offset_ms() - self._offset_ms) > STEP_MS:
            for sleeper in self._sleepers:
                sleeper.ring()
        if self._sleepers:
            self._look_out()

    def _wall_offset_ms(self) -> int:
        return self.now().wall_ms - time.monotonic_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Pace:
    """How an emulator's clock moves by itself: so many seconds in a real one, unless it is paused."""

    rate: float = 1.0
    paused: bool = True


def pace_of(kind: str) -> Pace | None:
    """The pace that `manual` or `rate:N` begins with; None is the real clock."""
    if kind == "real":
        return None
    if kind == MANUAL:
        return Pace()
    rate = _number(kind.removeprefix(RATE_PREFIX)) if kind.startswith(RATE_PREFIX) else math.nan
    if not 0 < rate <= RATE_MAX:
        raise Invalid(
            f"it is real, manual or rate:N with N above 0 and up to {RATE_MAX:g}, not {kind!r}",
            "rate:60 makes a minute pass in a second.",
        )
    return Pace(rate, paused=False)


def _number(text: str) -> float:
    with suppress(ValueError):
        return float(text)
    return math.nan


class ManualClock(RealTime):
    """A clock that stands still until it is turned or let run, and goes on from there after a restart: never back."""

    def __init__(self, tasks: AsyncioTasks, kept_in: Path, kind: str = MANUAL) -> None:
        self.kind = kind
        self._tasks = tasks
        self._kept_in = kept_in
        self._wall_ms = rounded_up_to_second(self._read_kept_ms() or time.time_ns() // 1_000_000)
        self._kept_ms = self._wall_ms
        self._started_ms = self._wall_ms
        self._boot_id = f"manual-{uuid.uuid4()}"
        self._waiting: list[tuple[int, int]] = []
        self._signals: dict[int, Signal] = {}
        self._order = count()
        self._turning = asyncio.Lock()
        self._pace = self._read_pace() or pace_of(kind) or Pace()
        self._looked_s = time.monotonic()
        self._fraction_ms = 0.0
        self._mapped: mmap.mmap | None = None
        self._changed = asyncio.Event()
        self._changed.set()

    @property
    def pace(self) -> Pace:
        return self._pace

    def now(self) -> Moment:
        self._let_time_pass()
        return Moment(self._wall_ms, self._wall_ms - self._started_ms, self._boot_id)

    def wall_ns(self) -> int:
        self._let_time_pass()
        return self._wall_ms * MS_NS

    async def wait(self, until_ms: int | None, signal: Signal) -> None:
        if until_ms is None:
            await signal.rung(None)
        elif until_ms > self._wall_ms:
            number = next(self._order)
            self._signals[number] = signal
            heapq.heappush(self._waiting, (until_ms, number))
            if self._waiting[0][1] == number:
                self._changed.set()
            try:
                await signal.rung(None)
            finally:
                self._signals.pop(number, None)

    def next_due_ms(self) -> int | None:
        while self._waiting and self._waiting[0][1] not in self._signals:
            heapq.heappop(self._waiting)
        return self._waiting[0][0] if self._waiting else None

    # -- Turned by hand

    async def advance_by(self, span_ms: int) -> None:
        self._let_time_pass()
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

    # -- Running by itself

    def set_pace(self, pace: Pace) -> None:
        """Kept for the next start, as long as that names the same clock."""
        self._let_time_pass()
        self._pace = pace
        self._move_to(self._wall_ms)
        written(self._pace_file(), f"{self.kind} {pace.rate!r} {'paused' if pace.paused else 'running'}\n")
        self._changed.set()

    async def run(self) -> None:
        """Do what falls due while the clock runs, each at its time. Beside the tasks it waits for, not among them."""
        while True:
            with suppress(TimeoutError):
                # Not wait_for: before Python 3.12 it may lose a cancellation, and the server would not stop.
                async with asyncio.timeout(self._rest_s()):
                    await self._changed.wait()
            self._changed.clear()
            await self._tasks.settled()
            self._let_time_pass()
            async with self._turning:
                if not self._pace.paused:
                    await self._advance_to(self._wall_ms)

    def stop(self) -> None:
        """At the end of the server: stand, and keep the time as it is shown."""
        self._let_time_pass()
        self._pace = Pace(self._pace.rate, paused=True)
        self._move_to(self._wall_ms)
        if self._mapped is not None:
            self._mapped.flush()
            self._mapped.close()
            self._mapped = None

    def _rest_s(self) -> float | None:
        if self._pace.paused:
            return None
        self._let_time_pass()
        due_ms = self.next_due_ms()
        left_s = math.inf if due_ms is None else (due_ms - self._wall_ms) / SECOND_MS / self._pace.rate
        return min(max(left_s, 0.0), LOOK_AGAIN_S)

    def _let_time_pass(self) -> None:
        """The hand moves when it is looked at: as real time went, and no further than to what is due or kept."""
        looked_s, self._looked_s = self._looked_s, time.monotonic()
        if self._pace.paused or self._turning.locked() or not self._tasks.is_settled:
            return
        passed_ms = (self._looked_s - looked_s) * self._pace.rate * SECOND_MS + self._fraction_ms
        self._fraction_ms = passed_ms % 1
        due_ms = self.next_due_ms()
        furthest_ms = self._kept_ms if due_ms is None else min(self._kept_ms, due_ms)
        self._wall_ms = max(self._wall_ms, min(self._wall_ms + int(passed_ms), furthest_ms))

    # -- Either way

    async def _advance_to(self, until_ms: int) -> None:
        """From due time to due time; at each, everything that follows happens before the clock moves on."""
        await self._tasks.settled()
        while (due_ms := self.next_due_ms()) is not None and due_ms <= until_ms:
            self._move_to(due_ms)
            self._ring_due()
            await self._tasks.settled()
        self._move_to(until_ms)

    def _move_to(self, wall_ms: int) -> None:
        """Kept before anything happens at that time. Time spent on what was due is not made up for."""
        self._wall_ms = max(self._wall_ms, wall_ms)
        kept_ms = min(self._wall_ms + self._ahead_ms(), max(LATEST_MS, self._wall_ms))
        if kept_ms != self._kept_ms or self._mapped is None:
            self._keep(kept_ms)
        self._looked_s = time.monotonic()

    def _ahead_ms(self) -> int:
        """A crash while it runs may cost this much, but passes nothing that was due."""
        if self._pace.paused:
            return 0
        ahead_ms = max(SECOND_MS, round(KEPT_AHEAD_S * SECOND_MS * self._pace.rate))
        due_ms = self.next_due_ms()
        return ahead_ms if due_ms is None else min(ahead_ms, max(due_ms - self._wall_ms, 0))

    def _ring_due(self) -> None:
        while (due_ms := self.next_due_ms()) is not None and due_ms <= self._wall_ms:
            self._signals.pop(heapq.heappop(self._waiting)[1]).ring()

    def _keep(self, at_ms: int) -> None:
        """In the kernel's hands before anything happens at that time, so that a crash of ours does not turn it back.

        Into mapped memory, because a write waits for whatever the disk is being asked to flush: that of each commit.
        """
        text = b"%0*d\n" % (KEPT_DIGITS, at_ms)
        if self._mapped is None:
            opened = os.open(self._kept_in, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                os.pwrite(opened, text, 0)
                os.ftruncate(opened, len(text))
                self._mapped = mmap.mmap(opened, len(text))
            finally:
                os.close(opened)
        self._mapped[:] = text
        self._kept_ms = at_ms

    def _read_kept_ms(self) -> int | None:
        """None when it was never kept. One that cannot be read is no reason to begin anew: that would go back."""
        kept = text_in(self._kept_in)
        is_number = kept.isascii() and kept.isdecimal() and len(kept) <= KEPT_DIGITS
        if kept and not (is_number and int(kept) <= LATEST_MS):
            raise NotAllowed(
                f"The time in {self._kept_in} cannot be read, so the clock does not know where it stood.",
                "Remove the file, and the clock begins with the real time; or use another state directory.",
                {"file": str(self._kept_in)},
            )
        return int(kept) if kept else None

    def _read_pace(self) -> Pace | None:
        """What it was told to do before the restart, unless `serve` now says something else."""
        match text_in(self._pace_file()).split():
            case [self.kind, rate, "paused" | "running" as state] if 0 < _number(rate) <= RATE_MAX:
                return Pace(_number(rate), paused=state == "paused")
        return None

    def _pace_file(self) -> Path:
        return self._kept_in.with_suffix(".pace")


def thread_busy_s() -> float:
    """How long this thread has been at work: not while others had the processor."""
    return time.thread_time()


def text_in(file: Path) -> str:
    """Empty when there is none."""
    try:
        return file.read_text(errors="replace").strip()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise NotAllowed(f"Cannot read {file}: {error.strerror}.", facts={"file": str(file)}) from None


def written(file: Path, text: str) -> None:
    fresh = file.with_name(f"{file.name}.new")
    fresh.write_text(text)
    fresh.replace(file)
