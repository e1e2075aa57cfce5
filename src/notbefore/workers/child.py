"""A worker: the data plane in a process of its own, started by its parent (process.py).

Rule 1: it reads the store and writes nothing; what changes anything it asks its parent, over the line it was born with.
Rule 2: it listens only when it knows the fleet and has looked once for its parent (crew.py waits for it from then on).
Rule 3: when the line is cut it ends at once, however that came; when it is told to stop it finishes what it began.
"""

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from notbefore import event_loop, garbage, logs
from notbefore.clock import SystemClock, thread_busy_s
from notbefore.metadata.identity import Listener
from notbefore.metadata.listen import metadata_server
from notbefore.metadata.service import MetadataService
from notbefore.runtime.snapshot import Snapshot
from notbefore.sockets import BACKLOG, GRACE_S, serving
from notbefore.stores.sqlite.follower import SqliteFollower
from notbefore.tasks import AsyncioTasks
from notbefore.workers.frames import (
    FROM_PARENT,
    Address,
    Answered,
    Begin,
    Broke,
    Change,
    FromParent,
    Loaded,
    Look,
    Report,
    Seen,
    Serving,
    Stop,
    Taken,
    Tally,
)
from notbefore.workers.line import Line
from notbefore.workers.node import WorkerNode
from notbefore.workers.poked_feed import PokedFeed
from notbefore.workers.post import Post
from notbefore.workers.tally import tally_of
from notbefore.workers.told_clock import ToldClock

REPORT_S = 1.0
# With a clock that may run a thousand times as fast, a second is long.
REPORT_TOLD_S = 0.05
LINE_CUT = 1

log = logging.getLogger("notbefore.workers")


class Child:
    """What the parent tells goes where it belongs; before it has said how to begin there is nothing to tell of."""

    def __init__(self) -> None:
        self.line: Line[FromParent] = Line(FROM_PARENT, self._take, self._end)
        self.begin: asyncio.Future[Begin] = asyncio.get_running_loop().create_future()
        self.stop: asyncio.Future[Stop] = asyncio.get_running_loop().create_future()
        self.post = Post(self.line.send)
        self.looked = asyncio.Event()
        self._reported = Tally()
        self._clock: SystemClock | ToldClock = SystemClock()

    def make(self, begin: Begin, follower: SqliteFollower) -> MetadataService:
        if begin.time:
            self._clock = ToldClock(begin.time)
        self.feed = PokedFeed(follower, self._seen)
        self.node = WorkerNode(Snapshot(self.feed, self._clock), self._clock, self.post)
        self.node.snapshot.on_any_change(self.feed.looked)
        self.service = MetadataService(self.node, begin.settings.options)
        return self.service

    async def report_ever_again(self) -> None:
        rest_s = REPORT_S if isinstance(self._clock, SystemClock) else REPORT_TOLD_S
        while True:
            await self._clock.rest(rest_s)
            self._report()

    def _report(self, *, anyway: bool = False) -> None:
        tally = tally_of(self.service.counts)
        if anyway or self.node.hearing.has_heard or tally != self._reported:
            self._reported = tally
            for heard in self.node.hearing.taken():
                self.line.send(Report(heard, tally))

    def _seen(self, number: int) -> None:
        self.line.send(Seen(number))
        self.looked.set()

    def _take(self, frame: FromParent) -> None:
        match frame:
            case Begin():
                self.begin.set_result(frame)
            case Look():
                self._look(frame)
            case Change():
                take_log(frame.settings)
                self.service.reconfigure(frame.settings.options)
            case Answered() | Broke():
                self.post.answered(frame)
            case Stop():
                self.tell_to_stop(frame)

    def _look(self, frame: Look) -> None:
        if frame.time and isinstance(self._clock, ToldClock):
            self._clock.tell(frame.time)
        if frame.report:
            self._report(anyway=True)
        self.feed.poke(frame.number)

    def tell_to_stop(self, stop: Stop) -> None:
        if not self.stop.done():
            self.stop.set_result(stop)

    def _end(self) -> None:
        """Nobody is there any more to ask, and nothing here is worth keeping."""
        logging.shutdown()
        os._exit(LINE_CUT)


async def work(line: socket.socket) -> None:
    child = Child()
    loop = asyncio.get_running_loop()
    await loop.create_unix_connection(lambda: child.line, sock=line)
    loop.add_signal_handler(signal.SIGTERM, lambda: child.tell_to_stop(Stop(GRACE_S)))
    begin = await child.begin
    take_log(begin.settings)
    async with followed(child, begin) as tasks:
        with garbage.Freezer(thread_busy_s).watching():
            await serve_once_looked(child, begin, tasks)


async def serve_once_looked(child: Child, begin: Begin, tasks: AsyncioTasks) -> None:
    child.line.send(Loaded())
    looked: asyncio.Future[Any] = asyncio.ensure_future(child.looked.wait())
    await asyncio.wait({looked, child.stop, tasks.failure}, return_when=asyncio.FIRST_COMPLETED)
    if looked.done():
        await serve(child, begin, tasks)
    looked.cancel()
    if tasks.failure.done():
        tasks.failure.result()


@asynccontextmanager
async def followed(child: Child, begin: Begin) -> AsyncIterator[AsyncioTasks]:
    """The fleet is known, and kept up with."""
    tasks = AsyncioTasks()
    follower = await SqliteFollower.open(Path(begin.store))
    try:
        child.make(begin, follower)
        with garbage.none_while_loading():
            await child.node.snapshot.load()
        tasks.spawn_aside("watch the store", child.feed.watch())
        tasks.spawn_aside("follow the store", child.node.snapshot.follow())
        tasks.spawn_aside("report", child.report_ever_again())
        yield tasks
    finally:
        await tasks.cancel_all()
        await follower.close()


async def serve(child: Child, begin: Begin, tasks: AsyncioTasks) -> None:
    listeners = [Listener(one.host, one.port, one.vm) for one in begin.addresses]
    server = metadata_server(child.service, listeners)
    async with serving((server, [listening(one) for one in begin.addresses])):
        child.line.send(Serving())
        ends: set[asyncio.Future[Any]] = {child.stop, tasks.failure}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if child.stop.done():
            server.grace_s = child.stop.result().grace_s


def listening(address: Address) -> socket.socket:
    bound = socket.socket(fileno=address.descriptor)
    bound.setblocking(False)
    bound.listen(BACKLOG)
    return bound


def take_log(settings: Taken) -> None:
    logs.configure(settings.log_format, settings.log_level)
    # What the snapshot has to say the parent says as well.
    logging.getLogger("notbefore.snapshot").setLevel(logging.CRITICAL)


def main() -> None:
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    event_loop.run(work(socket.socket(fileno=int(sys.argv[1]))))
    # Without waiting for a thread that reads: nothing here is worth keeping.
    logging.shutdown()
    os._exit(0)


if __name__ == "__main__":
    main()
