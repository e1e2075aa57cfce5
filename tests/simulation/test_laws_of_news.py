"""The law on news: quiet about what is right, and each broken thing is named."""

from dataclasses import replace

import pytest

from notbefore.core.history import Change, HistoryRecord
from notbefore.core.model import Actor, ActorKind
from notbefore.core.news import Interest, gap_between
from notbefore.ports import StoredRecord
from notbefore.simulation.laws.law import Violation
from notbefore.simulation.laws.news import REFUSALS_MIN, NewsOfHistory
from notbefore.simulation.steps import DocumentPut, Ended, NewsArrived, NewsRefused

OPERATOR = Actor(ActorKind.OPERATOR, "ops")


class Told:
    """A run in which records are committed and told, by hand."""

    def __init__(self, target="everything"):
        self.target = target
        self.law = NewsOfHistory()
        self.records = []
        self.law.see(DocumentPut(0, "m1.1", "notify", target, b"{}", None), self)

    def commit(self, scope="", *words):
        revision = len(self.records) + 1
        changes = tuple(Change(word, "why", OPERATOR) for word in words or ("host declared",))
        record = HistoryRecord(scope, revision, f"request {revision}", 0, changes)
        self.records.append(StoredRecord(revision, record))
        self.law.see(DocumentPut(revision, "m1.1", "host", "h", b"x", record), self)
        return list(Interest().wanted_of(revision, record))

    def arrives(self, news, process="m1.1"):
        self.law.see(NewsArrived(0, process, self.target, news, again=False), self)

    def refused(self, news):
        self.law.see(NewsRefused(0, "m1.1", self.target, news), self)

    def end(self):
        self.law.see(Ended(0), self)


@pytest.fixture
def run():
    return Told()


def test_told_in_order_and_told_again_is_no_violation(run):
    """At least once; also two scopes in another order than they were committed in."""
    (first,), (second, third), (other,) = run.commit("shop"), run.commit("shop", "a", "b"), run.commit("bank")
    for news in (other, first, second, first, second, third):
        run.arrives(news)
    run.arrives(first, process="m2.1")
    run.end()


def test_what_is_never_told_is_named(run):
    """Nothing lags when the run ends."""
    run.commit("shop")

    with pytest.raises(Violation, match=r"never told of \(1, 0\)"):
        run.end()


def test_a_later_change_before_an_earlier_one_of_its_scope_is_named(run):
    """In order per scope."""
    _, (late,) = run.commit("shop"), run.commit("shop")

    with pytest.raises(Violation, match="before it has"):
        run.arrives(late)


@pytest.mark.parametrize("spoilt", [{"id": "another"}, {"number": 1}, {"revision": 2}])
def test_another_id_or_content_than_was_committed_is_named(run, spoilt):
    """Ids are stable, and belong to one change for good."""
    first, _ = run.commit("shop", "a", "b")
    run.commit("shop", "c", "d")
    run.arrives(first)

    with pytest.raises(Violation):
        run.arrives(replace(first, **spoilt))


def test_what_was_refused_often_enough_may_be_left_out_and_not_before(run):
    """Given up after a documented number of tries."""
    (poison,), (next_one,) = run.commit("shop"), run.commit("shop")
    for _ in range(REFUSALS_MIN):
        run.refused(poison)
    run.arrives(next_one)
    run.end()

    hasty = Told()
    (poison,), (next_one,) = hasty.commit("shop"), hasty.commit("shop")
    hasty.refused(poison)
    with pytest.raises(Violation, match="before it has"):
        hasty.arrives(next_one)


def test_what_was_retired_may_be_left_out_when_that_is_told(run):
    """A gap is announced, never passed over; and only what is gone is excused."""
    _, (second,) = run.commit("shop"), run.commit("shop")
    gone = run.records.pop(0)
    with pytest.raises(Violation, match="before it has"):
        run.arrives(second)

    told = Told()
    _, (second,) = told.commit("shop"), told.commit("shop")
    told.records.remove(gone)
    told.arrives(gap_between(0, 1))
    told.arrives(second)
    told.end()


def test_a_target_gets_what_it_wants_and_nothing_else():
    """The one that wants starts of some scopes."""
    run = Told("starts")
    (start, other) = run.commit("bank", "started: approved", "completed")
    run.commit("shop", "started: approved")
    run.arrives(start)
    run.end()

    with pytest.raises(Violation, match="does not want"):
        run.arrives(other)
