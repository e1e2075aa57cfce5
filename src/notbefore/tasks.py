"""One tree of asyncio tasks, and whether any of them has something to do.

Rule 1: a task is busy unless it waits for a signal; ringing makes its waiter busy at once, before it runs.
So `settled()` means: whatever the last ring or turn set off has been done to the end.
Rule 2: whoever holds a lock of the tree is busy as well, also when it is no task of it: a turn that a request takes.
Rule 3: a task that dies of an error is reported through `failure`: the server stops rather than limp.
Implements: ports.Tasks and ports.Signal. Used by: wiring.py, clock.py.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any


def to_nobody() -> None:
    """Where nobody else shares the loop."""


class AsyncioTasks:
    def __init__(self, give_way: Callable[[], None] = to_nobody) -> None:
        self.give_way = give_way
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[None]] = set()
        self._busy = 0
        self._settled = asyncio.Event()
        self._settled.set()

    def spawn(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        self.became_busy()
        task = self._started(name, work)
        task.add_done_callback(lambda _: self.became_idle())

    def spawn_aside(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        self._started(name, work)

    def signal(self) -> "Bell":
        return Bell(self)

    def signal_aside(self) -> "BellAside":
        return BellAside()

    def lock(self) -> AbstractAsyncContextManager[None]:
        return BusyLock(self)

    @property
    def is_settled(self) -> bool:
        return self._busy == 0

    async def settled(self) -> None:
        await self._settled.wait()

    async def cancel_all(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.failure.cancel()

    def became_busy(self) -> None:
        self._busy += 1
        self._settled.clear()

    def became_idle(self) -> None:
        self._busy -= 1
        if self._busy == 0:
            self._settled.set()

    def _started(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) and not self.failure.done():
            self.failure.set_exception(error)


class BusyLock:
    """A lock that whoever holds it is busy with."""

    def __init__(self, tasks: AsyncioTasks) -> None:
        self._tasks = tasks
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> None:
        await self._lock.acquire()
        self._tasks.became_busy()

    async def __aexit__(self, *_: object) -> None:
        self._lock.release()
        self._tasks.became_idle()


class Bell:
    """A signal with one waiter, who is idle exactly while nobody rings."""

    def __init__(self, tasks: AsyncioTasks) -> None:
        self._tasks = tasks
        self._rung = False
        self._waiter: asyncio.Future[None] | None = None

    def ring(self) -> None:
        self._rung = True
        self._wake()

    async def rung(self, timeout_s: float | None) -> None:
        if not self._rung:
            await self._wait(timeout_s)
        self._rung = False

    async def _wait(self, timeout_s: float | None) -> None:
        loop = asyncio.get_running_loop()
        waiter = self._waiter = loop.create_future()
        alarm = loop.call_later(timeout_s, self._wake) if timeout_s is not None else None
        self._tasks.became_idle()
        try:
            await waiter
        finally:
            if alarm:
                alarm.cancel()
            self._wake()
            self._waiter = None

    def _wake(self) -> None:
        """Also on the way out of a cancelled wait, so that idle and busy stay in balance."""
        if self._waiter and (not self._waiter.done() or self._waiter.cancelled()):
            self._tasks.became_busy()
            if not self._waiter.done():
                self._waiter.set_result(None)
            else:
                self._waiter = None


class BellAside:
    """A signal whose waiter is neither busy nor idle: housekeeping."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def rung(self, timeout_s: float | None) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._rung.wait()
        self._rung.clear()
