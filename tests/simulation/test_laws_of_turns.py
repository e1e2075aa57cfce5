"""The law on who is next: an update domain whose turn has come does not wait on (SPEC §3.4)."""

from dataclasses import replace

from law_steps import HOUR, MINUTE, broken, cancel, complete, maintain, run_with, tick

from notbefore.core.kinds import Status
from notbefore.core.model import Vm
from notbefore.simulation.laws.turns import Turns

DOMAINS = (Vm("a"), Vm("b", 1))
REST = 30


def first_domain_over(**settings):
    """Two domains under maintenance; the first has just ended, the second queues."""
    run = run_with(Turns(), *DOMAINS, **settings)
    run.take(maintain())
    first, second = run.scope().events
    run.at(2 * MINUTE)
    run.shows("a")
    starts(run, first)
    return run, first, second


def starts(run, event):
    begun = replace(event, status=Status.STARTED, started_at_ms=run.wall_ms("one"))
    run.commit(run.scope().with_event(begun))


def forgotten(run, first, second):
    """What a process commits that forgets the queue when the first domain ends."""
    decision = run.decided(complete(first))
    run.commit(decision.scope.with_event(second), decision.record)


def test_the_next_domain_has_its_turn_when_the_former_has_ended():
    """§3.4: the next UD's event becomes visible when the former has ended."""
    run, first, _ = first_domain_over()
    run.take(complete(first))
    run.at(HOUR)
    run.shows("a")

    run, first, second = first_domain_over()
    forgotten(run, first, second)
    run.at(2 * MINUTE + 5)
    run.shows("a")
    run.at(2 * MINUTE + 6)
    with broken("§3.4", "still Queued"):
        run.shows("a")


def test_the_next_domain_waits_while_another_is_visible():
    run, _, _ = first_domain_over()
    run.at(HOUR)
    run.shows("a")


def test_the_next_domain_waits_until_the_former_has_rested():
    """§3.4: plus `recovery_s`."""
    run, first, _ = first_domain_over(recovery_s=REST)
    run.take(complete(first))
    run.at(2 * MINUTE + REST + 5)
    run.shows("a")
    run.at(2 * MINUTE + REST + 6)
    with broken("§3.4", "after one should have given update domain 1 its turn"):
        run.shows("a")


def test_a_cancelled_domain_is_owed_no_rest():
    run = run_with(Turns(), *DOMAINS, recovery_s=REST)
    run.take(maintain())
    first, second = run.scope().events
    decision = run.decided(cancel(first))
    run.commit(decision.scope.with_event(second), decision.record)
    run.at(MINUTE + 6)
    with broken("§3.4", "still Queued"):
        run.shows("a")


def test_a_rest_is_over_on_the_wall_of_whoever_gives_the_turn():
    run, first, _ = first_domain_over(recovery_s=REST)
    run.step_clock(-HOUR, "two")
    run.take(complete(first))
    run.end_process("one")
    run.at(HOUR)
    run.shows("a", process="two")
    run.at(2 * MINUTE + HOUR + REST + 6)
    with broken("§3.4", "after two should have given"):
        run.shows("a", process="two")


def test_nobody_is_blamed_whose_wall_was_stepped_or_who_is_in_trouble():
    run, first, _ = first_domain_over(recovery_s=REST)
    run.take(complete(first))
    run.step_clock(-HOUR, "one")
    run.trouble("two", began=True)
    run.at(30 * MINUTE)
    run.shows("a")


def test_one_that_was_cut_off_counts_the_rest_from_when_it_heard_of_it():
    """§4: rather late than early."""
    run, first, _ = first_domain_over(recovery_s=REST)
    run.trouble("two", began=True)
    run.take(complete(first))
    run.end_process("one")
    run.at(10 * MINUTE)
    run.trouble("two", began=False)
    run.at(10 * MINUTE + REST + 5)
    run.shows("a", process="two")
    run.at(10 * MINUTE + REST + 7)
    with broken("§3.4", "after two should have given"):
        run.shows("a", process="two")


def test_one_that_loads_later_goes_by_its_wall_and_gets_five_seconds():
    run, first, _ = first_domain_over(recovery_s=REST)
    run.take(complete(first))
    run.end_process("one")
    run.end_process("two")
    run.at(10 * MINUTE)
    run.load_process("three")
    run.at(10 * MINUTE + 4)
    run.shows("a", process="three")
    run.at(10 * MINUTE + 40)
    with broken("§3.4", "after three should have given"):
        run.shows("a", process="three")


def test_a_turn_that_was_given_or_cancelled_in_time_is_well():
    for happens in (lambda run, _: run.take(tick()), lambda run, second: run.take(cancel(second))):
        run, first, second = first_domain_over(recovery_s=REST)
        run.take(complete(first))
        run.at(2 * MINUTE + REST)
        happens(run, second)
        run.at(HOUR)
        run.shows("a")
