"""Which changes every worker has taken in, so that an answer never runs ahead of them.

Rule 1: a change is a step, and a step is told to every worker. Those that come while one looks are one look more.
Rule 2: whoever answers a command waits until everybody has seen the last step. One that has not within a second is
late: counted, and not waited for until it has seen what it is late for.
Rule 3: a number here orders looks, not commits: who begins to read after it was told sees what was committed before.
Called by: crew.py, worker.py, errands.py, and by the control API through `Workers`.
"""

import asyncio
from collections import deque
from typing import Protocol

# A busy machine may take a while to let a process run; a hung worker costs an answer this much, once.
WAIT_MAX_S = 1.0


class Follower(Protocol):
    seen: int
    late_for: int
    """The step that is no longer waited for, or one that it has seen: then it is not late."""

    def look(self, number: int) -> None:
        """Have it look, now or when it is done with the look before."""
        ...


class Steps:
    def __init__(self, wait_max_s: float = WAIT_MAX_S) -> None:
        self.wait_max_s = wait_max_s
        self.number = 1
        self.late = 0
        self._followers: dict[Follower, None] = {}
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._tells_soon = False

    def take_step(self, *_: object) -> None:
        """Something changed. Told when everything that is being done now is done: several changes are one look."""
        self.number += 1
        if self._followers and not self._tells_soon:
            self._tells_soon = True
            asyncio.get_running_loop().call_soon(self._tell)

    def join(self, follower: Follower) -> None:
        self._followers[follower] = None
        follower.look(self.number)

    def leave(self, follower: Follower) -> None:
        self._followers.pop(follower, None)
        self._release()

    def saw(self, follower: Follower, number: int) -> None:
        follower.seen = number
        self._release()

    async def everybody(self) -> None:
        """When all have seen what is now."""
        wanted = self.number
        if self._reached() >= wanted:
            return
        reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((wanted, reached))
        try:
            async with asyncio.timeout(self.wait_max_s):
                await reached
        except TimeoutError:
            self._give_up(wanted)

    def _tell(self) -> None:
        self._tells_soon = False
        for follower in list(self._followers):
            follower.look(self.number)

    def _reached(self) -> int:
        return min((one.seen for one in self._followers if not is_late(one)), default=self.number)

    def _release(self) -> None:
        reached = self._reached()
        while self._waiting and self._waiting[0][0] <= reached:
            waiter = self._waiting.popleft()[1]
            if not waiter.done():
                waiter.set_result(None)

    def _give_up(self, wanted: int) -> None:
        for follower in self._followers:
            if follower.seen < wanted and not is_late(follower):
                follower.late_for = self.number
                self.late += 1
        self._release()


def is_late(follower: Follower) -> bool:
    return follower.seen < follower.late_for
