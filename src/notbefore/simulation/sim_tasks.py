"""The ports by which a process does things side by side, on the simulated scheduler.

Implements: ports.Tasks, ports.Signal, and the lock that Tasks hands out.
"""

from collections import deque
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any

from notbefore.simulation.scheduler import SECOND_US, Process, Scheduler, Wake


class SimTasks:
    def __init__(self, scheduler: Scheduler, process: Process) -> None:
        self._scheduler = scheduler
        self._process = process

    def spawn(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        self._scheduler.spawn(self._process, name, work)

    def spawn_aside(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        self._scheduler.spawn(self._process, name, work)

    def signal(self) -> "SimSignal":
        return SimSignal(self._scheduler)

    def signal_aside(self) -> "SimSignal":
        return SimSignal(self._scheduler)

    def lock(self) -> AbstractAsyncContextManager[None]:
        return SimLock(self._scheduler)

    def give_way(self) -> None:
        """Others have their turn when somebody waits, and not before."""


class SimSignal:
    """A bell with one waiter. `nudge` wakes the waiter without a ring, as a clock that looks again does."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._rung = False
        self._waiter: Wake | None = None

    def ring(self) -> None:
        self._rung = True
        self.nudge()

    def nudge(self) -> None:
        if self._waiter is not None:
            self._waiter.set()

    async def rung(self, timeout_s: float | None) -> None:
        if not self._rung:
            waiter = self._waiter = Wake(self._scheduler)
            alarm = None
            if timeout_s is not None:
                alarm = self._scheduler.after(round(timeout_s * SECOND_US), waiter.set)
            try:
                await waiter
            finally:
                self._waiter = None
                if alarm is not None:
                    alarm.cancel()
        self._rung = False


class SimLock(AbstractAsyncContextManager[None]):
    """Held by one task at a time, given on in the order of asking."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._held = False
        self._waiting: deque[Wake] = deque()

    async def __aenter__(self) -> None:
        if self._held:
            turn = Wake(self._scheduler)
            self._waiting.append(turn)
            await turn
        self._held = True

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._waiting:
            self._waiting.popleft().set()
        else:
            self._held = False
