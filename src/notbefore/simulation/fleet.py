"""The machines and the server processes on them: started, crashed, stalled, rebooted, and asked by VMs and operators.

Rule 1: a process is the production Node and MetadataService on simulated ports; nothing of it outlives its end.
Rule 2: a machine keeps one process running: one that ended is started again after a while, under a new name.
Rule 3: a request runs inside the process it was sent to; when that ends the asker hears nothing.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar
from uuid import UUID

from notbefore.control.token_book import TokenBook
from notbefore.core.errors import Refusal
from notbefore.core.requests import Request
from notbefore.core.times import HOUR_MS
from notbefore.metadata.answers import HttpAnswer
from notbefore.metadata.identity import Peer
from notbefore.metadata.polls import Poll, Polls
from notbefore.metadata.service import MetadataOptions, MetadataService
from notbefore.metadata.verdict import ReadDocument, RequestHead
from notbefore.ports import Evidence, Impact
from notbefore.runtime.node import Node
from notbefore.runtime.notifying import Notifying
from notbefore.runtime.retention import Retention
from notbefore.runtime.turn import Taken
from notbefore.simulation.connection import SLOW_US, Connection
from notbefore.simulation.disk import Disk
from notbefore.simulation.facts import ProcessFacts
from notbefore.simulation.hypervisor import Hands
from notbefore.simulation.machine_clock import MachineClock
from notbefore.simulation.receivers import Receivers
from notbefore.simulation.scheduler import SECOND_US, Process, Scheduler, Wake
from notbefore.simulation.sim_tasks import SimTasks
from notbefore.simulation.sink import SimSink
from notbefore.simulation.steps import ClockStepped, ProcessEnded, ProcessLoaded, Step, TroubleChanged
from notbefore.simulation.trouble import OF_EXECUTORS, Trouble
from notbefore.stores.codec import ENCODINGS

KEEP_HISTORY_MS = 6 * HOUR_MS
DEATH_NOTICED_US = 10 * SECOND_US
# What set out while the store was slow may arrive that long after.
STILL_UNDER_WAY_US = SLOW_US[1]
# How often the data plane looks whether a wait is over.
TICK_US = SECOND_US // 10
ANSWERED = (200, 304)
T = TypeVar("T")


@dataclass(slots=True)
class Server:
    """One life of a server process, and what it is made of."""

    process: Process
    facts: ProcessFacts
    connection: Connection
    node: Node
    service: MetadataService
    polls: Polls
    tokens: TokenBook
    retention: Retention
    notifying: Notifying
    unanswered: dict[Wake, None] = field(default_factory=dict)


@dataclass(slots=True)
class Machine:
    name: str
    clock: MachineClock
    chance: Random
    starts: int = 0
    server: Server | None = None
    troubles: dict[Trouble, int] = field(default_factory=dict)


class Fleet:
    def __init__(
        self, machines: int, seed: str, scheduler: Scheduler, disk: Disk, tell: Callable[[Step], None]
    ) -> None:
        self._scheduler = scheduler
        self._disk = disk
        self._tell = tell
        self.world = Process("world")
        self._died_us: dict[str, int] = {}
        self._receivers = Receivers(seed, scheduler, tell)
        self._repeat: Callable[[Impact, Evidence | None], None] = lambda _impact, _evidence: None
        self.processes: dict[str, ProcessFacts] = {}
        self.machines: dict[str, Machine] = {}
        for number in range(machines):
            name = f"m{number + 1}"
            chance = Random(f"{seed}/{name}")
            clock = MachineClock(name, scheduler, chance, drift_ppm=chance.randrange(-100, 100))
            self.machines[name] = Machine(name, clock, chance)

    def on_repeated_report(self, repeat: Callable[[Impact, Evidence | None], None]) -> None:
        self._repeat = repeat

    # -- Lives

    def start(self, machine: Machine) -> None:
        if machine.server is not None:
            return
        machine.starts += 1
        name = f"{machine.name}.{machine.starts}"
        process = Process(name)
        facts = self.processes[name] = ProcessFacts(name, machine.name, machine.clock.boot_id)
        former = self.processes.get(f"{machine.name}.{machine.starts - 1}")
        facts.stepped_us = former.stepped_us if former else -1
        chance = Random(f"{machine.chance.random()}/{name}")
        connection = Connection(
            name, self._disk, self._scheduler, chance, self._seems_alive(name), lambda: self._crash_soon(machine)
        )
        connection.suffer(machine.troubles)
        hands = Hands(
            name, self._scheduler, chance, lambda trouble: trouble in machine.troubles, self._tell, self._repeated
        )
        tasks = SimTasks(self._scheduler, process)
        node = Node(name, connection, hands, machine.clock, tasks, ids_from(chance), ENCODINGS)
        service = MetadataService(node, MetadataOptions())
        polls = Polls(service, lambda call: tasks.spawn("soon", done_soon(call)))
        tokens = TokenBook(connection, machine.clock, tasks.lock(), node.ids, "the admin's")
        node.snapshot.on_any_change(tokens.look)
        sink = SimSink(name, self._scheduler, chance, lambda trouble: trouble in machine.troubles, self._tell)
        retention = Retention(name, connection, sink, node.snapshot, machine.clock, tasks, KEEP_HISTORY_MS)
        notifying = Notifying(name, connection, node.snapshot, machine.clock, tasks, chance.random)
        machine.server = Server(process, facts, connection, node, service, polls, tokens, retention, notifying)
        self._judge_calm(machine)
        self._scheduler.spawn(process, "start", self._begin(machine, machine.server))

    def end(self, machine: Machine, why: str) -> None:
        server, machine.server = machine.server, None
        if server is None:
            return
        server.facts.ended_us = self._scheduler.now_us
        self._died_us[server.facts.name] = self._scheduler.now_us + machine.chance.randrange(DEATH_NOTICED_US)
        self._scheduler.kill(server.process)
        self._disk.unfollow(server.connection.on_commit)
        self._tell(ProcessEnded(self._scheduler.now_us, server.facts.name, why))
        for unanswered in server.unanswered:
            unanswered.set()

    def crash(self, machine: Machine, down_us: int, why: str) -> None:
        self.end(machine, why)
        self._scheduler.after(down_us, lambda: self.start(machine))

    def stall(self, machine: Machine, for_us: int) -> None:
        if machine.server:
            machine.server.process.stalled_until_us = self._scheduler.now_us + for_us

    def end_all(self) -> None:
        """The run is over: nothing that is still under way goes on, and nobody is told."""
        for machine in self.machines.values():
            if machine.server:
                self._scheduler.kill(machine.server.process)
        self._scheduler.kill(self.world)

    def step_clock(self, machine: Machine, by_ms: int) -> None:
        machine.clock.step(by_ms)
        if machine.server:
            machine.server.facts.stepped_us = self._scheduler.now_us
        elif last := self.processes.get(f"{machine.name}.{machine.starts}"):
            last.stepped_us = self._scheduler.now_us
        self._tell(ClockStepped(self._scheduler.now_us, machine.name, by_ms))

    # -- Troubles

    def begin_trouble(self, machine: Machine, trouble: Trouble) -> None:
        machine.troubles[trouble] = machine.troubles.get(trouble, 0) + 1
        self._spread(machine, trouble, began=True)

    def end_trouble(self, machine: Machine, trouble: Trouble) -> None:
        if trouble not in machine.troubles:
            return
        machine.troubles[trouble] -= 1
        if not machine.troubles[trouble]:
            del machine.troubles[trouble]
        self._spread(machine, trouble, began=False)

    def end_all_troubles(self) -> None:
        for machine in self.machines.values():
            for trouble in list(machine.troubles):
                machine.troubles[trouble] = 1
                self.end_trouble(machine, trouble)

    def _spread(self, machine: Machine, trouble: Trouble, *, began: bool) -> None:
        if machine.server:
            machine.server.connection.suffer(machine.troubles)
        self._judge_calm(machine)
        self._tell(TroubleChanged(self._scheduler.now_us, machine.name, trouble, began))

    def _judge_calm(self, machine: Machine) -> None:
        if machine.server is None:
            return
        facts = machine.server.facts
        if any(trouble not in OF_EXECUTORS for trouble in machine.troubles):
            facts.calm_since_us = None
        elif facts.calm_since_us is None:
            facts.calm_since_us = self._scheduler.now_us + STILL_UNDER_WAY_US

    # -- Asking

    @property
    def working(self) -> list[Server]:
        servers = [machine.server for machine in self.machines.values()]
        return [server for server in servers if server and server.facts.works]

    def suffers(self, server: Server, trouble: Trouble) -> bool:
        return trouble in self.machines[server.facts.machine].troubles

    async def ask(
        self, server: Server, head: RequestHead, body: bytes, peer: Peer, tell: Callable[[HttpAnswer], None]
    ) -> HttpAnswer | None:
        async def read_body() -> bytes:
            return body

        async def answered() -> HttpAnswer:
            verdict = server.service.judge(head)
            answer = await server.service.answer(head, verdict, peer, read_body)
            if isinstance(verdict, ReadDocument) and verdict.wait_s and answer.status in ANSWERED:
                return await self._held(server, verdict, peer, answer)
            return answer

        return await self.inside(server, answered(), tell)

    async def _held(self, server: Server, wanted: ReadDocument, peer: Peer, at_once: HttpAnswer) -> HttpAnswer:
        """As the protocol does it: parked in the same breath, told by a change or by the tick after its time."""
        caller = server.service.caller_of(peer, None)
        told: list[HttpAnswer] = []
        wake = Wake(self._scheduler)

        def tell(answer: HttpAnswer) -> None:
            told.append(answer)
            wake.set()

        poll = Poll(caller, peer, vouched=False, wanted=wanted, tell=tell) if caller else None
        answer = server.polls.hold(poll, at_once) if poll else at_once
        if answer is not None:
            return answer
        self._scheduler.spawn(server.process, "ticks", self._ticks(server, wanted.wait_s or 0, told))
        await wake
        return told[0]

    async def _ticks(self, server: Server, wait_s: int, told: list[HttpAnswer]) -> None:
        """Only those that matter."""
        await self._scheduler.sleep(wait_s * SECOND_US)
        while not told:
            await self._scheduler.sleep(TICK_US)
            server.polls.expire()

    async def order(
        self, server: Server, request: Request, tell: Callable[[Taken | Refusal], None]
    ) -> Taken | Refusal | None:
        async def taken() -> Taken | Refusal:
            try:
                return await server.node.turns.take(request)
            except Refusal as refusal:
                return refusal

        return await self.inside(server, taken(), tell)

    async def inside(self, server: Server, work: Coroutine[Any, Any, T], tell: Callable[[T], None]) -> T | None:
        """Do it inside the process, which tells when it is done; None when the process ended before that."""
        if not server.process.alive:
            work.close()
            return None
        done = Wake(self._scheduler)
        results: list[T] = []

        async def run() -> None:
            results.append(await work)
            # In the same breath: what other tasks of the process do next comes after this answer.
            tell(results[0])
            done.set()

        server.unanswered[done] = None
        self._scheduler.spawn(server.process, "request", run())
        await done
        server.unanswered.pop(done, None)
        if not results:
            work.close()
        return results[0] if results else None

    # -- Inside

    async def _begin(self, machine: Machine, server: Server) -> None:
        try:
            await server.node.start()
            await server.tokens.look()
            suffers = machine.troubles.__contains__
            await server.notifying.start(self._receivers.targets_for(server.facts.name, suffers, machine.chance))
        except Refusal as refusal:
            why = f"could not start: {refusal.message}"
            self._scheduler.after(0, lambda: self._if_still(machine, server, why))
            return
        self._scheduler.spawn(server.process, "retention", server.retention.run())
        server.facts.loaded_us = self._scheduler.now_us
        server.facts.loaded_wall_ms = machine.clock.wall_ms()
        self._tell(ProcessLoaded(self._scheduler.now_us, server.facts.name))

    def _if_still(self, machine: Machine, server: Server, why: str) -> None:
        if machine.server is server:
            self.crash(machine, machine.chance.randrange(1, 10) * SECOND_US, why)

    def _crash_soon(self, machine: Machine) -> None:
        """Asked for from inside the process, which cannot end itself while it runs."""
        server = machine.server
        assert server is not None
        self._scheduler.after(0, lambda: self._if_still(machine, server, "crashed at a commit"))

    def _seems_alive(self, asking: str) -> Callable[[str], bool]:
        """A death is noticed after a while, never before."""

        def is_alive(node: str) -> bool:
            died_us = self._died_us.get(node)
            return node == asking or died_us is None or self._scheduler.now_us < died_us

        return is_alive

    def _repeated(self, impact: Impact, evidence: Evidence | None) -> None:
        self._repeat(impact, evidence)


async def done_soon(call: Callable[[], None]) -> None:
    call()


def ids_from(chance: Random) -> Callable[[], str]:
    def fresh() -> str:
        return str(UUID(int=chance.getrandbits(128), version=4))

    return fresh
