"""Nodes for the runtime's tests: real store, real tasks, a clock the test turns, an executor that notes what it did."""

import asyncio
from contextlib import asynccontextmanager
from itertools import count
from uuid import uuid4

from notbefore.clock import ManualClock, RealTime, SystemClock
from notbefore.core.errors import StoreUnavailable
from notbefore.core.kinds import Kind, Listening
from notbefore.core.model import Actor, ActorKind, Vm
from notbefore.core.requests import ApproveEvents, CancelEvent, CompleteEvent, DeclareScope, Maintain, OperateVm, Tick
from notbefore.core.scope_settings import ScopeSettings
from notbefore.core.times import Moment
from notbefore.ports import Evidence, ImpactFailure, OutcomeUnknown, VersionConflict
from notbefore.runtime.node import Node
from notbefore.stores.codec import ENCODINGS
from notbefore.stores.sqlite.store import SqliteStore
from notbefore.tasks import AsyncioTasks

OPERATOR = Actor(ActorKind.OPERATOR, "ops")


class NotingExecutor:
    """Carries nothing out, but notes the attempts, and does what it is told for each."""

    name = "noting"

    def __init__(self):
        self.attempts = []
        self.running = set()
        self.overlapped = []
        self.failures = {}
        self.gates = {}

    async def carry_out(self, impact):
        self.attempts.append(impact.attempt_id)
        if impact.vm.name in self.running:
            self.overlapped.append(impact.vm.name)
        self.running.add(impact.vm.name)
        try:
            if gate := self.gates.get(impact.vm.name):
                await gate.wait()
            await asyncio.sleep(0)
            if self.failures.get(impact.vm.name, 0) > 0:
                self.failures[impact.vm.name] -= 1
                raise ImpactFailure("told to fail")
        finally:
            self.running.discard(impact.vm.name)
        return Evidence(f"noted {impact.attempt_id}")


class SteppedClock(SystemClock):
    """A system clock whose wall hand somebody steps."""

    step_ms = 0

    def now(self):
        real = super().now()
        return Moment(real.wall_ms + self.step_ms, real.boot_ms, real.boot_id)


class MachineClock(RealTime):
    """A machine's two hands, which stand still but for the test; whoever waits looks again all the time."""

    def __init__(self, boot_id, wall_ms, boot_ms=0):
        self.boot_id = boot_id
        self.wall_ms = wall_ms
        self.boot_ms = boot_ms

    def now(self):
        return Moment(self.wall_ms, self.boot_ms, self.boot_id)

    def goes_on(self, seconds):
        """Time passes: both hands move."""
        self.wall_ms += round(seconds * 1000)
        self.boot_ms += round(seconds * 1000)

    def is_set(self, seconds):
        """Somebody sets the wall clock; no time passes."""
        self.wall_ms += round(seconds * 1000)

    async def wait(self, until_ms, signal):
        await signal.rung(0.005)

    async def rest(self, seconds):
        await asyncio.sleep(0.005)


class FaultyStore:
    """A real store that can be away, and does, once each, what a list of faults tells it at commit."""

    def __init__(self, store):
        self._store = store
        self.faults = []
        self.away = False

    def __getattr__(self, name):
        return getattr(self._store, name)

    async def commit(self, scope, expected_version, record):
        self._refuse_when_away()
        fault = self.faults.pop(0) if self.faults else None
        if fault == "conflict":
            raise VersionConflict
        if fault == "lost":
            raise OutcomeUnknown
        stored = await self._store.commit(scope, expected_version, record)
        if fault == "unknown but there":
            raise OutcomeUnknown
        return stored

    async def documents(self, kind, after=0):
        self._refuse_when_away()
        return await self._store.documents(kind, after)

    async def put_document(self, kind, key, body, expected_version, record):
        """With the same faults as a commit."""
        self._refuse_when_away()
        fault = self.faults.pop(0) if self.faults else None
        if fault == "conflict":
            raise VersionConflict
        if fault == "lost":
            raise OutcomeUnknown
        document = await self._store.put_document(kind, key, body, expected_version, record)
        if fault == "unknown but there":
            raise OutcomeUnknown
        return document

    async def changes_after(self, revision, limit):
        self._refuse_when_away()
        return await self._store.changes_after(revision, limit)

    async def wait_for_changes(self):
        self._refuse_when_away()
        await self._store.wait_for_changes()
        self._refuse_when_away()

    def _refuse_when_away(self):
        if self.away:
            raise StoreUnavailable("The store is away.")


class TestNode:
    """A node with hands: what the edges would ask of it, in one word each."""

    __test__ = False

    def __init__(self, node, tasks, clock, executor):
        self.node = node
        self.tasks = tasks
        self.clock = clock
        self.executor = executor
        self._names = count()

    async def declare(self, *vms, scope="s", **settings):
        settings = ScopeSettings(**{"listening": Listening.ALWAYS, **settings})
        vms = tuple(Vm(vm) if isinstance(vm, str) else vm for vm in vms)
        return await self._take(DeclareScope, scope, kind=Kind.STANDALONE, settings=settings, vms=vms)

    async def operate(self, vm, operation, scope="s"):
        taken = await self._take(OperateVm, scope, vm=vm, operation=operation)
        return taken.answer.event_ids[0]

    async def maintain(self, event_type, scope="s", **which):
        return (await self._take(Maintain, scope, type=event_type, **which)).answer.event_ids

    async def approve(self, event_id, vm, scope="s"):
        by = Actor(ActorKind.VM, vm)
        return await self._take(ApproveEvents, scope, by=by, event_ids=(event_id,))

    async def cancel(self, event_id, scope="s"):
        return await self._take(CancelEvent, scope, event_id=event_id)

    async def complete(self, event_id, scope="s"):
        return await self._take(CompleteEvent, scope, event_id=event_id)

    async def tick(self, scope="s"):
        """What the timer would do if it thought something was due."""
        return (await self.node.turns.take(Tick(scope=scope, request_id=self.node.ids()))).scope

    async def _take(self, request, scope, by=OPERATOR, **fields):
        return await self.node.turns.take(request(scope=scope, request_id=self.node.ids(), by=by, **fields))

    def event(self, event_id):
        found = self.node.snapshot.event(event_id)
        return found[1] if found else None

    async def gone(self, event_id):
        """Wait until the event has left the scope, however long that takes."""
        while self.event(event_id) is not None:
            await asyncio.sleep(0.01)

    async def advance(self, seconds):
        await self.clock.advance_by(seconds * 1000)


@asynccontextmanager
async def running_node(tmp_path, executor=None, clock=None, name=None, store=None, tasks=None):
    tasks = tasks or AsyncioTasks()
    name = name or str(uuid4())
    opened = store or await SqliteStore.open(tmp_path / "notbefore.db", name)
    clock = clock or ManualClock(tasks, tmp_path / f"{name}.clock")
    executor = executor or NotingExecutor()
    node = Node(name, opened, executor, clock, tasks, ids=lambda: str(uuid4()), encodings=ENCODINGS)
    await node.start()
    try:
        yield TestNode(node, tasks, clock, executor)
    finally:
        await tasks.cancel_all()
        await opened.close()
