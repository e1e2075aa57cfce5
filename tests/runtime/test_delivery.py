"""Deliveries: at least once, in order, from the place in history that the store keeps."""

import asyncio
import logging
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from nodes import FaultyStore, running_node

from notbefore.core.news import Gap, Interest
from notbefore.ports import HistoryQuery, NotTold
from notbefore.runtime.cursor import KIND, place_in
from notbefore.runtime.delivery import PAGE, Patience, Target
from notbefore.runtime.notifying import Notifying
from notbefore.runtime.retention import DAY_MS, Retention
from notbefore.stores.history_sink import NoSink
from notbefore.stores.sqlite.store import SqliteStore

QUICK = Patience(first_s=0.001, most_s=0.002, refusals_max=3)
DAY_S = 24 * 3600


class NotingNotifier:
    """Notes what arrives; does, for each try, what it is told: `away`, `refuse`, `lose` the answer, or `break` down."""

    def __init__(self):
        self.arrived = []
        self.tries = 0
        self.moods = lambda _news: ""
        self.gate = asyncio.Event()
        self.gate.set()

    async def tell(self, news):
        self.tries += 1
        await self.gate.wait()
        mood = self.moods(news)
        if mood == "away":
            raise NotTold("nobody there")
        if mood == "refuse":
            raise NotTold("it answered 400", refused=True)
        if mood == "break":
            raise ZeroDivisionError
        self.arrived.append(news)
        if mood == "lose":
            raise NotTold("no answer")

    def close(self):
        pass

    @property
    def words(self):
        """What arrived, the first time each."""
        return [
            news.change.what for news in {one.id: one for one in self.arrived}.values() if not isinstance(news, Gap)
        ]


async def until(holds):
    while not holds():
        await asyncio.sleep(0.002)


@asynccontextmanager
async def telling(tmp_path, *names, notifier=None, interest=None, patience=QUICK, **how):
    """A node with one target per name, all told by one notifier."""
    async with running_node(tmp_path, **how) as node:
        at = node.node
        notifying = Notifying(at.name, at.store, at.snapshot, node.clock, node.tasks, lambda: 0.5)
        told = notifier or NotingNotifier()
        await notifying.start([Target(name, told, interest or Interest(), patience) for name in names or ("ops",)])
        yield node, told, notifying


async def changes_in(store):
    records = await store.history(HistoryQuery(limit=1000))
    return [change.what for stored in records for change in stored.record.changes]


async def place_of(store, key="ops"):
    return next(place_in(one) for one in await store.documents(KIND) if one.key == key)


async def test_every_change_is_told_once_and_in_order(tmp_path):
    """Issue: in order per scope."""
    async with telling(tmp_path) as (node, told, _):
        await node.declare("a", "b")
        event = await node.operate("a", "restart")
        await node.approve(event, "a")
        await node.advance(60)
        expected = await changes_in(node.node.store)
        await until(lambda: len(told.arrived) == len(expected))

        assert told.words == expected
        assert len(expected) > 4


async def test_a_new_target_begins_now(tmp_path):
    """What was before it is in history for whoever wants it."""
    async with running_node(tmp_path) as node:
        await node.declare("a")
    async with telling(tmp_path) as (node, told, _):
        await node.operate("a", "restart")
        await until(lambda: told.arrived)

        assert told.words == ["scheduled"]


@pytest.mark.parametrize("mood", ["away", "lose"])
async def test_what_failed_is_told_again_and_nothing_overtakes_it(tmp_path, mood):
    """At least once, under the same id."""
    async with telling(tmp_path) as (node, told, notifying):
        moods = [mood] * 5
        told.moods = lambda _: moods.pop() if moods else ""
        await node.declare("a")
        await node.operate("a", "restart")
        await until(lambda: len(told.words) == 2)

        assert told.words == ["declared", "scheduled"]
        assert notifying.deliveries["ops"].outcomes["failed"] == 5
        assert len({news.id for news in told.arrived}) == 2


async def test_a_target_that_is_down_delays_no_other(tmp_path):
    """Each has its own place in history."""
    async with running_node(tmp_path) as node:
        at = node.node
        deaf, well = NotingNotifier(), NotingNotifier()
        deaf.gate.clear()
        notifying = Notifying(at.name, at.store, at.snapshot, node.clock, node.tasks, lambda: 0.5)
        await notifying.start([Target("deaf", deaf, Interest(), QUICK), Target("well", well, Interest(), QUICK)])
        await node.declare("a")
        await until(lambda: well.arrived)

        assert deaf.tries == 1
        assert deaf.arrived == []
        deaf.gate.set()
        await until(lambda: deaf.arrived)


async def test_the_manual_clock_does_not_wait_for_a_receiver(tmp_path):
    """Housekeeping in real time (SPEC §4)."""
    async with telling(tmp_path) as (node, told, _):
        told.gate.clear()
        await node.declare("a")
        await until(lambda: told.tries)

        await node.advance(3600)
        told.gate.set()


@pytest.mark.parametrize("mood", ["refuse", "break"])
async def test_what_is_refused_too_often_is_given_up_and_told_in_the_log(tmp_path, caplog, mood):
    """One record that nobody can read does not keep all others away."""
    caplog.set_level(logging.ERROR)
    async with telling(tmp_path) as (node, told, notifying):
        told.moods = lambda news: mood if news.change.what == "declared" else ""
        await node.declare("a")
        await node.operate("a", "restart")
        await until(lambda: told.arrived)

        assert told.words == ["scheduled"]
        assert told.tries == QUICK.refusals_max + 1
        outcomes = notifying.deliveries["ops"].outcomes
        assert outcomes == {"told": 1, "failed": QUICK.refusals_max - 1, "given_up": 1}
        assert "news given up" in caplog.text


async def test_how_far_it_lags_is_counted_while_it_is_down(tmp_path):
    """Lag in records and seconds; none when it has caught up."""
    async with telling(tmp_path) as (node, told, notifying):
        told.moods = lambda _: "away"
        await node.declare("a", "b")
        began_ms = node.clock.now().wall_ms
        await node.advance(100)
        for n in range(PAGE + 5):
            await node.declare("a", scope=f"s-{n}")
        lagging = notifying.deliveries["ops"]
        await until(lambda: lagging.lag.news == PAGE + 6)
        assert lagging.lag.since_ms == began_ms

        told.moods = lambda _: ""
        await until(lambda: lagging.lag.news == 0)
        assert len(told.words) == PAGE + 6


async def test_the_next_node_goes_on_where_the_last_one_was(tmp_path):
    """A kill, then another process: what was not told is, in order."""
    notifier = NotingNotifier()
    notifier.moods = lambda news: "away" if news.change.what == "scheduled" else ""
    async with telling(tmp_path, notifier=notifier) as (node, _, _):
        await node.declare("a")
        await node.operate("a", "restart")
        await until(lambda: notifier.tries > 2)
    notifier.moods = lambda _: ""
    async with telling(tmp_path, notifier=notifier) as (node, _, _):
        await node.declare("a", "b")
        await until(lambda: len(notifier.words) == 3)

    assert notifier.words == ["declared", "scheduled", "declared"]


async def test_one_node_delivers_while_it_lives_and_another_takes_over_then(tmp_path):
    """That only saves work: ids are stable."""
    watchful = replace(QUICK, others_s=0.01)
    here_told, there_told = NotingNotifier(), NotingNotifier()
    async with (
        telling(tmp_path, notifier=there_told, patience=watchful, name="there") as (there, _, _),
        telling(tmp_path, notifier=here_told, patience=watchful, name="here") as (here, _, _),
    ):
        await there.declare("a")
        await until(lambda: there_told.arrived)
        assert (await place_of(here.node.store)).node == "there"
        await there.tasks.cancel_all()
        await there.node.store.close()
        await here.operate("a", "restart")
        await until(lambda: "scheduled" in here_told.words)

        assert (await place_of(here.node.store)).node == "here"
        assert "scheduled" not in there_told.words


async def test_a_target_that_left_the_settings_is_left_to_other_nodes(tmp_path, monkeypatch):
    """And one that came begins with what happens from then on."""
    async with telling(tmp_path, "old") as (node, _, notifying):
        fresh = NotingNotifier()
        await node.declare("a")
        await until(lambda: notifying.deliveries["old"].outcomes["told"])
        notifying.change([Target("new", fresh, Interest(), QUICK)])
        store = node.node.store
        while {one.key for one in await store.documents(KIND)} != {"old", "new"}:
            await asyncio.sleep(0.002)
        while (await place_of(store, "old")).node:
            await asyncio.sleep(0.002)
        await node.operate("a", "restart")
        await until(lambda: fresh.arrived)

        assert fresh.words == ["scheduled"]


async def test_another_way_to_the_same_target_is_tried_at_once(tmp_path):
    """A reload that mends an address does not wait for the next try."""
    async with telling(tmp_path, patience=Patience(first_s=3600, most_s=3600)) as (node, told, notifying):
        told.moods = lambda _: "away"
        await node.declare("a")
        await until(lambda: told.tries)
        mended = NotingNotifier()
        notifying.change([Target("ops", mended, Interest(), QUICK)])
        await until(lambda: mended.arrived)

        assert mended.words == ["declared"]


async def test_what_was_retired_before_it_was_told_is_told_as_a_gap_first(tmp_path):
    """Retention holds nothing back for a target, and no gap is unannounced."""
    async with telling(tmp_path) as (node, told, _):
        told.moods = lambda _: "away"
        for n in range(PAGE + 10):
            await node.declare("a", scope=f"s-{n}")
        await until(lambda: told.tries)
        at = node.node
        retention = Retention(at.name, at.store, NoSink(), at.snapshot, node.clock, node.tasks, DAY_MS)
        records = await at.store.history(HistoryQuery(limit=1000))
        await retention.look(node.clock.now().wall_ms + 2 * DAY_MS)
        assert await at.store.history(HistoryQuery()) == []
        await node.declare("b", scope="young")
        told.moods = lambda _: ""
        await until(
            lambda: told.arrived and not isinstance(told.arrived[-1], Gap) and told.arrived[-1].record.scope == "young"
        )

        *in_hand, gap, young = told.arrived
        assert isinstance(gap, Gap)
        assert [news.revision for news in in_hand] == [one.revision for one in records[: len(in_hand)]]
        assert (gap.after, gap.through) == (in_hand[-1].revision, records[-1].revision)
        assert young.record.scope == "young"
        assert (await place_of(at.store)).announced == gap.through


async def test_a_store_that_fails_costs_time_and_no_news(tmp_path):
    """Conflicts and writes of unknown outcome: read again, go on."""
    store = FaultyStore(await SqliteStore.open(tmp_path / "notbefore.db", "node-a"))
    async with telling(tmp_path, store=store, name="node-a") as (node, told, _):
        moods = ["away"] * 6
        told.moods = lambda _: moods.pop() if moods else ""
        await node.declare("a")
        await until(lambda: told.arrived)
        store.faults += ["unknown but there", "lost", "conflict"]
        moods += ["away"] * 3
        await node.operate("a", "restart")
        await until(lambda: "scheduled" in told.words)

        assert told.words == ["declared", "scheduled"]


@pytest.mark.parametrize(
    ("failures", "chance", "retry_after_s", "rests_s"),
    [(1, 1.0, 0, 1.0), (1, 0.0, 0, 0.5), (3, 1.0, 0, 4.0), (60, 1.0, 0, 300.0), (1, 1.0, 40, 40), (1, 1.0, 1e9, 3600)],
)
def test_rests_grow_up_to_a_limit_with_chance_and_as_the_receiver_asks(failures, chance, retry_after_s, rests_s):
    """Retried with back-off: jittered, capped, Retry-After honoured within reason."""
    assert Patience().rest_s(failures, chance, retry_after_s) == rests_s
