"""A machine's clock: a wall hand that drifts and is stepped, and a boot hand that only drifts.

Rule 1: both hands are functions of true time; nothing here ticks.
Rule 2: a sleeper wakes when the wall shows its time; after a step every sleeper looks again within a second, as the
system clock does (clock.py).
Implements: ports.Clock. One per machine; it outlives processes, and a reboot sets its boot hand to zero.
"""

from random import Random

from notbefore.core.times import MS_NS, Moment
from notbefore.ports import Signal
from notbefore.simulation.scheduler import MS_US, SECOND_US, Scheduler
from notbefore.simulation.sim_tasks import SimSignal

# 2026-03-01T00:00:00Z: an ordinary day to begin at.
BEGIN_WALL_MS = 1_772_323_200_000
LOOK_AGAIN_US = SECOND_US
MILLION = 1_000_000


class MachineClock:
    def __init__(self, machine: str, scheduler: Scheduler, chance: Random, drift_ppm: int) -> None:
        self._machine = machine
        self._scheduler = scheduler
        self._chance = chance
        self._drift_ppm = drift_ppm
        self._wall_offset_us = chance.randrange(-20 * MS_US, 20 * MS_US)
        self._boots = 0
        self._booted_us = 0
        self._waiting: dict[SimSignal, None] = {}

    @property
    def boot_id(self) -> str:
        return f"boot-{self._machine}-{self._boots}"

    def now(self) -> Moment:
        return Moment(self.wall_ms(), self._drifted(self._scheduler.now_us - self._booted_us) // MS_US, self.boot_id)

    def wall_ns(self) -> int:
        return self.wall_ms() * MS_NS

    def wall_ms(self) -> int:
        return BEGIN_WALL_MS + (self._drifted(self._scheduler.now_us) + self._wall_offset_us) // MS_US

    async def wait(self, until_ms: int | None, signal: Signal) -> None:
        assert isinstance(signal, SimSignal)
        self._waiting[signal] = None
        try:
            if until_ms is None:
                await signal.rung(None)
            else:
                await signal.rung(self._true_us_until(until_ms) / SECOND_US)
        finally:
            self._waiting.pop(signal, None)

    def steady_s(self) -> float:
        return self._drifted(self._scheduler.now_us) / SECOND_US

    def real_s(self) -> float:
        return self.wall_ms() / 1000

    async def rest(self, seconds: float) -> None:
        await self._scheduler.sleep(round(seconds * SECOND_US))

    async def rest_until(self, seconds: float | None, signal: Signal) -> None:
        await signal.rung(seconds)

    def step(self, by_ms: int) -> None:
        self._wall_offset_us += by_ms * MS_US
        for sleeper in self._waiting:
            self._scheduler.after(self._chance.randrange(LOOK_AGAIN_US), sleeper.nudge)

    def boot_again(self) -> None:
        self._boots += 1
        self._booted_us = self._scheduler.now_us
        self._waiting.clear()

    def _drifted(self, true_us: int) -> int:
        return true_us + true_us * self._drift_ppm // MILLION

    def _true_us_until(self, wall_ms: int) -> int:
        left_us = (wall_ms - BEGIN_WALL_MS) * MS_US - self._drifted(self._scheduler.now_us) - self._wall_offset_us
        # A little late rather than early, so that a sleeper does not wake to find that it is not time yet.
        return max(0, left_us + left_us * -self._drift_ppm // MILLION + MS_US)
