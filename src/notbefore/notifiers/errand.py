"""Blocking work for one receiver, done aside: one thread at a time, with a time limit over the whole of it.

Rule 1: what takes too long is broken off, and nothing else is begun for that receiver while it still hangs.
Rule 2: a thread here never keeps the program from ending.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

from notbefore.ports import NotTold

T = TypeVar("T")


class Errands(Generic[T]):
    def __init__(self, name: str, within_s: float, break_off: Callable[[], None]) -> None:
        self._name = name
        self._within_s = within_s
        self._break_off = break_off
        self.is_busy = False

    async def run(self, work: Callable[[], T]) -> T:
        if self.is_busy:
            raise NotTold("the last try still hangs")
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        self.is_busy = True
        threading.Thread(target=self._run, args=(work, loop, done), name=self._name, daemon=True).start()
        try:
            async with asyncio.timeout(self._within_s):
                return await done
        except TimeoutError:
            raise NotTold(f"no answer within {self._within_s:g} s") from None
        finally:
            if done.cancelled():
                self._break_off()

    def _run(self, work: Callable[[], T], loop: asyncio.AbstractEventLoop, done: asyncio.Future[T]) -> None:
        """The thread: free for the next errand before anybody hears of this one's end."""
        end: Callable[[], None]
        try:
            result = work()
        except Exception as error:  # noqa: BLE001  whatever it is, it is the asker's
            failed = error
            end = lambda: done.set_exception(failed)  # noqa: E731  one of two ends
        else:
            end = lambda: done.set_result(result)  # noqa: E731  one of two ends
        self.is_busy = False
        # When the server has stopped meanwhile there is nobody to tell.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: None if done.done() else end())
