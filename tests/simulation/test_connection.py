"""The simulated store: atomic, conflicting, away, ambiguous in three ways, and there when the process that wrote is not."""

from random import Random

import pytest

from notbefore.core.errors import ScopeTooLarge, StoreUnavailable
from notbefore.core.history import Change, HistoryRecord
from notbefore.core.model import THE_SERVICE, Scope, Vm
from notbefore.ports import HistoryQuery, OutcomeUnknown, VersionConflict
from notbefore.simulation.connection import Connection
from notbefore.simulation.disk import Disk
from notbefore.simulation.scheduler import SECOND_US, Process, Scheduler
from notbefore.simulation.trouble import Trouble

SHOP = Scope("Shop", vms=(Vm("a"),))


class Wire:
    """A disk, a process on it, and what became of what the process tried."""

    def __init__(self):
        self.scheduler = Scheduler(Random(1))
        self.steps = []
        self.disk = Disk(self.scheduler, self.steps.append)
        self.crashes = []
        self.process = Process("m1.1")
        self.connection = self.connected("m1.1")

    def connected(self, name):
        return Connection(name, self.disk, self.scheduler, Random(3), lambda _: True, lambda: self.crashes.append(name))

    def outcome_of(self, work, wait_s=20):
        outcomes = []

        async def run():
            try:
                outcomes.append(await work)
            except (VersionConflict, OutcomeUnknown, StoreUnavailable) as error:
                outcomes.append(type(error))

        self.scheduler.spawn(self.process, "work", run())
        self.scheduler.run_until(self.scheduler.now_us + wait_s * SECOND_US)
        return outcomes[0] if outcomes else None

    def until_struck(self, trouble, version=0):
        """A trouble strikes every other time: commit until it has."""
        self.connection.suffer({trouble: 1})
        for _ in range(50):
            outcome = self.outcome_of(self.connection.commit(SHOP, version, None))
            if outcome is None or isinstance(outcome, type):
                return outcome
            version = outcome.version
        raise AssertionError(f"{trouble} never struck")


@pytest.fixture
def wire():
    return Wire()


def test_a_commit_is_there_for_everyone_once_it_is_reported(wire):
    """ports.Store: one compare-and-set on one scope, with its history record."""
    record = HistoryRecord("Shop", 5, "r", 1, (Change("declared", "by test", THE_SERVICE),))

    stored = wire.outcome_of(wire.connection.commit(SHOP, 0, record))

    assert (stored.scope, stored.version) == (SHOP, 1)
    assert wire.outcome_of(wire.connected("m2.1").load("shop")) == stored
    assert [one.record for one in wire.outcome_of(wire.connection.history(HistoryQuery(scope="SHOP")))] == [record]
    assert wire.outcome_of(wire.connection.history(HistoryQuery(scope="other"))) == []


def test_a_commit_on_an_older_version_conflicts(wire):
    """ports.Store: another commit came first."""
    wire.outcome_of(wire.connection.commit(SHOP, 0, None))

    assert wire.outcome_of(wire.connection.commit(SHOP, 0, None)) is VersionConflict
    assert wire.disk.scopes["shop"].version == 1


def test_a_store_that_is_away_refuses_and_takes_nothing(wire):
    """A lost connection: nothing was promised."""
    wire.connection.suffer({Trouble.STORE_AWAY: 1})

    assert wire.outcome_of(wire.connection.commit(SHOP, 0, None)) is StoreUnavailable
    assert wire.outcome_of(wire.connection.load("shop")) is StoreUnavailable
    assert wire.outcome_of(wire.connection.wait_for_changes()) is StoreUnavailable
    assert not wire.disk.scopes


@pytest.mark.parametrize(
    ("trouble", "grows_by"), [(Trouble.UNKNOWN_WRITTEN, 1), (Trouble.UNKNOWN_LOST, 0), (Trouble.UNKNOWN_LATE, 1)]
)
def test_a_write_of_unknown_outcome_is_there_or_never_comes_or_comes_later(wire, trouble, grows_by):
    """An ambiguous timeout, with the write there or not."""
    versions = []
    wire.connection.suffer({trouble: 1})
    while True:
        before = wire.disk.scopes["shop"].version if wire.disk.scopes else 0
        outcome = wire.outcome_of(wire.connection.commit(SHOP, before, None))
        versions.append(wire.disk.scopes["shop"].version if wire.disk.scopes else 0)
        if outcome is OutcomeUnknown:
            break

    assert versions[-1] - before == grows_by


@pytest.mark.parametrize(("trouble", "is_there"), [(Trouble.CRASH_BEFORE_COMMIT, 0), (Trouble.CRASH_AFTER_COMMIT, 1)])
def test_a_process_that_crashes_at_its_commit_hears_nothing_of_it(wire, trouble, is_there):
    """Crash before and after commit."""
    assert wire.until_struck(trouble) is None
    reported = len(wire.steps) - is_there

    assert wire.crashes == ["m1.1"]
    assert wire.disk.scopes["shop"].version == reported + is_there if wire.disk.scopes else is_there == 0


def test_a_follower_is_woken_by_anybodys_commit_within_fifty_milliseconds(wire):
    """DESIGN §2: other nodes within 100 ms."""
    woken = []

    async def follow():
        await wire.connection.wait_for_changes()
        woken.append(wire.scheduler.now_us)

    wire.scheduler.spawn(Process("f"), "follow", follow())
    wire.scheduler.run_until(SECOND_US)
    assert not woken
    wire.outcome_of(wire.connected("m2.1").commit(SHOP, 0, None))

    assert woken[0] - wire.steps[0].at_us <= 50_000
    assert [one.scope for one in wire.outcome_of(wire.connection.changes_after(0, 10))] == [SHOP]
    assert wire.outcome_of(wire.connection.changes_after(1, 10)) == []


async def test_what_no_store_could_keep_is_refused_here_too(wire):
    """Scopes pass through the stores' own encoding."""
    huge = Scope("huge", vms=(Vm("a", tags={"t": "x" * 600_000}),))

    with pytest.raises(ScopeTooLarge):
        await wire.connection.commit(huge, 0, None)
