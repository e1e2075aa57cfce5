"""Rollouts: many hosts, never too many at once, and never on when it goes wrong (SPEC §3.4)."""

import asyncio
from contextlib import asynccontextmanager
from random import Random

import pytest
from fleets import roll_out, vm
from nodes import OPERATOR, FaultyStore, NotingExecutor, running_node

from notbefore.clock import ManualClock
from notbefore.core.errors import WrongStatus
from notbefore.core.expected import Expected
from notbefore.core.kinds import Status
from notbefore.core.rollout import Limits, RolloutStatus
from notbefore.executors.simulate import DEFAULT_DURATION_S, SimulatedExecutor, Simulation
from notbefore.ports import HistoryQuery, ImpactFailure
from notbefore.stores.sqlite.store import SqliteStore
from notbefore.tasks import AsyncioTasks

HOSTS = [f"h{n:02}" for n in range(20)]
NIGHT_S = 48 * 3600


class TroubledHosts(SimulatedExecutor):
    """Fails on every host but those that are said to be sound."""

    sound = None

    async def carry_out(self, impact):
        if self.sound is not None and impact.vm.host not in self.sound:
            raise ImpactFailure("told to fail")
        return await super().carry_out(impact)


async def declare_fleet(node, scopes=20, domains=5):
    """Each scope has a VM in each update domain; hosts are shared by all scopes."""
    for n in range(scopes):
        vms = [vm(f"s{n:02}-{d}", HOSTS[(n + 4 * d + n // 5) % len(HOSTS)], d) for d in range(domains)]
        await node.declare(*vms, scope=f"s{n:02}")
    node.node.rollouts.expected = Expected(DEFAULT_DURATION_S)


async def what_happened(node):
    """Of every event: scope, VMs, and to the second when it was shown, started and ended."""
    found = {}
    for stored in await node.node.store.history(HistoryQuery(limit=10_000)):
        for change in stored.record.changes:
            if change.event and change.event.status is Status.COMPLETED:
                event = change.event
                found[event.id] = (
                    stored.record.scope,
                    event.vms,
                    event.visible_since_ms,
                    event.started_at_ms,
                    event.ended_at_ms,
                )
    return found


def as_planned(plan):
    return {
        part.event_id: (part.scope, part.vms, wave.visible_ms, wave.not_before_ms, wave.ends_ms)
        for wave in plan.waves
        for part in wave.parts
    }


@pytest.mark.parametrize(
    "limits",
    [
        Limits(max_hosts=1),
        Limits(max_hosts=4, recovery_s=300),
        Limits(max_vms=6, recovery_s=60),
        Limits(max_scopes=8, impacts_max=10, impacts_per_s=3600),
    ],
)
async def test_what_happens_is_what_was_planned(tmp_path, limits):
    """Must show: the plan printed beforehand equals what history shows."""
    tasks = AsyncioTasks()
    clock = ManualClock(tasks, tmp_path / "clock")
    executor = SimulatedExecutor(Simulation(), clock, tasks, Random(1))
    async with running_node(tmp_path, executor, clock, tasks=tasks) as node:
        await declare_fleet(node)
        key, plan = await roll_out(node, HOSTS, limits=limits)
        assert plan.stuck == ""
        await node.advance(NIGHT_S)

        assert node.node.rollouts.book.get(key).status is RolloutStatus.COMPLETED
        assert await what_happened(node) == as_planned(plan)
        assert sum(wave.vms for wave in plan.waves) == 100


# -- Never over budget, faster with approvals


async def most_at_once(node):
    """By history, commit by commit: how many hosts, scopes and VMs were in events at once."""
    hosts = {one.name: one.host for scope in node.node.snapshot.scopes() for one in scope.vms}
    shown, most = {}, {"hosts": 0, "scopes": 0, "vms": 0}
    for stored in await node.node.store.history(HistoryQuery(limit=10_000)):
        for change in stored.record.changes:
            if change.event and change.event.status in (Status.SCHEDULED, Status.STARTED):
                shown[change.event.id] = (stored.record.scope, change.event.vms)
            elif change.event:
                shown.pop(change.event.id, None)
        vms = [name for _, names in shown.values() for name in names]
        now = {"hosts": len({hosts[name] for name in vms}), "scopes": len({scope for scope, _ in shown.values()})}
        most = {name: max(before, (now | {"vms": len(vms)})[name]) for name, before in most.items()}
    return most


async def approve_all(node):
    for scope in list(node.node.snapshot.scopes()):
        for event in scope.events_in(Status.SCHEDULED):
            if event.release is None:
                await node.approve(event.id, event.vms[0], scope=scope.name)
    await node.tasks.settled()


@asynccontextmanager
async def a_fleet_of_twenty(tmp_path, executor=SimulatedExecutor, **running):
    tasks = AsyncioTasks()
    clock = ManualClock(tasks, tmp_path / "clock")
    carrying_out = executor(Simulation(), clock, tasks, Random(1))
    async with running_node(tmp_path, carrying_out, clock, tasks=tasks, **running) as node:
        await declare_fleet(node)
        yield node


async def test_with_approvals_it_is_within_its_budget_and_over_sooner(tmp_path):
    """Must show: never over budget; with approvals it only gets faster."""
    async with a_fleet_of_twenty(tmp_path) as node:
        key, plan = await roll_out(node, HOSTS, limits=Limits(max_hosts=4, max_vms=12, max_scopes=10))
        while not node.node.rollouts.book.get(key).is_over:
            await approve_all(node)
            assert await node.clock.advance_to_next()

        done = node.node.rollouts.book.get(key)
        assert (done.status, done.touched, done.failed, done.skipped) == (RolloutStatus.COMPLETED, 100, 0, 0)
        assert done.ended_at_ms < plan.ends_ms
        most = await most_at_once(node)
        assert 1 < most["hosts"] <= 4
        assert 1 < most["vms"] <= 12
        assert 1 < most["scopes"] <= 10


async def history_of(node, rollout):
    found = await node.node.store.history(HistoryQuery(limit=10_000))
    return [change for stored in found for change in stored.record.changes if change.rollout == rollout]


async def cancelled_events(node):
    found = await node.node.store.history(HistoryQuery(statuses=(Status.CANCELLED,), limit=10_000))
    return [change for stored in found for change in stored.record.changes if change.event]


async def test_with_failures_from_the_third_host_on_it_halts_and_goes_on_when_told(tmp_path):
    """Must show: it halts, withdraws what had not started, and says so; resumed it goes on with the rest."""
    async with a_fleet_of_twenty(tmp_path, TroubledHosts) as node:
        node.executor.sound = HOSTS[:2]
        key, _ = await roll_out(node, HOSTS, limits=Limits(max_hosts=3, failed_max=1))
        await node.advance(NIGHT_S)

        halted = node.node.rollouts.book.get(key)
        assert halted.status is RolloutStatus.HALTED
        assert halted.failed > 1
        assert "failed, and at most 1 may" in halted.why
        assert not any(scope.events for scope in node.node.snapshot.scopes())
        said = [change for change in await history_of(node, key) if change.what == "rollout halted"]
        assert len(said) == 1
        assert "what has not started is withdrawn" in said[0].why
        withdrawn = [change for change in await cancelled_events(node) if change.event.status is Status.CANCELLED]
        assert withdrawn
        assert all(f"withdrawn with rollout {key}" in change.why for change in withdrawn)

        node.executor.sound = None
        await node.node.rollouts.resume(key, OPERATOR)
        await node.advance(NIGHT_S)
        done = node.node.rollouts.book.get(key)
        assert (done.status, done.touched, done.failed) == (RolloutStatus.COMPLETED, 100, halted.failed)


async def test_a_paused_rollout_ends_what_is_announced_and_begins_nothing(tmp_path):
    """Issue: pause, resume, cancel."""
    async with a_fleet_of_twenty(tmp_path) as node:
        key, _ = await roll_out(node, HOSTS)
        await node.node.rollouts.pause(key, OPERATOR)
        await node.advance(NIGHT_S)
        paused = node.node.rollouts.book.get(key)
        assert (paused.status, paused.waves_begun) == (RolloutStatus.PAUSED, 1)
        assert paused.touched > 0
        with pytest.raises(WrongStatus):
            await node.node.rollouts.pause(key, OPERATOR)

        await node.node.rollouts.resume(key, OPERATOR)
        await node.advance(3600)
        await node.node.rollouts.cancel(key, OPERATOR)
        await node.tasks.settled()
        await node.advance(3600)
        done = node.node.rollouts.book.get(key)
        assert done.status is RolloutStatus.CANCELLED
        assert paused.touched < done.touched < 100
        assert not any(scope.events for scope in node.node.snapshot.scopes())


# -- Stores that fail, servers that die


@pytest.mark.parametrize("fault", ["conflict", "lost", "unknown but there"])
@pytest.mark.parametrize("word", ["pause", "cancel"])
async def test_a_word_is_taken_once_whatever_the_store_does(tmp_path, fault, word):
    """A write of unknown outcome is judged by what is there, and is no reason to refuse."""
    store = FaultyStore(await SqliteStore.open(tmp_path / "notbefore.db", "node-a"))
    async with a_fleet_of_twenty(tmp_path, name="node-a", store=store) as node:
        key, _ = await roll_out(node, HOSTS)
        await node.tasks.settled()
        store.faults = [fault]
        said = await getattr(node.node.rollouts, word)(key, OPERATOR)

        assert said.status in (RolloutStatus.PAUSED, RolloutStatus.CANCELLING)
        what = "rollout paused" if word == "pause" else "rollout cancelling"
        assert [change.what for change in await history_of(node, key)].count(what) == 1


@pytest.mark.parametrize("seed", range(3))
async def test_faults_of_the_store_change_nothing_in_the_result(tmp_path, seed):
    """Every write may conflict, get lost, or be there without an answer."""
    store = FaultyStore(await SqliteStore.open(tmp_path / "notbefore.db", "node-a"))
    async with a_fleet_of_twenty(tmp_path, name="node-a", store=store) as node:
        key, plan = await roll_out(node, HOSTS, limits=Limits(max_hosts=4, recovery_s=60))
        chance = Random(seed)
        store.faults = chance.choices([None, None, None, "conflict", "lost", "unknown but there"], k=20_000)
        await node.advance(NIGHT_S)

        assert node.node.rollouts.book.get(key).status is RolloutStatus.COMPLETED
        assert await what_happened(node) == as_planned(plan)


async def test_two_servers_on_one_store_carry_out_one_rollout(tmp_path):
    """DESIGN §2: two servers are safe without locks: every VM is touched once, and the budget is one budget."""
    tasks = AsyncioTasks()
    clock = ManualClock(tasks, tmp_path / "clock")
    executor = NotingExecutor()
    async with running_node(tmp_path, executor, clock, tasks=tasks) as one:
        for n in range(6):
            await one.declare(*(vm(f"s{n}-{d}", f"h{(n + d) % 5}", d) for d in range(3)), scope=f"s{n}")
        async with running_node(tmp_path, executor, clock, tasks=tasks) as two:
            key, _ = await roll_out(one, [f"h{n}" for n in range(5)], limits=Limits(max_hosts=2))
            while not all((found := node.node.rollouts.book.get(key)) and found.is_over for node in (one, two)):
                await asyncio.sleep(0)
                await clock.advance_by(60_000)

            assert one.node.rollouts.book.get(key) == two.node.rollouts.book.get(key)
            assert one.node.rollouts.book.get(key).touched == 18
            assert sorted(attempt.partition("/")[2] for attempt in executor.attempts) == sorted(
                f"s{n}-{d}#1" for n in range(6) for d in range(3)
            )
            assert (await most_at_once(two))["hosts"] == 2


async def test_a_server_that_dies_on_the_way_leaves_a_rollout_that_goes_on(tmp_path):
    """Must show: kill -9 of the server ten times on the way changes nothing in the result."""
    touched = []
    key, plan = None, None
    for _ in range(11):
        async with a_restarted_node(tmp_path) as node:
            if key is None:
                await declare_fleet(node)
                key, plan = await roll_out(node, HOSTS, limits=Limits(max_hosts=4, recovery_s=60))
            for _ in range(2):
                await node.clock.advance_to_next()
            touched.append(node.node.rollouts.book.get(key).touched)
    async with a_restarted_node(tmp_path) as node:
        await node.advance(NIGHT_S)

        assert node.node.rollouts.book.get(key).status is RolloutStatus.COMPLETED
        assert await what_happened(node) == as_planned(plan)
        assert len(set(touched)) > 3


@asynccontextmanager
async def a_restarted_node(tmp_path):
    tasks = AsyncioTasks()
    clock = ManualClock(tasks, tmp_path / "clock")
    executor = SimulatedExecutor(Simulation(), clock, tasks, Random(1))
    async with running_node(tmp_path, executor, clock, name="node-a", tasks=tasks) as node:
        node.node.rollouts.expected = Expected(DEFAULT_DURATION_S)
        yield node
