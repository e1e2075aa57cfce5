"""True time and who runs next: coroutines on one heap of alarms, with no asyncio under them.

Rule 1: whatever is ready at one instant runs in an order drawn from the seed, so that every interleaving comes up.
Rule 2: a task belongs to a process; a process that is killed never runs again, one that is stalled runs later.
Rule 3: a task that dies of an error is kept in `broken`; the run ends with it, as a server would.
Awaited here: `Wake` only. Every port that waits is made of it.
"""

import heapq
from collections.abc import Callable, Coroutine, Generator
from itertools import count
from random import Random
from typing import Any

SECOND_US = 1_000_000
MS_US = 1000


class Process:
    """What lives and dies together: a server process, or the world around it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.alive = True
        self.stalled_until_us = 0
        # In order of their start; a dict because a set has no order that two runs share.
        self.tasks: dict[Task, None] = {}


class Wake:
    """Something that happens once, waited for by one task."""

    __slots__ = ("_scheduler", "_task", "happened")

    def __init__(self, scheduler: "Scheduler") -> None:
        self._scheduler = scheduler
        self._task: Task | None = None
        self.happened = False

    def set(self) -> None:
        if not self.happened:
            self.happened = True
            if self._task is not None:
                self._scheduler.make_ready(self._task)

    def __await__(self) -> Generator["Wake", None, None]:
        if not self.happened:
            yield self

    def wakes(self, task: "Task") -> None:
        self._task = task


class Task:
    __slots__ = ("name", "process", "work")

    def __init__(self, name: str, process: Process, work: Coroutine[Any, Any, None]) -> None:
        self.name = name
        self.process = process
        self.work = work


class Alarm:
    """A call at a time to come; cancelled it stays on the heap and does nothing."""

    __slots__ = ("call",)

    def __init__(self, call: Callable[[], None]) -> None:
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        self.call = None


class Scheduler:
    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._heap: list[tuple[int, float, int, Alarm | Task]] = []
        self._order = count()
        self.now_us = 0
        self.broken: BaseException | None = None
        self.broken_in: Process | None = None

    def at(self, when_us: int, call: Callable[[], None]) -> Alarm:
        alarm = Alarm(call)
        self._push(when_us, alarm)
        return alarm

    def after(self, delay_us: int, call: Callable[[], None]) -> Alarm:
        return self.at(self.now_us + delay_us, call)

    async def sleep(self, delay_us: int) -> None:
        wake = Wake(self)
        self.at(self.now_us + delay_us, wake.set)
        await wake

    def spawn(self, process: Process, name: str, work: Coroutine[Any, Any, None]) -> None:
        if not process.alive:
            work.close()
            return
        task = Task(name, process, work)
        process.tasks[task] = None
        self.make_ready(task)

    def make_ready(self, task: Task) -> None:
        if task.process.alive:
            self._push(self.now_us, task)

    def kill(self, process: Process) -> None:
        """As kill -9: what it had not handed to the world is lost. Never called from one of its own tasks."""
        process.alive = False
        tasks = list(process.tasks)
        process.tasks.clear()
        for task in tasks:
            task.work.close()

    def run_until(self, when_us: int) -> None:
        heap = self._heap
        while heap and heap[0][0] <= when_us and self.broken is None:
            at_us, _, _, due = heapq.heappop(heap)
            self.now_us = at_us
            if isinstance(due, Task):
                self._go_on(due)
            elif due.call is not None:
                due.call()
        if self.broken is not None:
            raise self.broken
        self.now_us = max(self.now_us, when_us)

    def _go_on(self, task: Task) -> None:
        process = task.process
        if not process.alive:
            return
        if process.stalled_until_us > self.now_us:
            self._push(process.stalled_until_us, task)
            return
        try:
            awaited = task.work.send(None)
        except StopIteration:
            process.tasks.pop(task, None)
        except BaseException as error:  # noqa: BLE001  whatever it is, the run ends with it
            process.tasks.pop(task, None)
            self.broken = self.broken or error
            self.broken_in = self.broken_in or process
        else:
            awaited.wakes(task)

    def _push(self, when_us: int, due: Alarm | Task) -> None:
        heapq.heappush(self._heap, (when_us, self._chance.random(), next(self._order), due))
