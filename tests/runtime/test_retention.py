"""Retention: what is old and of no live event is kept elsewhere first, and deleted then."""

import json
from contextlib import asynccontextmanager

import pytest
from nodes import running_node

from notbefore.core.errors import SinkUnavailable, StoreUnavailable
from notbefore.ports import HistoryQuery
from notbefore.runtime import retention
from notbefore.runtime.retention import BATCH, DAY_MS, KIND, Retention, retired_through
from notbefore.stores.sqlite.backup import check_store
from notbefore.stores.sqlite.store import SqliteStore

DAY_S = 24 * 3600


class NotingSink:
    """Notes what it was given and how much the store still had then; can be full."""

    def __init__(self, store):
        self._store = store
        self.batches = []
        self.there_when_kept = []
        self.is_full = False

    @property
    def kept(self):
        return [stored.revision for batch in self.batches for stored in batch]

    async def keep(self, records):
        if self.is_full:
            raise SinkUnavailable("The sink is full.")
        there = set(await revisions(self._store))
        self.there_when_kept.append({stored.revision for stored in records} <= there)
        self.batches.append(records)


class CrashingStore:
    """A real store in which the process ends just before a record is deleted, as often as told."""

    def __init__(self, store, crashes=0):
        self._store = store
        self.crashes = crashes

    def __getattr__(self, name):
        return getattr(self._store, name)

    async def retire(self, revisions):
        if self.crashes:
            self.crashes -= 1
            raise StoreUnavailable("Gone just then.")
        await self._store.retire(revisions)


async def revisions(store):
    return [stored.revision for stored in await store.history(HistoryQuery(limit=1000))]


def retention_of(node, sink, keep_days=30, store=None):
    at = node.node
    return Retention(at.name, store or at.store, sink, at.snapshot, node.clock, node.tasks, keep_days * DAY_MS)


@asynccontextmanager
async def retiring_node(tmp_path, keep_days=30, **how):
    async with running_node(tmp_path, **how) as node:
        sink = NotingSink(node.node.store)
        node.tasks.spawn("retention", retention_of(node, sink, keep_days).run())
        yield node, sink


async def restarted_and_over(node, vm="a"):
    """One event from its announcement to its end."""
    event_id = await node.operate(vm, "restart")
    await node.complete(event_id) if node.event(event_id).status == "Started" else await node.approve(event_id, vm)
    await node.advance(60)
    assert node.event(event_id) is None
    return event_id


async def test_what_is_older_than_so_many_days_leaves_for_the_sink(tmp_path):
    """Issue: retention with a JSON-lines sink before deletion."""
    async with retiring_node(tmp_path) as (node, sink):
        await node.declare("a")
        await restarted_and_over(node)
        old = await revisions(node.node.store)

        await node.advance(29 * DAY_S)
        assert await revisions(node.node.store) == old
        await node.advance(2 * DAY_S)

        assert await revisions(node.node.store) == []
        assert sink.kept == old


async def test_a_record_is_in_the_sink_before_it_leaves_the_store(tmp_path):
    """Kept first, deleted then."""
    async with retiring_node(tmp_path) as (node, sink):
        await node.declare("a")
        await restarted_and_over(node)
        await node.advance(31 * DAY_S)

        assert sink.there_when_kept == [True]


async def test_what_tells_of_a_live_event_stays_however_old(tmp_path):
    """Until the event has ended, and its end is old as well or it is looked again."""
    async with retiring_node(tmp_path, keep_days=1) as (node, sink):
        await node.declare("a", "b", notice_s={"Reboot": 30 * DAY_S})
        done = await node.operate("b", "restart")
        await node.approve(done, "b")
        live = await node.operate("a", "restart")
        await node.advance(5 * DAY_S)

        left = await node.node.store.history(HistoryQuery())
        assert {change.event.id for stored in left for change in stored.record.changes} == {live}
        assert sink.kept

        await node.approve(live, "a")
        await node.advance(3 * DAY_S)
        assert await revisions(node.node.store) == []


async def test_the_youngest_that_stay_are_exactly_those_young_enough(tmp_path):
    """From the oldest on, up to the first that is too young."""
    async with retiring_node(tmp_path, keep_days=10) as (node, sink):
        for n in range(20):
            await node.declare(*(f"vm-{i}" for i in range(n + 1)))
            await node.advance(DAY_S)

        now_ms = node.clock.now().wall_ms
        left = await node.node.store.history(HistoryQuery())
        assert all(now_ms - stored.record.at_ms <= 11 * DAY_S * 1000 for stored in left)
        assert len(left) + len(sink.kept) == 20
        assert sink.kept == sorted(sink.kept)


async def test_batches_are_bounded(tmp_path):
    """A limit on everything."""
    async with running_node(tmp_path) as node:
        for n in range(BATCH + 5):
            await node.declare("a", scope=f"s-{n}")
        sink = NotingSink(node.node.store)
        await node.clock.advance_by(2 * DAY_S * 1000)

        await retention_of(node, sink, 1).look(node.clock.now().wall_ms)

        assert [len(batch) for batch in sink.batches] == [BATCH, 5]
        assert await revisions(node.node.store) == []


async def test_while_the_sink_is_full_nothing_is_deleted_and_it_is_tried_again(tmp_path):
    """Never lost."""
    async with retiring_node(tmp_path, keep_days=1) as (node, sink):
        await node.declare("a")
        sink.is_full = True
        await node.advance(3 * DAY_S)
        assert len(await revisions(node.node.store)) == 1

        sink.is_full = False
        await node.advance(2 * 3600)

        assert await revisions(node.node.store) == []
        assert len(sink.kept) == 1


async def test_while_the_store_is_away_nothing_is_tried(tmp_path):
    """Rule 4."""
    async with running_node(tmp_path) as node:
        await node.declare("a")
        sink = NotingSink(node.node.store)
        node.node.snapshot.store_away = True

        again_ms = await retention_of(node, sink, 1).look(node.clock.now().wall_ms + 5 * DAY_S * 1000)

        assert sink.kept == []
        assert again_ms > node.clock.now().wall_ms


async def test_a_crash_between_keeping_and_deleting_keeps_twice_and_loses_nothing(tmp_path):
    """A record may be in the sink twice after a crash, never lost."""
    async with running_node(tmp_path) as node:
        await node.declare("a")
        made = await revisions(node.node.store)
        sink, store = NotingSink(node.node.store), CrashingStore(node.node.store, crashes=1)
        later_ms = node.clock.now().wall_ms + 5 * DAY_S * 1000

        await retention_of(node, sink, 1, store).look(later_ms)
        assert await revisions(node.node.store) == made
        await retention_of(node, sink, 1, store).look(later_ms)

        assert await revisions(node.node.store) == []
        assert sink.kept == made * 2


async def test_one_of_several_nodes_does_it_and_another_takes_over_when_it_is_gone(tmp_path):
    """A lease only saves duplicate work (DESIGN §2)."""
    async with running_node(tmp_path, name="node-b") as here:
        later_ms = here.clock.now().wall_ms + 5 * DAY_S * 1000
        sink = NotingSink(here.node.store)
        async with running_node(tmp_path, name="node-a") as there:
            await there.declare("a")
            await retention_of(there, NotingSink(there.node.store), 30).look(there.clock.now().wall_ms)
            await retention_of(here, sink, 1).look(later_ms)
            assert sink.kept == []

        await retention_of(here, sink, 1).look(later_ms)
        assert len(sink.kept) == 1


async def test_of_two_that_take_it_at_once_one_loses_and_nothing_is_kept_twice(tmp_path):
    """Each batch is first marked by a compare-and-set."""
    async with running_node(tmp_path) as node:
        await node.declare("a")
        sink = NotingSink(node.node.store)
        later_ms = node.clock.now().wall_ms + 5 * DAY_S * 1000
        stale = retention_of(node, sink, 1)
        mark = await stale._taken_over()
        await retention_of(node, NotingSink(node.node.store), 1).look(later_ms)

        with pytest.raises(retention.VersionConflict):
            await stale._marked(mark, 1)


async def test_how_far_was_retired_is_marked_before_it_goes(tmp_path):
    """So that a gap is never unannounced."""
    async with retiring_node(tmp_path, keep_days=1) as (node, _):
        await node.declare("a")
        await node.declare("a", "b")
        made = await revisions(node.node.store)
        await node.advance(3 * DAY_S)

        (mark,) = await node.node.store.documents(KIND)
        assert retired_through(mark) == made[-1]
        assert json.loads(mark.body)["node"] == node.node.name
        assert retired_through(None) == 0


async def test_the_store_is_whole_afterwards(tmp_path):
    """`notbefore store check` finds nothing wrong."""
    async with retiring_node(tmp_path, keep_days=1) as (node, _):
        await node.declare("a", "b")
        await restarted_and_over(node)
        await node.advance(3 * DAY_S)
        await node.operate("b", "restart")

        verified = check_store(tmp_path / "notbefore.db")

    assert verified.flaws == ()
    assert verified.records == 1
    store = await SqliteStore.open(tmp_path / "notbefore.db", "again")
    await store.close()
