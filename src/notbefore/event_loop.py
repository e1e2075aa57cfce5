"""The loop a server runs on: asyncio's own, whose selector serves the data plane's sockets while it waits.

Rule 1: one epoll set for both. What belongs to the data plane is served where it is found, without a callback, a handle
or a turn of the loop; what belongs to asyncio is handed to it.
Rule 2: asyncio waits for nobody: as soon as it has something to do, a callback, a timer that is due or a file of its
own, it has its turn. A pass is bounded.
Rule 3: who takes long puts it off until everybody of the pass has been served; then it is one after the other, with a
look between two.
Rule 4: who will perhaps be gone in a moment is not watched for as long, only looked at when it is over.
Rule 5: where many come fast and each look finds few, it rests for a moment, so that the next finds more.
Rule 6: a connection that breaks down ends; the others do not.
Why not uvloop: it was faster for what asyncio does, and slower for what we do most (decision 22).
"""

import asyncio
import logging
import math
import os
import selectors
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from select import EPOLLIN, EPOLLOUT, epoll
from time import monotonic, sleep  # noqa: TID251  what asyncio counts its timers in, and how it rests
from typing import Any, Protocol, TypeVar, TypeVarTuple

from notbefore.system_calls import waits_at

FOR_EVER = -1
# How long they wait at most for a part that is short, so that looking costs less than it gives.
WAIT_MAX_S = 0.00003
# Long enough for a client on the same machine to read its answer and close, and what epoll can wait for.
MOMENT_S = 0.001
MOMENTS_MAX = 128
# A rest is worth what it costs only if more have come when it is over: where few are watched, those who would come wait
# for it to end.
REST_S = 0.00005
RESTS_BELOW = 16
RESTS_FROM_PER_S = 40_000
RESTS_AFTER = 8
RESTS_AMONG = 32

Result = TypeVar("Result")
Subject = TypeVar("Subject")
Args = TypeVarTuple("Args")
Found = list[tuple[selectors.SelectorKey, int]]

log = logging.getLogger("notbefore")


class Watched(Protocol):
    """Whose socket is ready."""

    def ready(self, events: int) -> None: ...

    def abort(self) -> None: ...


class LongWork(Protocol):
    """Something that others need not wait for."""

    def go_on(self) -> None: ...

    def abort(self) -> None: ...


class Deaf:
    """Watches for whoever has put something off: what else comes to them is found again."""

    def ready(self, events: int) -> None: ...

    def abort(self) -> None: ...


DEAF = Deaf()


class Lookout(selectors.EpollSelector):
    """A selector with sockets of its own beside those of the loop."""

    def __init__(self, clock: Callable[[], float] = monotonic, rest: Callable[[float], None] = sleep) -> None:
        super().__init__()
        self._clock, self._rest = clock, rest
        # The same set, under a number of our own: each of the two is closed by its owner.
        self._set = epoll.fromfd(os.dup(self.fileno()))
        self._wait = waits_at(self._set)
        self._watched: dict[int, Watched] = {}
        self._put_off: deque[tuple[int, LongWork]] = deque()
        self.moments: deque[tuple[float, Callable[[Any], object], object]] = deque()
        self.soon: Callable[[Callable[[], None]], object]
        """Behind what is being done."""
        self.asked_for_a_turn = False
        self.now_s = clock()
        """When this pass began."""
        # Passes in a row that found few of many.
        self._hectic = 0

    def admit(self, number: int, watched: Watched) -> None:
        self._watched[number] = watched
        self._set.register(number, EPOLLIN)

    def change(self, number: int, events: int) -> None:
        self._set.modify(number, events)

    def hand_on(self, number: int, watched: Watched) -> None:
        """Its file is somebody else's from now on."""
        self._watched[number] = watched

    def put_off(self, number: int, work: LongWork) -> None:
        """`go_on` is called when this pass is over, and hands the file on to whoever hears of it then."""
        self._watched[number] = DEAF
        self._put_off.append((number, work))

    def in_a_moment(self, look: Callable[[Subject], object], at: Subject) -> None:
        """Not when MOMENTS_MAX are waited for: a pass is bounded."""
        self.moments.append((self.now_s + MOMENT_S, look, at))

    def end_moments(self) -> None:
        """Whoever is waited for is looked at now."""
        self._look_until(math.inf)

    def _look_until(self, now_s: float) -> None:
        moments = self.moments
        while moments and moments[0][0] <= now_s:
            _, look, at = moments.popleft()
            try:
                look(at)
            except Exception:
                log.exception("a connection broke down")

    def forget(self, number: int) -> None:
        """Its file is closed next, which takes it out of the set."""
        self._watched.pop(number, None)

    def dismiss(self, number: int) -> None:
        """Its file stays open."""
        if self._watched.pop(number, None):
            self._set.unregister(number)

    def select(self, timeout: float | None = None) -> Found:
        wait_s = FOR_EVER if timeout is None else max(timeout, 0.0)
        ends_s = 0.0 if wait_s <= 0 else self._clock() + wait_s
        self.asked_for_a_turn = False
        put_off = self._put_off
        while True:
            found = self.serve(0.0 if put_off else wait_s)
            if put_off:
                self._catch_up()
            if found or self.asked_for_a_turn or not wait_s:
                self.serve_if_long()
                return found
            if ends_s:
                wait_s = ends_s - self.now_s
                if wait_s <= 0:
                    return found

    def serve(self, wait_s: float = 0.0) -> Found:
        """One pass: who came, or comes until then, is served; what is the loop's is returned, and found again later."""
        found: Found = []
        get, moments = self._watched.get, self.moments
        if moments and not 0 <= wait_s <= MOMENT_S:
            wait_s = MOMENT_S
        if self._hectic >= RESTS_AFTER and wait_s and not moments and len(self._watched) > RESTS_AMONG:
            self._rest(REST_S)
        ready = self._wait(wait_s)
        before_s, now_s = self.now_s, self._clock()
        self.now_s = now_s
        # Each by itself may be chance; so many in a row are not.
        found_few = not moments and 0 < len(ready) < RESTS_BELOW and len(ready) > (now_s - before_s) * RESTS_FROM_PER_S
        self._hectic = self._hectic + 1 if found_few else 0
        for number, events in ready:
            watched = get(number)
            if watched is None:
                self._is_the_loops(number, events, found)
                continue
            try:
                watched.ready(events)
            except Exception:
                log.exception("a connection broke down")
                watched.abort()
        if moments and moments[0][0] <= now_s:
            self._look_until(now_s)
        return found

    def serve_if_long(self) -> None:
        """Between two parts of something long. What is the loop's is found again."""
        if self._clock() - self.now_s > WAIT_MAX_S:
            self.serve()

    def _catch_up(self) -> None:
        """What was put off until now; what comes up meanwhile is for the next time."""
        for _ in range(len(self._put_off)):
            number, work = self._put_off.popleft()
            try:
                work.go_on()
            except Exception:
                log.exception("a connection broke down")
                work.abort()
                self._watched.get(number, DEAF).abort()  # to whom it was handed on
            self.serve_if_long()

    def _is_the_loops(self, number: int, events: int, found: Found) -> None:
        """An error is for whoever reads or writes: they will meet it."""
        key = self.get_map().get(number)
        if key is not None:
            reads = selectors.EVENT_READ if events & ~EPOLLOUT else 0
            writes = selectors.EVENT_WRITE if events & ~EPOLLIN else 0
            found.append((key, (reads | writes) & key.events))

    def close(self) -> None:
        self._set.close()
        super().close()


class ServingLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.lookout = Lookout()
        super().__init__(self.lookout)
        self.lookout.soon = self.call_soon

    def call_soon(
        self, callback: Callable[[*Args], object], *args: *Args, context: Context | None = None
    ) -> asyncio.Handle:
        self.lookout.asked_for_a_turn = True
        return super().call_soon(callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[*Args], object], *args: *Args, context: Context | None = None
    ) -> asyncio.TimerHandle:
        self.lookout.asked_for_a_turn = True
        return super().call_at(when, callback, *args, context=context)


def give_way() -> None:
    """For whoever has much to do at once, between two parts of it: those who only ask are answered first."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, ServingLoop):
        loop.lookout.serve_if_long()


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """As `asyncio.run`, on a loop that can serve."""
    with asyncio.Runner(loop_factory=ServingLoop) as runner:
        return runner.run(work)
