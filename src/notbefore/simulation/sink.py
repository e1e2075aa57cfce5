"""Where retired history goes in a simulated run: it takes its time, and is away when its machine is in that trouble.

Implements: ports.HistorySink. One per process, all of one archive.
"""

from collections.abc import Callable, Sequence
from random import Random

from notbefore.core.errors import SinkUnavailable
from notbefore.ports import StoredRecord
from notbefore.simulation.scheduler import MS_US, Scheduler
from notbefore.simulation.steps import HistoryKept, Step
from notbefore.simulation.trouble import Trouble

WRITES_US = (1 * MS_US, 200 * MS_US)


class SimSink:
    def __init__(
        self,
        process: str,
        scheduler: Scheduler,
        chance: Random,
        suffers: Callable[[Trouble], bool],
        tell: Callable[[Step], None],
    ) -> None:
        self._process = process
        self._scheduler = scheduler
        self._chance = chance
        self._suffers = suffers
        self._tell = tell

    async def keep(self, records: Sequence[StoredRecord]) -> None:
        await self._scheduler.sleep(self._chance.randrange(*WRITES_US))
        if self._suffers(Trouble.SINK_AWAY):
            raise SinkUnavailable("The sink's disk is full.", "Make room.")
        self._tell(HistoryKept(self._scheduler.now_us, self._process, tuple(records)))
