"""Host maintenance: many scopes, one promise (SPEC §3.4)."""

import asyncio
from dataclasses import replace
from random import Random
from uuid import UUID

import pytest
from fleets import live_events, maintain_host, roll_out, vm
from nodes import OPERATOR, FaultyStore, NotingExecutor, running_node

from notbefore.clock import ManualClock
from notbefore.core.errors import LimitReached
from notbefore.core.kinds import EventType, Status
from notbefore.core.operation import Operation, OperationStatus, ScopedVm, Waiting
from notbefore.runtime.operations import OPERATIONS_MAX
from notbefore.stores.codec import ENCODINGS
from notbefore.stores.sqlite.store import SqliteStore
from notbefore.tasks import AsyncioTasks


async def two_tenants(node):
    await node.declare(vm("a1"), vm("a2", host="h2"), scope="a")
    await node.declare(vm("b1"), scope="b")
    return await maintain_host(node)


def the_event(node, scope):
    (event,) = live_events(node, scope)
    return event


async def test_a_wave_has_one_common_not_before_and_only_vms_of_the_host(tmp_path):
    async with running_node(tmp_path) as node:
        await node.declare(vm("a1"), vm("a2", host="h2"), scope="a")
        await node.declare(vm("b1"), scope="b", notice_s={EventType.REBOOT: 3600})
        await maintain_host(node)

        first, second = the_event(node, "a"), the_event(node, "b")
        assert first.vms == ("a1",)
        assert first.not_before_ms == second.not_before_ms
        assert first.not_before_ms >= second.visible_since_ms + 3600_000


async def test_an_approved_event_stays_scheduled_until_the_other_tenant_approves_too(tmp_path):
    """SPEC §3.4: an event that is approved is released and stays Scheduled; when all are, each scope starts its own."""
    async with running_node(tmp_path) as node:
        await two_tenants(node)
        first, second = the_event(node, "a"), the_event(node, "b")
        await node.approve(first.id, "a1", scope="a")
        await node.tasks.settled()

        assert the_event(node, "a").status is Status.SCHEDULED
        assert the_event(node, "a").release is not None
        assert node.executor.attempts == []

        await node.approve(second.id, "b1", scope="b")
        await node.tasks.settled()
        assert node.executor.attempts == [f"{first.id}/a1#1", f"{second.id}/b1#1"]
        assert not live_events(node, "a")


async def test_silence_of_the_other_tenant_ends_at_the_common_not_before(tmp_path):
    """SPEC §3.4: due counts as released, so silence stops nothing."""
    async with running_node(tmp_path) as node:
        key = await two_tenants(node)
        await node.approve(the_event(node, "a").id, "a1", scope="a")
        await node.advance(15 * 60 - 1)
        assert the_event(node, "a").status is Status.SCHEDULED

        await node.advance(3)
        assert len(node.executor.attempts) == 2
        assert node.node.operations.book.get(key).status is OperationStatus.COMPLETED


async def test_two_domains_of_a_scope_on_one_host_go_one_after_the_other(tmp_path):
    """Must show: first wave's UD ends before the second's event is visible; no deadlock."""
    async with running_node(tmp_path) as node:
        await node.declare(vm("a0"), vm("a1", domain=1), scope="a")
        await node.declare(vm("b0"), scope="b")
        key = await maintain_host(node)
        assert the_event(node, "a").vms == ("a0",)

        await node.advance(15 * 60 + 2)
        assert the_event(node, "a").vms == ("a1",)
        assert not live_events(node, "b")
        await node.advance(15 * 60 + 2)
        done = node.node.operations.book.get(key)
        assert done.status is OperationStatus.COMPLETED
        assert [member.vms for member in done.done] == [("a0",), ("b0",), ("a1",)]


async def test_a_cancelled_event_leaves_the_wave_and_holds_nobody(tmp_path):
    async with running_node(tmp_path) as node:
        await two_tenants(node)
        await node.approve(the_event(node, "a").id, "a1", scope="a")
        await node.cancel(the_event(node, "b").id, scope="b")
        await node.tasks.settled()

        assert not live_events(node, "a")
        assert [attempt[-4:] for attempt in node.executor.attempts] == ["a1#1"]


async def test_cancelled_as_a_whole_nothing_of_it_starts(tmp_path):
    async with running_node(tmp_path) as node:
        key = await two_tenants(node)
        await node.approve(the_event(node, "a").id, "a1", scope="a")
        await node.node.operations.cancel(key, OPERATOR, "cancelled by operator ops")
        await node.tasks.settled()

        assert not live_events(node, "a")
        assert not live_events(node, "b")
        assert node.node.operations.book.get(key).status is OperationStatus.CANCELLED
        await node.advance(3600)
        assert node.executor.attempts == []


async def test_operations_that_share_scopes_crosswise_do_not_wait_for_each_other(tmp_path):
    """No deadlock whatever the mix of update domains."""
    async with running_node(tmp_path) as node:
        for scope in ("a", "b"):
            await node.declare(vm(f"{scope}0", "h1", 0), vm(f"{scope}1", "h2", 1), scope=scope)
        keys = [await maintain_host(node, "h1"), await maintain_host(node, "h2")]
        await node.advance(3600)

        assert len(node.executor.attempts) == 4
        assert {node.node.operations.book.get(key).status for key in keys} == {OperationStatus.COMPLETED}


# -- Stores that fail, servers that die


@pytest.mark.parametrize("seed", range(4))
async def test_faults_of_the_store_change_nothing_in_the_result(tmp_path, seed):
    """Every write may conflict, get lost, or be there without an answer: each VM is still touched once."""
    store = FaultyStore(await SqliteStore.open(tmp_path / "notbefore.db", "node-a"))
    async with running_node(tmp_path, store=store, name="node-a") as node:
        await node.declare(vm("a0"), vm("a1", domain=1), scope="a")
        await node.declare(vm("b0"), scope="b")
        chance = Random(seed)
        store.faults = chance.choices([None, None, "conflict", "lost", "unknown but there"], k=2000)
        key = await maintain_host(node)
        await node.approve(the_event(node, "a").id, "a0", scope="a")
        await node.advance(3600)

        assert node.node.operations.book.get(key).status is OperationStatus.COMPLETED
        # A claim of unknown outcome is an attempt that nobody made; its number is not used again.
        assert [one.partition("#")[0] for one in touched(node.executor)] == ["a0", "a1", "b0"]


def touched(executor):
    return sorted(attempt.partition("/")[2] for attempt in executor.attempts)


async def test_a_store_that_is_away_for_a_while_only_delays_it(tmp_path):
    """driver.py: a refusal is tried again a second later."""
    store = FaultyStore(await SqliteStore.open(tmp_path / "notbefore.db", "node-a"))
    async with running_node(tmp_path, store=store, name="node-a") as node:
        key = await two_tenants(node)
        store.away = True
        await node.advance(20 * 60)
        assert node.executor.attempts == []
        store.away = False
        await node.advance(20 * 60)

        assert touched(node.executor) == ["a1#1", "b1#1"]
        assert node.node.operations.book.get(key).status is OperationStatus.COMPLETED


class FreezingStore(FaultyStore):
    """Writes so often, and then never again: as for a process that is killed there, after or before the write."""

    def __init__(self, store, writes):
        super().__init__(store)
        self.left = writes
        self.frozen = asyncio.Event()

    async def commit(self, *written):
        await self._count()
        return await super().commit(*written)

    async def put_document(self, *written):
        await self._count()
        return await super().put_document(*written)

    async def _count(self):
        self.left -= 1
        if self.left < 0:
            self.frozen.set()
            await asyncio.Event().wait()


async def asked_and_approved(node):
    """Two tenants' host is maintained, and both approve; whatever of it was done before stays."""
    if node.node.snapshot.view("b") is None:
        await node.declare(vm("a0"), vm("a1", domain=1), scope="a")
        await node.declare(vm("b0"), scope="b")
    if not list(node.node.operations.book.all()):
        await maintain_host(node)
    await node.tasks.settled()
    for scope, name in (("a", "a0"), ("b", "b0")):
        for event in live_events(node, scope):
            await node.approve(event.id, name, scope=scope)
    await node.tasks.settled()


@pytest.mark.parametrize("writes", range(2, 24, 2))
async def test_killed_after_any_write_the_next_server_goes_on(tmp_path, writes):
    """Rule 1 of operations.py: it does not matter where the one before was killed; an impact may be tried again (S6)."""
    store = FreezingStore(await SqliteStore.open(tmp_path / "notbefore.db", "node-a"), writes)
    async with running_node(tmp_path, store=store, name="node-a") as dying:
        playing = asyncio.create_task(asked_and_approved(dying))
        freezing = asyncio.create_task(store.frozen.wait())
        await asyncio.wait([playing, freezing], return_when=asyncio.FIRST_COMPLETED)
        for task in (playing, freezing):
            task.cancel()
        await asyncio.gather(playing, freezing, return_exceptions=True)
        before = list(dying.executor.attempts)
    async with running_node(tmp_path, name="node-a") as node:
        await asked_and_approved(node)
        await node.advance(3600)

        (done,) = node.node.operations.book.all()
        assert done.status is OperationStatus.COMPLETED
        assert len(before + node.executor.attempts) == len(set(before + node.executor.attempts))
        assert {one.partition("#")[0] for one in touched(node.executor) + touched(dying.executor)} == {"a0", "a1", "b0"}
        assert [member.ended for member in done.done] == [Status.COMPLETED] * 3


async def test_two_servers_drive_one_operation(tmp_path):
    """DESIGN §2: two servers are safe without locks; what is said twice makes one event."""
    tasks = AsyncioTasks()
    clock = ManualClock(tasks, tmp_path / "clock")
    executor = NotingExecutor()
    async with (
        running_node(tmp_path, executor, clock, tasks=tasks) as one,
        running_node(tmp_path, executor, clock, tasks=tasks) as two,
    ):
        for scope in ("a", "b", "c"):
            await one.declare(*(vm(f"{scope}{n}", domain=n) for n in range(3)), scope=scope)
        key = await maintain_host(one)
        while not all((found := node.node.operations.book.get(key)) and found.is_over for node in (one, two)):
            await asyncio.sleep(0)
            await clock.advance_by(30_000)

        assert one.node.operations.book.get(key) == two.node.operations.book.get(key)
        assert touched(executor) == sorted(f"{scope}{n}#1" for scope in "abc" for n in range(3))


# -- Limits


async def test_beyond_the_limit_operations_are_refused_and_a_rollouts_wave_waits(tmp_path):
    """A limit on everything; a rollout comes again when there is room."""
    async with running_node(tmp_path, name="node-a") as node:
        await node.declare(vm("a0"), vm("a1", host="h2", domain=1), scope="a")
        await node.maintain(EventType.REBOOT, scope="a", vms=("a0",))
        await node.declare(vm("b0", host="h3"), scope="b")
        now_ms = node.clock.now().wall_ms
        waiting = (Waiting(ScopedVm("a", "a1")),)
        keys = [str(UUID(int=n)) for n in range(OPERATIONS_MAX)]
        for key in keys:
            held = Operation(key, EventType.REBOOT, OPERATOR, now_ms, host="h2", waiting=waiting)
            await node.node.store.put_document("operation", key, ENCODINGS.operations.encode(held), 0, None)
        await node.node.operations.book.look()
        await node.tasks.settled()
        with pytest.raises(LimitReached):
            await maintain_host(node, "h3")
        rollout, _ = await roll_out(node, ["h3"])
        assert node.node.rollouts.book.get(rollout).waves_begun == 1
        assert not live_events(node, "b")

        await node.node.operations.cancel(keys[0], OPERATOR, "making room")
        await node.advance(2)
        assert len(live_events(node, "b")) == 1


async def test_ended_operations_are_cleared_out_but_not_what_a_rollout_still_needs(tmp_path):
    """book.py: the newest of the ended are kept; a rollout has to learn how its wave ended."""
    async with running_node(tmp_path, name="node-a") as node:
        await node.declare(vm("a0"), scope="a")
        rollout, _ = await roll_out(node, ["h1"])
        wave = node.node.rollouts.book.get(rollout).in_hand[0].wave
        needed = replace(node.node.operations.book.get(wave.operation), status=OperationStatus.COMPLETED)
        assert node.node.operations.is_needed(needed)
        assert not node.node.operations.is_needed(replace(needed, id=str(UUID(int=1))))
        assert not node.node.operations.is_needed(replace(needed, rollout=""))

        await node.advance(3600)
        assert node.node.rollouts.book.get(rollout).is_over
        assert not node.node.operations.is_needed(needed)
