"""A bell that the server rings at every change, for threads and for event loops that wait to look again.

Rule 1: who looks remembers the count from before its look, so nothing that happens meanwhile is missed.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress


class Bell:
    def __init__(self) -> None:
        self._rung = threading.Condition()
        self._wakers: set[Callable[[], None]] = set()
        self.count = 0

    def ring(self) -> None:
        with self._rung:
            self.count += 1
            self._rung.notify_all()
            for wake in self._wakers:
                wake()

    def wait(self, seen: int, timeout_s: float) -> None:
        """Until it has rung since the count was `seen`, or the time is up."""
        with self._rung:
            self._rung.wait_for(lambda: self.count != seen, timeout_s)

    async def wait_async(self, seen: int, timeout_s: float) -> None:
        """The same, for a task of any loop."""
        loop, rung = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(rung.set)

        with self._rung:
            if self.count != seen:
                return
            self._wakers.add(wake)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await rung.wait()
        finally:
            with self._rung:
                self._wakers.discard(wake)
