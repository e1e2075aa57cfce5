"""A thread that does one thing after the other for a loop, and tells it what each came to.

Rule 1: what has begun is done to its end, also when nobody waits for it any more; what has not is then left out.
Rule 2: it lives until it is told to end, or its process does.
Why not an executor: its futures cost twice what a commit's own Python does, and there are thousands in a second.
Called by: connection.py.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")

Errand = tuple[Callable[[], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


class ErrandThread:
    def __init__(self, name: str) -> None:
        self._errands: SimpleQueue[Errand | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    async def run(self, work: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        told: asyncio.Future[T] = loop.create_future()
        self._errands.put((work, loop, told))
        return await told

    def end(self) -> None:
        """When what it was given is done."""
        self._errands.put(None)

    def end_idle(self) -> None:
        """For whoever knows that it has nothing to do: it is gone when this returns, within microseconds."""
        self.end()
        self._thread.join()

    def _run(self) -> None:
        while errand := self._errands.get():
            work, loop, told = errand
            if told.cancelled():
                continue
            try:
                tell, outcome = told.set_result, work()
            except BaseException as error:  # noqa: BLE001  whatever it is, it is for whoever waits
                tell, outcome = told.set_exception, error
            # A loop that is closed waits for nothing.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(unless_done, told, tell, outcome)
            del errand, work, loop, told, tell, outcome


def unless_done(told: "asyncio.Future[Any]", tell: Callable[[Any], None], outcome: object) -> None:
    if not told.done():
        tell(outcome)
