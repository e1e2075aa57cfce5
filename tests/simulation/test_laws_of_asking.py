"""The laws on who asks: whose address it is, whose word, who enabled the scope, and how often (SPEC §2.1, §2.4, §2.5, §5)."""

from law_steps import (
    DAY,
    HOUR,
    MINUTE,
    Run,
    approve,
    asked,
    broken,
    cancel,
    declare,
    maintain,
    remove,
    run_with,
    scheduled,
)

from notbefore.core.kinds import Listening, Policy
from notbefore.core.model import Vm
from notbefore.simulation.laws.approvals import Approvals
from notbefore.simulation.laws.isolation import Isolation
from notbefore.simulation.laws.listening import ListeningScopes
from notbefore.simulation.laws.rate import Rate

A = Vm("a", addresses=("10.0.0.1",))
X = Vm("x", addresses=("10.0.0.2", "10.0.0.1"))
X_ALONE = Vm("x", addresses=("10.0.0.2",))


# -- §5: addresses


def claimed_twice():
    """Since a minute `a` has its address, and from now on x of another scope claims it too."""
    run = run_with(Isolation(), A)
    run.take(declare(X, scope="bank"))
    return run


def test_s8_an_address_claimed_twice_identifies_nobody():
    """§5: an address claimed by two VMs identifies nobody: the service answers 403."""
    run = claimed_twice()
    run.at(MINUTE + 6)
    run.refuses("a", 403)
    with broken("S8", "claimed twice"):
        run.shows("a")
    with broken("S8", "claimed twice"):
        run.shows("bank/x", scope=run.scope("bank"), address="10.0.0.1")
    run.shows("bank/x", scope=run.scope("bank"), address="10.0.0.2")


def test_a_process_may_need_five_seconds_to_hear_of_the_second_claim():
    run = claimed_twice()
    run.at(MINUTE + 4)
    run.shows("a")
    run.trouble(began=True)
    run.at(5 * MINUTE)
    run.shows("a")
    run.trouble(began=False)
    run.at(5 * MINUTE + 4)
    run.shows("a")
    run.at(5 * MINUTE + 6)
    with broken("S8", "claimed twice"):
        run.shows("a")


def test_a_third_claim_that_comes_and_goes_makes_no_difference():
    run = claimed_twice()
    run.at(2 * MINUTE)
    run.take(declare(Vm("y", addresses=("10.0.0.1",)), scope="mail"))
    with broken("S8", "claimed twice"):
        run.shows("a")


def test_s8_a_vm_that_alone_has_its_address_is_known():
    """§5: the source address, when registered to exactly one VM; else 403."""
    run = Run(Isolation())
    run.take(declare(A))
    run.at(4)
    run.refuses("a", 403)
    run.at(6)
    with broken("S8", "refused as unknown"):
        run.refuses("a", 403)
    run.refuses("b", 403)
    run.refuses("a", 403, address="10.0.0.77")
    run.refuses("a", 429)


def test_nobody_is_blamed_for_a_403_until_the_other_claim_is_surely_forgotten():
    run = claimed_twice()
    run.at(2 * MINUTE)
    run.take(declare(X_ALONE, scope="bank"))
    run.at(2 * MINUTE + 4)
    run.refuses("a", 403)
    run.at(2 * MINUTE + 6)
    run.trouble("two", began=True)
    run.refuses("a", 403, process="two")
    with broken("S8", "refused as unknown"):
        run.refuses("a", 403)
    run.shows("a")


def test_nobody_is_blamed_for_a_403_to_a_vm_of_a_scope_that_was_removed():
    run = run_with(Isolation(), A)
    run.take(remove())
    run.refuses("a", 403)
    run.at(HOUR)
    run.refuses("a", 403)
    run.take(declare(A))
    run.refuses("a", 403)
    run.at(2 * HOUR)
    with broken("S8", "refused as unknown"):
        run.refuses("a", 403)


# -- S7 and §2.4: whose word it is


def waiting_for_all(*vms):
    """An event that waits for the word of each of its VMs."""
    return scheduled(Approvals(), *vms, request=maintain(), approval={"default": Policy.ALL})


def test_s7_a_vms_word_is_its_own():
    """§2.4: a VM approves by a POST that names the event, in any letter case."""
    run = waiting_for_all()
    run.sends("a", run.event.id.lower())
    run.take(approve(run.event, by="a"))
    with broken("S7", "it has the word of vm b, who did not give it"):
        run.take(approve(run.event, by="b"))


def test_s7_a_word_on_one_event_is_none_on_another():
    run = run_with(Approvals(), approval={"default": Policy.ALL})
    run.take(maintain(vms=("a",)))
    run.take(maintain(vms=("b",)))
    first, second = run.scope().events
    run.sends("a", first)
    with broken("S7", "who did not give it"):
        run.take(approve(second, by="a"))


def test_a_request_that_was_refused_changes_nothing():
    """§2.4: all or nothing: a request with one bad id changes nothing."""
    for status in (400, 403, 429):
        run = waiting_for_all()
        run.posts("a", run.event, "no such event", status=status)
        with broken("S7", "who did not give it"):
            run.take(approve(run.event, by="a"))


def test_what_was_recorded_is_not_refused():
    run = waiting_for_all()
    sent = run.sends("a", run.event, "no such event")
    run.take(approve(run.event, by="a"))
    with broken("§2.4", "a got 400, and its word on"):
        run.answers(sent, 400)


def test_a_word_given_before_stands_when_a_later_request_is_refused():
    run = waiting_for_all()
    run.approves("a", run.event)
    run.at(2 * MINUTE)
    run.posts("a", run.event, "no such event", status=400)


def test_a_request_answered_503_or_never_may_still_be_heard():
    """A write whose outcome is unknown may come later."""
    run = waiting_for_all("a", "b", "c")
    run.posts("a", run.event, status=503)
    run.sends("b", run.event, process="two")
    run.end_process("two")
    run.at(2 * MINUTE)
    run.posts("b", run.event, "no such event", status=400)
    run.take(approve(run.event, by="a"))
    run.take(approve(run.event, by="b"))


def test_a_word_from_an_address_that_was_anothers_may_have_been_taken_for_the_others():
    run = waiting_for_all(A, "b")
    run.take(declare(X, scope="bank"))
    run.sends("bank/x", run.event)
    run.take(declare(X_ALONE, scope="bank"))
    run.sends("bank/x", run.event)
    with broken("S7", "who did not give it"):
        run.take(approve(run.event, by="a"))

    run = waiting_for_all(A, "b")
    run.take(declare(Vm("x", addresses=("10.0.0.1",)), scope="bank"))
    run.sends("bank/x", run.event)
    run.take(approve(run.event, by="a"))


# -- §2.5: enabling


def enabled(by="b"):
    run = run_with(ListeningScopes(), "a", "b", listening=Listening.AUTO)
    run.at(HOUR)
    run.hears(by)
    return run


def test_the_first_asked_of_a_scope_is_committed_before_its_answer():
    """§2.5: the first asked of a scope is committed before its answer."""
    for status in (200, 304):
        run = run_with(ListeningScopes(), listening=Listening.AUTO)
        run.at(HOUR)
        with broken("§2.5", "answered a, the first in a day"):
            run.shows("a", known=1, status=status)

    run = enabled()
    run.at(DAY)
    run.shows("a")
    run.at(HOUR + DAY + 1)
    with broken("§2.5", "answered a, the first in a day"):
        run.shows("a")


def test_a_refusal_enables_nothing_and_needs_no_commit():
    """§2.5: 400, 403 and 429 do not count."""
    run = run_with(ListeningScopes(), listening=Listening.AUTO)
    run.at(HOUR)
    for status in (400, 403, 429):
        run.refuses("a", status)


def test_the_day_is_one_of_the_answering_machines_wall():
    run = enabled()
    run.step_clock(2 * DAY, "two")
    run.shows("a", process="two")
    run.at(HOUR + 1)
    run.shows("a")
    with broken("§2.5", "two answered a"):
        run.shows("a", process="two")


def test_a_question_that_was_long_in_coming_is_judged_by_when_it_was_asked():
    run = enabled()
    run.at(HOUR + DAY - 5)
    sent = run.sends("a", "no such event")
    run.at(HOUR + DAY + 5)
    run.answers(sent, 200)


def test_nobody_is_blamed_when_the_one_who_asked_has_just_left():
    run = enabled(by="b")
    run.at(2 * HOUR)
    run.take(declare("a", listening=Listening.AUTO))
    run.shows("a")
    run.at(2 * HOUR + 50)
    run.shows("a")
    run.at(3 * HOUR)
    with broken("§2.5", "answered a"):
        run.shows("a")


def test_nobody_is_blamed_for_what_it_could_not_hear_of():
    run = enabled(by="b")
    run.trouble("two", began=True)
    run.take(declare("a", listening=Listening.AUTO))
    run.at(5 * HOUR)
    run.shows("a", process="two")


# -- §2.1: rate


def test_a_vm_is_answered_five_times_a_second():
    """§2.1: 5 requests/s per VM by default; else 429."""
    run = run_with(Rate())
    for n in range(60):
        run.at(MINUTE + n / 5)
        run.shows("a")
        run.refuses("a", 429)

    run = run_with(Rate())
    with broken("§2.1", "one answered shop/a faster than five times a second"):
        for n in range(60):
            run.at(MINUTE + n / 6)
            run.shows("a")


def test_a_bucket_holds_one_seconds_worth():
    run = run_with(Rate())
    for _ in range(6):
        run.shows("a")
    with broken("§2.1", "faster than five times a second"):
        run.shows("a")


def test_each_process_and_each_vm_has_a_bucket_of_its_own():
    run = run_with(Rate())
    for process in ("one", "two"):
        for vm in ("a", "b"):
            for _ in range(5):
                run.shows(vm, process)


def test_every_well_formed_request_of_a_known_vm_counts():
    """§2.1: every well-formed request of a known VM counts; what is refused before the rate does not."""
    run = run_with(Rate())
    for _ in range(20):
        run.refuses("a", 403)
    with broken("§2.1", "faster than five times a second"):
        for _ in range(7):
            run.posts("a", body=b"{", status=400)


# -- What ended


def test_what_was_asked_of_an_event_that_is_gone_is_harmless():
    run = waiting_for_all()
    event = run.event
    run.take(cancel(event))
    run.posts("a", event, status=400)
    run.take(asked("a", run.wall_ms("one")))
