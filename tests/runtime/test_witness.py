"""Promises of other machines (SPEC §4): every process counts on its own boot clock what it has seen promised."""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from nodes import FaultyStore, MachineClock, NotingExecutor, running_node

from notbefore.control.events import shown
from notbefore.control.plane import ControlPlane
from notbefore.control.streams import Streams
from notbefore.control.token_book import TokenBook
from notbefore.core.kinds import EventType, Status
from notbefore.core.model import Vm
from notbefore.core.requests import Tick
from notbefore.stores.sqlite.store import SqliteStore

NOON_MS = 1_772_452_800_000
MINUTE, HOUR, YEAR = 60, 3600, 365 * 24 * 3600
NOTICE = 15 * MINUTE
# Never reached by a node that keeps its word: it only ends a test that would hang.
PATIENCE_S = 20


class DeafStore(FaultyStore):
    """A store whose feed brings nothing once it is waited for."""

    def __init__(self, store):
        super().__init__(store)
        self.waited_for = asyncio.Event()

    async def wait_for_changes(self):
        self.waited_for.set()
        await asyncio.Event().wait()


class CountingStore(FaultyStore):
    """A store that counts how often a turn was begun."""

    loads = 0

    async def load(self, key):
        self.loads += 1
        return await self._store.load(key)


class Machines:
    """Machines on one store, each with a wall and a boot clock of its own. An impact on VM a, b or c never ends."""

    def __init__(self, tmp_path, life):
        self._tmp_path = tmp_path
        self._life = life
        self._wall_ms = NOON_MS
        self._clocks = []

    async def one_more(self, wall_ahead=0, store=FaultyStore, life=None):
        """A server starts on another machine."""
        number = len(self._clocks) + 1
        clock = MachineClock(f"boot-{number}", self._wall_ms + wall_ahead * 1000, boot_ms=number * 77_000_000)
        self._clocks.append(clock)
        executor = NotingExecutor()
        executor.gates = {vm: asyncio.Event() for vm in "abc"}
        opened = store(await SqliteStore.open(self._tmp_path / "notbefore.db", f"node-{number}"))
        running = running_node(self._tmp_path, executor, clock, f"node-{number}", opened)
        node = await (life or self._life).enter_async_context(running)
        node.store = opened
        return node

    @asynccontextmanager
    async def one_that_promises(self, vm="a"):
        """A machine that makes a restart with a quarter of an hour's notice, and is gone at the end of the block."""
        async with AsyncExitStack() as life:
            maker = await self.one_more(life=life)
            await maker.declare("a", "b", "c")
            yield await maker.operate(vm, "restart")

    def go_on(self, seconds):
        """Time passes, for everybody."""
        self._wall_ms += round(seconds * 1000)
        for clock in self._clocks:
            clock.goes_on(seconds)


@pytest.fixture
async def machines(tmp_path):
    async with AsyncExitStack() as life:
        yield Machines(tmp_path, life)


async def until(has_come):
    async with asyncio.timeout(PATIENCE_S):
        while not has_come():
            await asyncio.sleep(0.002)


async def starts_after(node, event_id, seconds, machines):
    """Not a millisecond earlier, however often somebody looks; and then by itself."""
    machines.go_on(seconds - 0.001)
    assert (await node.tick()).event(event_id).status is Status.SCHEDULED
    machines.go_on(0.001)
    await until(lambda: node.event(event_id).status is Status.STARTED)


@pytest.mark.parametrize("wall_ahead", [0, 10 * MINUTE, 20 * MINUTE, 50 * YEAR])
async def test_a_machine_whose_wall_is_ahead_starts_nothing_early_that_it_saw_promised(machines, wall_ahead):
    """SPEC §4: … and the notice has really elapsed, on whichever machine the event starts."""
    watching = await machines.one_more(wall_ahead)
    async with machines.one_that_promises() as event_id:
        await until(lambda: watching.event(event_id))

    await starts_after(watching, event_id, NOTICE, machines)


async def test_a_wall_stepped_forward_on_another_machine_shortens_no_promise(machines):
    """SPEC §4: a wall clock stepped forward shortens no promise, whoever made it."""
    watching = await machines.one_more()
    async with machines.one_that_promises() as event_id:
        await until(lambda: watching.event(event_id))

    watching.clock.is_set(HOUR)
    await starts_after(watching, event_id, NOTICE, machines)


async def test_a_machine_whose_wall_is_behind_still_waits_for_it(machines):
    """SPEC §4: the wall clock has reached `NotBefore` *and* the notice has really elapsed."""
    watching = await machines.one_more(-MINUTE)
    async with machines.one_that_promises() as event_id:
        await until(lambda: watching.event(event_id))

    await starts_after(watching, event_id, NOTICE + MINUTE, machines)


async def test_a_turn_sees_a_promise_that_the_feed_has_not_brought(machines):
    """SPEC §4: a turn decides on what is stored; what is new to it there is a promise it has seen being made."""
    deaf = await machines.one_more(20 * MINUTE, DeafStore)
    await until(deaf.store.waited_for.is_set)
    async with machines.one_that_promises() as event_id:
        assert (await deaf.tick()).event(event_id).status is Status.SCHEDULED

    machines.go_on(NOTICE - 0.001)
    assert (await deaf.tick()).event(event_id).status is Status.SCHEDULED
    machines.go_on(0.001)
    assert (await deaf.tick()).event(event_id).status is Status.STARTED


async def test_a_plan_is_judged_as_its_turn_would_be(machines):
    """DESIGN §5: a plan shows what a turn would do, also on a machine whose wall is ahead."""
    watching = await machines.one_more(20 * MINUTE)
    async with machines.one_that_promises() as event_id:
        await until(lambda: watching.event(event_id))

    plan = await watching.node.turns.preview(Tick(scope="s", request_id="a-plan"))
    assert plan.scope.event(event_id).status is Status.SCHEDULED


async def test_a_machine_that_finds_a_promise_starts_it_when_the_wall_says_so(machines):
    """SPEC §4: after another boot the wall clock decides."""
    async with machines.one_that_promises() as event_id:
        machines.go_on(5 * MINUTE)
    finding = await machines.one_more()

    await starts_after(finding, event_id, 10 * MINUTE, machines)


async def test_a_machine_that_finds_a_promise_kept_starts_it_at_once(machines):
    """L1: what was due while no server ran starts when one does."""
    async with machines.one_that_promises() as event_id:
        pass
    machines.go_on(NOTICE)
    finding = await machines.one_more()

    await until(lambda: finding.event(event_id).status is Status.STARTED)


async def test_a_wall_stepped_forward_after_a_promise_was_found_shortens_nothing(machines):
    """SPEC §4: the wall decides how much of the notice has elapsed; from there on it really has to elapse."""
    async with machines.one_that_promises() as event_id:
        machines.go_on(5 * MINUTE)
    finding = await machines.one_more()

    finding.clock.is_set(HOUR)
    await starts_after(finding, event_id, 10 * MINUTE, machines)


async def test_a_wall_that_was_decades_behind_costs_at_most_the_whole_notice(machines):
    """L2: a machine that boots in 1976 and is set right later keeps nobody waiting for longer than was promised."""
    async with machines.one_that_promises() as event_id:
        machines.go_on(5 * MINUTE)
    finding = await machines.one_more(-50 * YEAR)

    finding.clock.is_set(50 * YEAR)
    await starts_after(finding, event_id, NOTICE, machines)


@pytest.mark.parametrize("wall_ahead", [0, HOUR])
async def test_a_promise_made_while_the_store_was_away_from_here_is_taken_as_new(machines, wall_ahead):
    """SPEC §4: nobody here can tell its age but by the wall, which may be ahead: rather late than early."""
    cut_off = await machines.one_more(wall_ahead)
    cut_off.store.away = True
    async with machines.one_that_promises() as event_id:
        await until(lambda: cut_off.node.snapshot.store_away)
        machines.go_on(5 * MINUTE)
    cut_off.store.away = False
    await until(lambda: cut_off.event(event_id))

    await starts_after(cut_off, event_id, NOTICE, machines)


async def test_a_store_that_is_back_is_followed_again_before_anything_changes_in_it(machines):
    """SPEC §4: an absence that is over makes no later promise any older."""
    watching = await machines.one_more(HOUR)
    other = await machines.one_more()
    watching.store.away = True
    await other.declare("z", scope="elsewhere")
    await until(lambda: watching.node.snapshot.store_away)
    watching.store.away = False
    await until(lambda: not watching.node.snapshot.store_away)

    assert watching.node.snapshot.view("elsewhere")
    machines.go_on(HOUR)
    async with machines.one_that_promises() as event_id:
        await until(lambda: watching.event(event_id))
    await starts_after(watching, event_id, NOTICE, machines)


async def test_the_rest_between_update_domains_is_a_promise_to_every_machine(machines):
    """SPEC §3.4, §4: `recovery_s` really elapses, and an operator is told what is waited for, on every machine."""
    watching = await machines.one_more(HOUR)
    async with AsyncExitStack() as life:
        maker = await machines.one_more(life=life)
        await maker.declare(Vm("a", 0), Vm("b", 1), recovery_s=600)
        first, second = await maker.maintain(EventType.REBOOT)
        await maker.approve(first, "a")
        await maker.complete(first)
        await until(lambda: watching.event(second) and not watching.event(first))

    machines.go_on(600 - 0.001)
    scope = await watching.tick()
    assert scope.event(second).status is Status.QUEUED
    node = watching.node
    tokens = TokenBook(node.store, node.clock, asyncio.Lock(), node.ids, "secret")
    plane = ControlPlane(node, tokens, None, lambda: True, Streams(node.snapshot))
    assert shown(plane, scope, scope.event(second))["waiting_for"].startswith("its turn: update domain 0 rests until")
    machines.go_on(0.001)
    await until(lambda: watching.event(second).status is Status.SCHEDULED)


async def test_a_machine_whose_wall_is_ahead_does_not_ask_in_vain(machines):
    """L1: the timer knows when the notice will really have elapsed, and takes no turn before."""
    watching = await machines.one_more(HOUR, CountingStore)
    async with machines.one_that_promises() as event_id:
        await until(lambda: watching.event(event_id))
    before = watching.store.loads
    await asyncio.sleep(0.1)

    assert watching.store.loads == before


async def test_an_old_state_makes_nothing_forgotten(machines):
    """SPEC §4: a turn may hold a state that the feed has overtaken; what is promised since then stays promised."""
    watching = await machines.one_more(HOUR)
    async with machines.one_that_promises() as first:
        await until(lambda: watching.event(first))
    old = watching.node.snapshot.view("s").scope
    async with machines.one_that_promises("b") as second:
        await until(lambda: watching.event(second))

    machines.go_on(NOTICE - 1)
    watching.node.witness.now(old)
    await starts_after(watching, second, 1, machines)


async def test_a_promise_is_counted_from_when_it_was_first_seen_whatever_else_happens_in_its_scope(machines):
    """L1: a later change of the scope makes no promise in it begin anew."""
    watching = await machines.one_more()
    async with machines.one_that_promises() as first:
        await until(lambda: watching.event(first))
    machines.go_on(5 * MINUTE)
    async with machines.one_that_promises("b") as second:
        await until(lambda: watching.event(second))

    await starts_after(watching, first, 10 * MINUTE, machines)
    assert watching.event(second).status is Status.SCHEDULED
    await starts_after(watching, second, 5 * MINUTE, machines)


async def test_what_was_learned_is_forgotten_with_the_promise(machines):
    """Memory follows the live promises, not the past ones."""
    watching = await machines.one_more()
    maker = await machines.one_more()
    await maker.declare("a", "b", "c")
    events = []
    for vm in "abc":
        machines.go_on(1)
        events.append(await maker.operate(vm, "restart"))
    await until(lambda: watching.event(events[-1]))
    learned = watching.node.witness._learned
    assert {key: len(readings) for key, readings in learned.items()} == {"s": 3}

    for left, event_id in zip((2, 1, 0), events, strict=True):
        await maker.approve(event_id, "a")
        await maker.complete(event_id)
        await until(lambda event_id=event_id: watching.event(event_id) is None)
        assert sum(map(len, learned.values())) == left
    assert learned == {}


async def test_a_promise_of_this_boot_needs_no_witness(machines):
    """SPEC §4: readings of one boot are compared as they are."""
    node = await machines.one_more()
    await node.declare("a")
    event_id = await node.operate("a", "restart")

    assert node.node.witness._learned == {}
    assert node.node.witness.now(node.node.snapshot.view("s").scope) == node.clock.now()
    node.clock.is_set(HOUR)
    await starts_after(node, event_id, NOTICE, machines)
