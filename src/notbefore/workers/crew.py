"""All workers of a server: started, told, replaced when they end, and stopped with it.

Rule 1: a worker that ended is replaced at once; one that ends again and again within seconds, after a growing pause.
Rule 2: one that owes a word for too long hangs, and is ended.
Rule 3: they are told to stop while the parent still does what they ask; who is then still there is ended.
Made by: wiring.py. The control API keeps in step through `heard` and `in_step`.
"""

import asyncio
import logging
import socket
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing

from notbefore.clock import ManualClock
from notbefore.core.errors import NotAllowed
from notbefore.runtime.node import Node
from notbefore.tasks import AsyncioTasks
from notbefore.workers import process
from notbefore.workers.errands import Errands
from notbefore.workers.frames import Address, Begin, Change, Report, Stop, Taken, Time
from notbefore.workers.places import Place
from notbefore.workers.steps import Steps
from notbefore.workers.tally import Tallies
from notbefore.workers.worker import Worker

BEAT_S = 1.0
HANGS_AFTER_S = 10.0
START_MAX_S = 300.0
STEADY_AFTER_S = 5.0
FIRST_PAUSE_S = 0.1
PAUSE_MAX_S = 5.0
START_TRIES = 3
# On top of the grace: to leave, once everybody is answered.
LEAVE_WITHIN_S = 3.0

log = logging.getLogger("notbefore.workers")


class Crew:
    def __init__(
        self,
        count: int,
        places: Sequence[Place],
        store: str,
        settings: Taken,
        node: Node,
        clock: ManualClock | None,
        program: Sequence[str] = process.PROGRAM,
    ) -> None:
        """`clock`: the one that is turned, if it is not the real one. `program`: what a worker is."""
        self.steps = Steps()
        node.snapshot.subscribe(self.steps.take_step)
        self.errands = Errands(node, self.steps)
        self.tallies = Tallies(count)
        self.restarts = 0
        self.hangs_after_s = HANGS_AFTER_S
        self.program = program
        self._places = places
        self._store = store
        self._settings = settings
        self._clock = node.clock
        self._turned_clock = clock
        self._workers: list[Worker | None] = [None] * count
        self._came_up = [False] * count
        self._ended = [asyncio.Event() for _ in range(count)]
        self._all_up: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stop = asyncio.Event()
        self._is_open = False
        self._told_time: Time | None = None

    # -- from start to end

    def start(self, tasks: AsyncioTasks) -> None:
        """They load the fleet beside the parent; nobody listens yet."""
        for place in range(len(self._workers)):
            tasks.spawn_aside(f"worker {place}", self._keep(place))
        tasks.spawn_aside("workers' pulse", self._feel_pulse())

    async def open(self) -> None:
        """The parent is ready for what they ask: they may serve. Returns when all do."""
        self._is_open = True
        for worker in self._living():
            self.loaded(worker)
        await self._all_up

    def tell_to_stop(self, grace_s: float) -> None:
        self._stop.set()
        for worker in self._living():
            worker.tell(Stop(grace_s))

    async def ended(self, grace_s: float) -> None:
        if not self._stop.is_set():
            self.tell_to_stop(grace_s)
        try:
            async with asyncio.timeout(grace_s + LEAVE_WITHIN_S):
                await self._all_ended()
        except TimeoutError:
            for worker in self._living():
                worker.process.kill()
            await self._all_ended()
        await self.errands.ended()

    # -- what is asked of all of them

    @property
    def is_ready(self) -> bool:
        """All have come up once, and somebody serves."""
        return self._all_up.done() and self.serving > 0

    @property
    def serving(self) -> int:
        return sum(worker.is_serving for worker in self._living())

    @property
    def late(self) -> int:
        return self.steps.late

    def answered_by(self) -> Mapping[str, int]:
        return self.tallies.answered_by()

    async def heard(self) -> None:
        """What was asked and counted anywhere is known here."""
        for worker in self._living():
            worker.want_report()
        self.steps.take_step()
        await self.steps.everybody()

    async def in_step(self) -> None:
        """What is committed here is seen everywhere; and what time it is, where that is ours to say."""
        time = self.time()
        if time != self._told_time:
            self._told_time = time
            self.steps.take_step()
        await self.steps.everybody()

    async def reconfigure(self, settings: Taken) -> None:
        """Returns when all have taken it."""
        self._settings = settings
        for worker in self._living():
            worker.tell(Change(settings))
        self.steps.take_step()
        await self.steps.everybody()

    # -- what each of them says

    def time(self) -> Time | None:
        clock = self._turned_clock
        if clock is None:
            return None
        return Time(clock.now().wall_ms, 0.0 if clock.pace.paused else clock.pace.rate)

    def loaded(self, worker: Worker) -> None:
        if self._is_open and worker.is_loaded:
            self.steps.join(worker)

    def serves(self, worker: Worker) -> None:
        log.info("worker serves", extra={"worker": worker.place, "pid": worker.process.pid})
        self._came_up[worker.place] = True
        if all(self._came_up) and not self._all_up.done():
            self._all_up.set_result(None)

    def take_report(self, worker: Worker, report: Report) -> None:
        self.tallies.report(worker.place, report.tally)
        self.errands.hear(report.heard)

    # -- below

    def _living(self) -> list[Worker]:
        return [worker for worker in self._workers if worker and not worker.gone.is_set()]

    async def _all_ended(self) -> None:
        for ended in self._ended:
            await ended.wait()

    async def _keep(self, place: int) -> None:
        """One worker after the other."""
        tries = 0
        try:
            while not self._stop.is_set():
                began_s = self._clock.steady_s()
                await self._one_life(place)
                tries = tries + 1 if self._clock.steady_s() - began_s < STEADY_AFTER_S else 1
                await self._before_the_next(place, tries)
        finally:
            self._ended[place].set()

    async def _before_the_next(self, place: int, tries: int) -> None:
        if self._stop.is_set():
            return
        self.restarts += 1
        if tries >= START_TRIES and not self._came_up[place] and not self._all_up.done():
            self._all_up.set_exception(does_not_start(place, tries))
        if tries > 1:
            try:
                async with asyncio.timeout(min(FIRST_PAUSE_S * 2 ** (tries - 2), PAUSE_MAX_S)):
                    await self._stop.wait()
            except TimeoutError:
                return

    async def _one_life(self, place: int) -> None:
        try:
            worker = await self._born(place)
        except OSError as error:
            log.warning("worker could not be started: %s", error.strerror, extra={"worker": place})
            return
        try:
            await worker.gone.wait()
        finally:
            self._workers[place] = None
            self.steps.leave(worker)
            self.tallies.end(place)
            worker.line.cut()
            code = await process.ended(worker.process)
            self._narrate(worker, code)

    async def _born(self, place: int) -> Worker:
        with ExitStack() as ours:
            mine, theirs = socket.socketpair()
            ours.enter_context(closing(theirs))
            mine.setblocking(False)
            sockets = [ours.enter_context(closing(one.for_worker())) for one in self._places]
            worker = Worker(place, await process.started(self.program, theirs, sockets), self._clock, self)
            await asyncio.get_running_loop().create_unix_connection(lambda: worker.line, sock=mine)
            worker.tell(Begin(place, self._store, self._addresses(sockets), self._settings, self.time()))
        self._workers[place] = worker
        if self._stop.is_set():
            worker.line.cut()
        return worker

    def _addresses(self, sockets: Sequence[socket.socket]) -> tuple[Address, ...]:
        listeners = [place.listener for place in self._places]
        return tuple(
            Address(bound.fileno(), one.host, one.port, one.vm) for bound, one in zip(sockets, listeners, strict=True)
        )

    def _narrate(self, worker: Worker, code: int) -> None:
        if not self._stop.is_set():
            why = f": {worker.line.breach}" if worker.line.breach else ""
            ids = {"worker": worker.place, "pid": worker.process.pid, "exit": code}
            log.warning("worker ended, another takes its place%s", why, extra=ids)

    async def _feel_pulse(self) -> None:
        """Every second all are told the time and have to answer."""
        while True:
            await self._clock.rest(BEAT_S)
            self.steps.take_step()
            for worker in self._living():
                if worker.silent_s() > (self.hangs_after_s if worker.is_loaded else START_MAX_S):
                    worker.line.cut("it hangs")
                    worker.process.kill()


def does_not_start(place: int, tries: int) -> NotAllowed:
    return NotAllowed(
        f"Worker {place} does not start: it ended {tries} times.",
        "What it wrote before its end says why; `--workers 1` serves without workers.",
        {"worker": place, "tries": tries},
    )
