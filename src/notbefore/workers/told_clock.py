"""The clock of a worker whose parent's clock is turned by hand, or runs at a rate: what the parent said last.

Real time is real here as well. Only enabling and *asked* look at the domain's time in a worker.
"""

from notbefore.clock import RealTime
from notbefore.core.times import MS_NS, SECOND_MS, Moment
from notbefore.ports import Signal
from notbefore.workers.frames import Time

LOOK_AGAIN_S = 1.0
NO_BOOT = ""


class ToldClock(RealTime):
    def __init__(self, time: Time) -> None:
        self.tell(time)

    def tell(self, time: Time) -> None:
        self._time = time
        self._told_s = self.steady_s()

    def now(self) -> Moment:
        return Moment(self._wall_ms(), 0, NO_BOOT)

    def wall_ns(self) -> int:
        return self._wall_ms() * MS_NS

    def _wall_ms(self) -> int:
        if not self._time.rate:
            return self._time.wall_ms
        return self._time.wall_ms + int((self.steady_s() - self._told_s) * self._time.rate * SECOND_MS)

    async def wait(self, until_ms: int | None, signal: Signal) -> None:  # noqa: ARG002  perhaps earlier, the port says
        await signal.rung(LOOK_AGAIN_S)
