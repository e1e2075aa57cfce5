"""An executor with a watch beside it.

Rule 1: an attempt is timed by the hand of the domain's clock that nobody steps, so impacts on a
manual clock have their length too.
Rule 2: an attempt that ends because the server stops is not counted: somebody will take it over.
"""

from notbefore.control.metrics.meters import Meters
from notbefore.core.times import SECOND_MS
from notbefore.ports import Clock, Evidence, Executor, Impact


class MeasuredExecutor:
    def __init__(self, executor: Executor, clock: Clock, meters: Meters) -> None:
        self._executor = executor
        self._clock = clock
        self._meters = meters

    @property
    def name(self) -> str:
        return self._executor.name

    async def carry_out(self, impact: Impact) -> Evidence:
        if impact.earlier_attempts:
            self._meters.retries.labels(impact.type).inc()
        began_ms = self._clock.now().boot_ms
        try:
            evidence = await self._executor.carry_out(impact)
        except Exception:
            self._count(impact, "failed", began_ms)
            raise
        self._count(impact, "done", began_ms)
        return evidence

    def _count(self, impact: Impact, outcome: str, began_ms: int) -> None:
        seconds = (self._clock.now().boot_ms - began_ms) / SECOND_MS
        self._meters.impacts.labels(impact.type, outcome).observe(seconds)
