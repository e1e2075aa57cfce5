"""What really happens to VMs: impacts that take their time, fail, break down, lie, or are reported twice.

Rule 1: it answers every attempt, with evidence or a failure, within half an hour.
Rule 2: an impact that has begun goes on without its process; only its answer is lost.
Implements: ports.Executor, one `Hands` per process.
"""

from collections.abc import Callable
from random import Random

from notbefore.core.kinds import EventType
from notbefore.ports import Evidence, Impact, ImpactFailure
from notbefore.simulation.scheduler import SECOND_US, Scheduler
from notbefore.simulation.steps import ImpactBegan, ImpactOver, Step
from notbefore.simulation.trouble import Trouble

QUICK_S = (1, 90)
SLOW_S = (120, 1800)
HOSTS = ("h1", "h2", "h3")

Repeat = Callable[[Impact, Evidence | None], None]


class Hands:
    """One process's hold on the hypervisor."""

    name = "hypervisor"

    def __init__(
        self,
        process: str,
        scheduler: Scheduler,
        chance: Random,
        suffers: Callable[[Trouble], bool],
        tell: Callable[[Step], None],
        repeat: Repeat,
    ) -> None:
        self._process = process
        self._scheduler = scheduler
        self._chance = chance
        self._suffers = suffers
        self._tell = tell
        self._repeat = repeat

    async def carry_out(self, impact: Impact) -> Evidence:
        self._tell(ImpactBegan(self._scheduler.now_us, self._process, impact))
        slow = self._strikes(Trouble.SLOW_EXECUTOR)
        await self._scheduler.sleep(self._chance.randrange(*(SLOW_S if slow else QUICK_S)) * SECOND_US)
        if self._strikes(Trouble.BREAKING_EXECUTOR):
            self._answer(impact, None, "the executor broke down: ConnectionResetError")
            raise ConnectionResetError
        if self._strikes(Trouble.FAILING_EXECUTOR) or self._strikes(Trouble.LYING_EXECUTOR):
            self._answer(impact, None, "no such luck")
            raise ImpactFailure("no such luck")
        new_host = self._chance.choice(HOSTS) if impact.type is EventType.REDEPLOY else None
        evidence = Evidence(f"{impact.type} seen, attempt {impact.attempt_id}", new_host)
        self._answer(impact, evidence)
        return evidence

    def _answer(self, impact: Impact, evidence: Evidence | None, failure: str = "") -> None:
        self._tell(ImpactOver(self._scheduler.now_us, self._process, impact, evidence, failure))
        if self._strikes(Trouble.ANSWERING_TWICE):
            self._repeat(impact, evidence)

    def _strikes(self, trouble: Trouble) -> bool:
        return self._suffers(trouble) and self._chance.random() < 0.8
