"""The simulated executor: an impact takes its time on the domain's clock, is checked, and fails at a set rate.

Rule 1: it touches nothing, so carrying an attempt out twice is harmless.
Rule 2: an impact that a crash cut short goes on from when it began, not from the restart.
Rule 3: a redeployed VM ends up on another host, when there is one (`moves_vms_by` says which).
Rule 4: an impact is over when its checks are: the platform sees to it that all is well before it says so [real].
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from notbefore.core.expected import Expected
from notbefore.core.kinds import EventType
from notbefore.core.model import Vm
from notbefore.core.times import SECOND_MS
from notbefore.ports import Clock, Evidence, Impact, ImpactFailure, Tasks

DEFAULT_DURATION_S: Mapping[EventType, float] = {
    EventType.FREEZE: 10,
    EventType.REBOOT: 30,
    EventType.REDEPLOY: 60,
    EventType.PREEMPT: 30,
    EventType.TERMINATE: 30,
}


@dataclass(frozen=True, slots=True)
class Simulation:
    """Per type: how long it takes when the event does not say, how often it fails (0 to 1), how long checks take."""

    duration_s: Mapping[EventType, float] = field(default_factory=dict)
    failure_rate: Mapping[EventType, float] = field(default_factory=dict)
    checks_s: Mapping[EventType, float] = field(default_factory=dict)

    def seconds_of(self, impact: Impact) -> float:
        if impact.duration_s >= 0:
            return impact.duration_s
        return self.duration_s.get(impact.type, DEFAULT_DURATION_S[impact.type])


async def stays_where_it_is(_vm: Vm) -> str | None:
    return None


class SimulatedExecutor:
    name = "simulate"

    def __init__(self, simulation: Simulation, clock: Clock, tasks: Tasks, chance: Random) -> None:
        self._simulation = simulation
        self._clock = clock
        self._tasks = tasks
        self._chance = chance
        self._another_host: Callable[[Vm], Awaitable[str | None]] = stays_where_it_is

    def reconfigure(self, simulation: Simulation) -> None:
        """For impacts that begin from now on."""
        self._simulation = simulation

    def expected(self) -> Expected:
        """How long events are Started."""
        return Expected({**DEFAULT_DURATION_S, **self._simulation.duration_s}, self._simulation.checks_s)

    def moves_vms_by(self, another_host: Callable[[Vm], Awaitable[str | None]]) -> None:
        """Who knows to which host a VM would be moved."""
        self._another_host = another_host

    async def carry_out(self, impact: Impact) -> Evidence:
        simulation = self._simulation
        seconds = simulation.seconds_of(impact)
        checks_s = simulation.checks_s.get(impact.type, 0)
        await self._wait_until(impact.since_ms + round(seconds * SECOND_MS))
        if self._chance.random() < simulation.failure_rate.get(impact.type, 0.0):
            raise ImpactFailure(f"simulated failure of the {impact.type}")
        await self._wait_until(impact.since_ms + round((seconds + checks_s) * SECOND_MS))
        new_host = await self._another_host(impact.vm) if impact.type is EventType.REDEPLOY else None
        checked = f", its checks {checks_s:g} s" if checks_s else ""
        return Evidence(f"simulated {impact.type} took {seconds:g} s{checked}", new_host)

    async def _wait_until(self, at_ms: int) -> None:
        bell = self._tasks.signal()
        while self._clock.now().wall_ms < at_ms:
            await self._clock.wait(at_ms, bell)
