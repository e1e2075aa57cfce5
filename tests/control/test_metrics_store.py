"""The watch beside the store: it changes nothing, tells failures apart, and knows when nobody follows any more."""

import asyncio

import pytest
from prometheus_client import CollectorRegistry

from notbefore.clock import RealTime
from notbefore.control.metrics.measured_executor import MeasuredExecutor
from notbefore.control.metrics.measured_store import MeasuredStore
from notbefore.control.metrics.meters import Meters
from notbefore.core.errors import ScopeTooLarge, StoreUnavailable
from notbefore.core.history import HistoryRecord
from notbefore.core.kinds import EventType
from notbefore.core.model import Scope, Vm
from notbefore.core.times import Moment
from notbefore.ports import Evidence, Impact, ImpactFailure, OutcomeUnknown, Stored, StoredRecord, VersionConflict


class HandClock(RealTime):
    """A clock that the test turns, all hands of it."""

    seconds = 0.0

    def now(self):
        return Moment(round(self.seconds * 1000), round(self.seconds * 1000), "boot")

    def steady_s(self):
        return self.seconds


class ScriptedStore:
    """A store that takes as long as it is told, and fails as it is told."""

    def __init__(self, clock):
        self.clock = clock
        self.takes_s = 0.0
        self.fails_with = None
        self.feed = []
        self.records = []

    async def _answer(self, answer):
        self.clock.seconds += self.takes_s
        if self.fails_with:
            raise self.fails_with
        return answer

    async def load(self, key):
        return await self._answer(None)

    async def commit(self, scope, expected_version, record):
        return await self._answer(Stored(scope, expected_version + 1, 7))

    async def changes_after(self, revision, limit):
        changes, self.feed = self.feed, []
        return await self._answer(changes)

    async def wait_for_changes(self):
        await asyncio.Event().wait()

    async def history(self, query):
        return await self._answer([one for one in self.records if one.revision > query.after][: query.limit])


class Watch:
    """A scripted store with its watch, and what the meters say."""

    def __init__(self):
        self.clock = HandClock()
        self.inner = ScriptedStore(self.clock)
        self.meters = Meters()
        self.store = MeasuredStore(self.inner, self.clock, self.meters)
        self.registry = CollectorRegistry()
        self.registry.register(self.meters)

    def value(self, name, **labels):
        return self.registry.get_sample_value(name, labels)


@pytest.fixture
def watch():
    return Watch()


async def test_the_time_of_an_operation_is_in_its_own_histogram(watch):
    watch.inner.takes_s = 0.25

    await watch.store.load("web")

    assert watch.value("notbefore_store_operation_duration_seconds_sum", operation="load") == 0.25
    assert watch.value("notbefore_store_operation_duration_seconds_count", operation="commit") == 0


@pytest.mark.parametrize(
    ("failure", "word"),
    [
        (VersionConflict(), "conflict"),
        (OutcomeUnknown(), "unknown"),
        (StoreUnavailable("The disk is full."), "away"),
    ],
)
async def test_a_failure_is_passed_on_counted_by_its_kind_and_timed(watch, failure, word):
    watch.inner.fails_with = failure
    watch.inner.takes_s = 2.0

    with pytest.raises(type(failure)) as raised:
        await watch.store.commit(Scope("web"), 0, None)

    assert raised.value is failure
    assert watch.value("notbefore_store_errors_total", operation="commit", error=word) == 1
    assert watch.value("notbefore_store_operation_duration_seconds_sum", operation="commit") == 2


async def test_a_scope_that_is_too_large_is_no_failure_of_the_store(watch):
    """It is a refusal, and counted as one."""
    watch.inner.fails_with = ScopeTooLarge("Too large.")

    with pytest.raises(ScopeTooLarge):
        await watch.store.commit(Scope("web"), 0, None)

    for error in ("conflict", "unknown", "away"):
        assert watch.value("notbefore_store_errors_total", operation="commit", error=error) == 0


async def test_an_own_commit_is_timed_from_the_hand_over_until_the_snapshot_has_it(watch):
    watch.inner.takes_s = 0.5
    scope = Scope("web")
    stored = await watch.store.commit(scope, 0, None)
    watch.clock.seconds += 0.25

    watch.store.visible.applied(stored.scope)
    watch.store.visible.applied(stored.scope)

    assert watch.value("notbefore_commit_visible_seconds_sum", origin="this_node") == 0.75
    assert watch.value("notbefore_commit_visible_seconds_count", origin="this_node") == 1


async def test_a_commit_that_failed_was_never_visible(watch):
    watch.inner.fails_with = VersionConflict()
    with pytest.raises(VersionConflict):
        await watch.store.commit(Scope("web"), 0, None)

    watch.store.visible.applied(Scope("web"))

    assert watch.value("notbefore_commit_visible_seconds_count", origin="this_node") == 0


async def followed(watch, *changes):
    """One round of the follower: look until there is nothing, then wait."""
    watch.inner.feed = list(changes)
    while await watch.store.changes_after(0, 10):
        pass
    wait = asyncio.create_task(watch.store.wait_for_changes())
    for _ in range(5):
        await asyncio.sleep(0)
    wait.cancel()


def record_of(revision, at_s):
    return StoredRecord(revision, HistoryRecord("web", round(at_s * 1000), f"r{revision}", 1, ()))


async def test_another_nodes_commit_is_timed_from_the_time_in_its_record(watch):
    """The oldest of those one look brings: it waited longest."""
    await followed(watch)
    watch.clock.seconds = 100.0
    watch.inner.records = [record_of(8, 99.5), record_of(9, 99.9)]

    await followed(watch, Stored(Scope("web"), 1, 8), Stored(Scope("db"), 1, 9))

    assert watch.value("notbefore_commit_visible_seconds_sum", origin="other_node") == 0.5
    assert watch.value("notbefore_commit_visible_seconds_count", origin="other_node") == 1


async def test_neither_own_commits_nor_what_was_there_at_the_start_are_anothers(watch):
    watch.inner.records = [record_of(6, 0), record_of(7, 0)]
    await followed(watch, Stored(Scope("old"), 1, 6))
    stored = await watch.store.commit(Scope("web"), 0, None)

    await followed(watch, stored)

    assert watch.value("notbefore_commit_visible_seconds_count", origin="other_node") == 0


async def test_a_commit_without_a_record_is_not_timed(watch):
    """That a VM asked is no decision, and has no record."""
    await followed(watch)

    await followed(watch, Stored(Scope("web"), 1, 8))

    assert watch.value("notbefore_commit_visible_seconds_count", origin="other_node") == 0


async def test_the_snapshot_grows_old_when_the_store_does_not_answer(watch):
    """Age of the snapshot: since the changes were last read; a failed read is none."""
    await watch.store.changes_after(0, 10)
    watch.clock.seconds += 30
    assert watch.store.unfollowed_s() == 30
    watch.inner.fails_with = StoreUnavailable("away")
    with pytest.raises(StoreUnavailable):
        await watch.store.changes_after(0, 10)
    assert watch.store.unfollowed_s() == 30

    watch.inner.fails_with = None
    await watch.store.changes_after(0, 10)

    assert watch.store.unfollowed_s() == 0


async def test_a_wait_in_which_nothing_happens_ends_so_that_the_follower_looks(watch):
    """Else a store that hangs could not be told from one in which nothing changes."""
    await asyncio.wait_for(watch.store.wait_for_changes(), 10)


# -- the watch beside the executor


class ScriptedExecutor:
    name = "scripted"

    def __init__(self, clock):
        self.clock = clock
        self.fails_with = None

    async def carry_out(self, impact):
        self.clock.seconds += 12
        if self.fails_with:
            raise self.fails_with
        return Evidence("done")


def impact(earlier_attempts=0):
    return Impact("id", "web", "E", Vm("a"), EventType.REBOOT, -1, 0, earlier_attempts)


async def test_an_attempt_that_is_done_or_fails_has_its_length_on_the_domains_clock(watch):
    inner = ScriptedExecutor(watch.clock)
    executor = MeasuredExecutor(inner, watch.clock, watch.meters)

    assert (await executor.carry_out(impact())).sentence == "done"
    inner.fails_with = ImpactFailure("no")
    with pytest.raises(ImpactFailure):
        await executor.carry_out(impact(earlier_attempts=1))

    for outcome in ("done", "failed"):
        assert watch.value("notbefore_impact_duration_seconds_sum", type="Reboot", outcome=outcome) == 12
    assert watch.value("notbefore_impact_retries_total", type="Reboot") == 1
    assert executor.name == "scripted"


async def test_an_attempt_that_a_stopping_server_leaves_is_not_counted(watch):
    """Somebody takes it over; it neither failed nor is it done."""
    inner = ScriptedExecutor(watch.clock)
    inner.fails_with = asyncio.CancelledError()

    with pytest.raises(asyncio.CancelledError):
        await MeasuredExecutor(inner, watch.clock, watch.meters).carry_out(impact())

    for outcome in ("done", "failed"):
        assert watch.value("notbefore_impact_duration_seconds_count", type="Reboot", outcome=outcome) == 0
