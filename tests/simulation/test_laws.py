"""The laws themselves: each is quiet on what is right, and says so when one fact is wrong (SPEC §6)."""

from dataclasses import replace

from law_steps import (
    HOUR,
    MINUTE,
    NOON_MS,
    OPERATOR,
    QUARTER,
    Run,
    approve,
    asked,
    broken,
    cancel,
    claim,
    complete,
    declare,
    failed,
    finished,
    host_failed,
    maintain,
    operate,
    remove,
    restart,
    run_with,
    scheduled,
    started,
    telling,
    tick,
    with_event,
)

from notbefore.core.kinds import EventType, Listening, Policy, Status, VmState
from notbefore.core.model import Actor, ActorKind, Approval, Outcome, Vm
from notbefore.core.times import Span
from notbefore.simulation.laws.all import all_laws
from notbefore.simulation.laws.approvals import Approvals
from notbefore.simulation.laws.domains import Domains
from notbefore.simulation.laws.endings import Endings
from notbefore.simulation.laws.event_ids import EventIds
from notbefore.simulation.laws.history import History
from notbefore.simulation.laws.impacts import Impacts
from notbefore.simulation.laws.incarnation import Incarnation
from notbefore.simulation.laws.isolation import Isolation
from notbefore.simulation.laws.listening import ListeningScopes
from notbefore.simulation.laws.liveness import Liveness
from notbefore.simulation.laws.notice import Notice
from notbefore.simulation.laws.starts import Starts
from notbefore.simulation.laws.streams import Streams

# -- What is right


def test_all_laws_are_quiet_about_a_life_as_it_should_be():
    """Rule 1 of a law: it blames what SPEC forbids and nothing else."""
    run = Run(*all_laws())
    run.take(declare(Vm("a", addresses=("10.0.0.1",)), Vm("b", 1), recovery_s=30, listening=Listening.AUTO))
    run.at(3)
    run.take(asked("a", NOON_MS + 3000))
    run.shows("a")
    run.take(maintain())
    first, second = run.scope().events
    run.shows("a", known=1)
    run.at(10)
    run.approves("a", first)
    run.shows("a", known=2)
    run.carry_out(first, "a")
    run.at(10 + 31)
    run.take(tick())
    run.shows("b", version="2017-03-01")
    run.at(10 + 32 + QUARTER)
    run.take(tick())
    run.carry_out(second, "b")
    run.shows("a", known=2)
    run.at(2 * HOUR)
    run.shows("a", known=run.scope().incarnation)
    run.end()

    assert not run.scope().events


# -- S2


def test_s2_the_notice_is_given_whole():
    """S2: NotBefore - visible-since ≥ the notice."""
    run = run_with(Notice())
    decision = run.decided(restart("a"))
    (event,) = decision.scope.events
    short = Span(event.notice.since, event.notice.until_ms - 1000)

    with broken("S2", "899000 ms of notice instead of 900 s"):
        run.commit(with_event(decision.scope, event, notice=short), decision.record)


def test_s2_not_before_is_on_a_whole_second():
    """§2.3: rounded up to the second and stored so."""
    run = run_with(Notice())
    decision = run.decided(restart("a"))
    (event,) = decision.scope.events
    crooked = Span(event.notice.since, event.notice.until_ms + 1)

    with broken("S2", "not on a whole second"):
        run.commit(with_event(decision.scope, event, notice=crooked), decision.record)


def test_s2_visible_since_is_when_it_became_visible():
    """S2: measured from when it could be seen."""
    run = run_with(Notice())
    decision = run.decided(restart("a"))
    (event,) = decision.scope.events

    with broken("S2", "says that it was at"):
        run.commit(with_event(decision.scope, event, visible_since_ms=NOON_MS), decision.record)


def test_s2_a_promise_is_not_moved():
    """S2: across restarts and clock steps; a promise once made stands, also a longer one."""
    run = scheduled(Notice())
    longer = Span(run.event.notice.since, run.event.notice.until_ms + 60_000)

    with broken("S2", "was moved"):
        run.commit(with_event(run.scope(), run.event, notice=longer))


# -- S1


def test_s1_a_start_has_a_cause_in_history():
    """S1: no impact before NotBefore unless …"""
    run = scheduled(Starts())

    with broken("S1", "names 0 causes"):
        run.commit(with_event(run.scope(), run.event, status=Status.STARTED))


def test_s1_a_cause_is_one_of_the_five():
    run = scheduled(Starts())
    decision = run.decided(approve(run.event))

    with broken("S1", "started as 'high time'"):
        run.commit(decision.scope, telling(decision.record, what="started: high time"))


def test_s1_an_event_that_had_its_notice_starts_by_a_word_or_when_it_is_due():
    run = scheduled(Starts())
    decision = run.decided(approve(run.event))

    with broken("S1", "started as 'auto-approved' and was Scheduled"):
        run.commit(decision.scope, telling(decision.record, what="started: auto-approved"))


def released(run, event, by):
    """What a process commits that takes this one word for enough."""
    decision = run.decided(approve(event, by=by))
    run.commit(
        with_event(decision.scope, event, status=Status.STARTED), telling(decision.record, what="started: approved")
    )


def test_s1_everybody_who_has_to_speak_has_spoken():
    """§3.2: `all` (every impacted VM), `leader` (first VM in `Resources`), `any`."""
    for policy, by in ((Policy.ALL, "a"), (Policy.LEADER, "b")):
        run = scheduled(Starts(), request=maintain(), approval={"default": policy})
        with broken("S1", "those who have to speak have not"):
            released(run, run.event, by)

    for policy, by in ((Policy.ALL, OPERATOR), (Policy.LEADER, "a"), (Policy.ANY, "b")):
        run = scheduled(Starts(), request=maintain(), approval={"Freeze": Policy.ALL, "Reboot": policy})
        released(run, run.event, by)


def test_s1_a_terminate_waits_for_another_as_early():
    """§3.2: an approved Terminate waits while another of the scope as early is neither approved nor due."""
    run = run_with(Starts())
    run.take(operate("terminate", "a"))
    run.take(operate("terminate", "b"))
    with broken("S1", "held it"):
        released(run, run.scope().events[0], "a")


def due(run, process="one", back_s=0):
    """What a process commits that thinks the event due, whatever its clock shows; `back_s` before NotBefore."""
    event = run.event
    record = run.decided(cancel(event), process).record
    begun = replace(event, status=Status.STARTED)
    at_ms = max(record.at_ms, event.not_before_ms) - back_s * 1000
    changes = (replace(record.changes[0], what="started: notice ended", event=begun),)
    run.commit(run.scope().with_event(begun), replace(record, at_ms=at_ms, changes=changes), process)


def test_s1_due_means_that_the_wall_of_whoever_decides_shows_not_before():
    run = scheduled(Starts())
    run.at(MINUTE + QUARTER)
    due(run)

    run = scheduled(Starts())
    run.at(MINUTE + QUARTER)
    with broken("S1", "1000 ms before NotBefore by the wall"):
        due(run, back_s=1)


def test_s1_a_wall_stepped_forward_shortens_no_promise():
    """§4: the notice has really elapsed, for the process that made the promise and for one that saw it being made."""
    for process in ("one", "two"):
        run = scheduled(Starts())
        run.at(QUARTER)
        run.step_clock(HOUR, process)

        with broken("S1", "before its notice had really elapsed"):
            due(run, process)


def test_s1_a_process_of_the_same_boot_knows_when_the_promise_was_made():
    run = scheduled(Starts())
    run.at(5 * MINUTE)
    run.load_process("one again", boot_id="boot-one")
    run.step_clock(HOUR, "one again")

    with broken("S1", "before its notice had really elapsed"):
        due(run, "one again")


def test_s1_a_promise_found_at_load_is_kept_from_there_on():
    """§4: after another boot the wall clock decides; a step after that shortens nothing either."""
    run = scheduled(Starts())
    run.at(5 * MINUTE)
    run.load_process("three")
    run.at(7 * MINUTE)
    run.step_clock(HOUR, "three")

    with broken("S1", "before its notice had really elapsed"):
        due(run, "three")

    run = scheduled(Starts())
    run.at(5 * MINUTE)
    run.stepped_ms["three"] = HOUR * 1000
    run.load_process("three")
    due(run, "three")


def cut_off_while_it_was_promised():
    """A process that was loaded before the promise, and met it minutes late."""
    run = run_with(Starts())
    run.trouble("two", began=True)
    run.take(restart("a"))
    run.at(6 * MINUTE)
    run.trouble("two", began=False)
    run.step_clock(HOUR, "two")
    return run


def test_s1_a_process_that_was_cut_off_when_the_promise_was_made_lets_all_of_it_elapse():
    """§4: a wall clock stepped forward shortens no promise, whoever keeps it: rather late than early."""
    run = cut_off_while_it_was_promised()
    run.at(MINUTE + QUARTER)
    due(run, "two")

    run = cut_off_while_it_was_promised()
    run.at(QUARTER)
    with broken("S1", "before its notice had really elapsed"):
        due(run, "two")


def test_s1_a_process_that_was_cut_off_later_lets_all_of_it_elapse():
    run = scheduled(Starts())
    run.at(5 * MINUTE)
    run.trouble("two", began=True)
    run.step_clock(HOUR, "two")
    with broken("S1", "before its notice had really elapsed"):
        due(run, "two")


def test_s1_auto_approval_is_a_rule_of_the_scope():
    """§3.2: auto-approve per source and type."""
    run = run_with(Starts(), auto_approve=("User:Reboot",))
    decision = run.decided(restart("a"))
    run.commit(decision.scope, decision.record)

    run = run_with(Starts())
    with broken("S1", "no rule of its scope"):
        run.commit(replace(decision.scope, settings=run.scope().settings), decision.record)


def test_s1_no_notice_is_for_failed_hosts_and_hidden_operations():
    """§3.1: host failed: none. §3.3: user_events = false."""
    run = run_with(Starts(), Vm("a", host="h1"))
    decision = run.decided(host_failed("h1"))
    run.commit(decision.scope, decision.record)

    run = run_with(Starts(), Vm("a", host="h1"))
    (event,) = decision.scope.events
    with broken("S1", "neither failed its host"):
        run.commit(with_event(decision.scope, event, unplanned=False), decision.record)


def test_s1_that_a_host_failed_is_an_operators_word_and_the_vms_are_told_so():
    """§3.1: host failed: Reboot, Platform, none, "Virtual machine has encountered a failure."."""
    run = run_with(Starts(), Vm("a", host="h1"))
    decision = run.decided(host_failed("h1"))
    (event,) = decision.scope.events
    with broken("S1", "neither failed its host"):
        run.commit(
            with_event(decision.scope, event, description="Host server is undergoing maintenance."), decision.record
        )

    run = run_with(Starts(), Vm("a", host="h1"))
    with broken("S1", "neither failed its host"):
        run.commit(decision.scope, telling(decision.record, by=Actor(ActorKind.CLOCK)))

    run = scheduled(Starts(), Vm("a", host="h1"))
    planned, made = run.event, replace(event, id=run.event.id)
    with broken("S1", "and was Scheduled before"):
        run.commit(run.scope().with_event(made), telling(decision.record, event=made))
    assert planned.status is Status.SCHEDULED


# -- S1 and §2.5: listening


def unheard(run, settings=None):
    """What a process commits that thinks nobody listens."""
    silent = replace(run.scope(), asked_ms={}, settings=replace(run.scope().settings, listening=Listening.NEVER))
    run.scopes["shop"], kept = replace(run.scopes["shop"], scope=silent), run.scopes["shop"]
    decision = run.decided(restart("a"))
    run.scopes["shop"] = kept
    return replace(decision.scope, settings=settings or kept.scope.settings), decision.record


def test_a_scope_set_to_always_listens():
    run = run_with(ListeningScopes())
    with broken("S1", "listening = always"):
        run.commit(*unheard(run))


def test_a_scope_listens_while_any_of_its_vms_asked_within_a_day():
    """§2.5: any 200 or 304 to a VM records last asked for it."""
    run = run_with(ListeningScopes(), listening=Listening.AUTO)
    run.commit(*unheard(run))

    for process in ("one", "two"):
        run = run_with(ListeningScopes(), listening=Listening.AUTO)
        run.at(3 * HOUR)
        run.hears("b")
        run.at(22 * HOUR)
        scope, record = unheard(run)
        with broken("S1", "b had asked one 68400 s before"):
            run.commit(scope, record, process)


def test_nobody_is_blamed_for_not_knowing_who_asked_after_a_step_or_in_trouble_or_of_one_who_left():
    run = run_with(ListeningScopes(), listening=Listening.AUTO)
    run.at(3 * HOUR)
    run.hears("b", process="two")
    run.step_clock(-1)
    run.commit(*unheard(run))

    run = run_with(ListeningScopes(), listening=Listening.AUTO)
    run.at(3 * HOUR)
    run.hears("b", process="two")
    run.trouble("two", began=True)
    run.commit(*unheard(run))

    run = run_with(ListeningScopes(), listening=Listening.AUTO)
    run.at(3 * HOUR)
    run.hears("b")
    run.take(declare("a", listening=Listening.AUTO))
    run.commit(*unheard(run))


def test_a_scope_that_does_not_listen_gets_no_notice():
    """§2.5: a scope that does not listen gets no notice."""
    run = run_with(ListeningScopes())
    decision = run.decided(restart("a"))
    for listening, words in ((Listening.NEVER, "listening = never"), (Listening.AUTO, "no VM of its scope asked")):
        deaf = replace(decision.scope, settings=replace(decision.scope.settings, listening=listening))
        with broken("S1", words):
            run.commit(deaf, decision.record)
        run = run_with(ListeningScopes())


# -- S3


def test_s3_the_incarnation_rises_with_every_visible_change():
    """S3: rises with every visible change."""
    run = run_with(Incarnation())
    decision = run.decided(restart("a"))

    with broken("S3", "the document changed and the incarnation rose by 0"):
        run.commit(replace(decision.scope, incarnation=1), decision.record)


def test_s3_it_rises_by_one_and_with_nothing_else():
    run = run_with(Incarnation())
    decision = run.decided(restart("a"))
    with broken("S3", "rose by 2"):
        run.commit(replace(decision.scope, incarnation=3), decision.record)

    run = scheduled(Incarnation())
    with broken("S3", "did not change and the incarnation rose by 1"):
        run.commit(replace(run.scope(), incarnation=3))


def test_s3_it_never_falls_not_even_with_a_scope_that_was_removed():
    """S3: never falls; §2.3: survives restarts, never goes back."""
    run = scheduled(Incarnation())
    run.take(remove(force=True))
    decision = run.decided(declare("a"))

    with broken("S3", "fell by 2"):
        run.commit(replace(decision.scope, incarnation=1), decision.record)


def test_s3_a_number_means_one_content():
    """S3: never repeats with other content."""
    law = Incarnation()
    run = scheduled(law)
    law._last["shop"] = (1, law._last["shop"][1]._replace(events=()), False)

    with broken("S3", "had another content before"):
        run.commit(with_event(run.scope(), run.event, description="another"))


def test_s3_the_underscore_counts_where_it_shows():
    """§2.2: legacy_underscore prefixes names in 2017-03-01."""
    run = scheduled(Incarnation())
    settings = replace(run.scope().settings, legacy_underscore=True)
    with broken("S3", "the document changed"):
        run.commit(replace(run.scope(), settings=settings))

    run = run_with(Incarnation())
    run.commit(replace(run.scope(), settings=settings))
    run.commit(replace(run.scope(), settings=replace(settings, legacy_underscore=False), incarnation=2))


# -- S4


def test_s4_an_event_id_is_an_upper_case_guid():
    """§2.3: GUID, upper case."""
    run = run_with(EventIds())
    decision = run.decided(restart("a"))
    (event,) = decision.scope.events

    with broken("S4", "not an upper-case GUID"):
        run.commit(replace(decision.scope, events=(replace(event, id=event.id.lower()),)), decision.record)


def test_s4_an_event_id_is_never_reused():
    """S4: never reused, in whichever scope."""
    run = scheduled(EventIds())
    event = run.event
    run.take(cancel(event))
    with broken("S4", "used again"):
        run.commit(run.scope().with_event(event))

    run = scheduled(EventIds())
    run.take(declare("x", scope="bank"))
    with broken("S4", "named another event before"):
        run.commit(run.scope("bank").with_event(run.event))


def test_s4_an_event_id_is_stable():
    """S4: stable from first sight to removal."""
    run = scheduled(EventIds())
    with broken("S4", "named another event before"):
        run.commit(with_event(run.scope(), run.event, type=EventType.FREEZE))

    run = scheduled(EventIds())
    twin = replace(run.event, description="twin")
    with broken("S4", "there twice"):
        run.commit(replace(run.scope(), events=(run.event, twin)))


# -- S5


def test_s5_one_update_domain_at_a_time():
    """S5: in one scope at most one UD is under planned platform impact."""
    run = run_with(Domains(), Vm("a", 0), Vm("b", 1))
    decision = run.decided(maintain())
    waiting = decision.scope.events[1]

    with broken("S5", "update domains [0, 1] have their turn at the same time"):
        run.commit(with_event(decision.scope, waiting, status=Status.SCHEDULED), decision.record)


def test_s5_one_event_holds_vms_of_one_domain_and_host_of_its_scope():
    """§3.4: one event holds VMs of one UD and, when hosts are known, of one host."""
    for other, words in ((Vm("b", 1), "several update domains"), (Vm("b", 0, host="h2"), "several hosts")):
        run = run_with(Domains(), Vm("a", host="h1"), other)
        decision = run.decided(maintain(vms=("a",)))
        with broken("S5", words):
            run.commit(with_event(decision.scope, decision.scope.events[0], vms=("a", "b")), decision.record)

    run = run_with(Domains())
    decision = run.decided(restart("a"))
    with broken("S5", "does not have"):
        run.commit(with_event(decision.scope, decision.scope.events[0], vms=("stranger",)), decision.record)


def test_s5_a_vm_does_not_change_its_domain_under_an_event():
    run = scheduled(Domains(), request=maintain())
    with broken("S5", "changed its update domain"):
        run.commit(replace(run.scope(), vms=(Vm("a", 1), Vm("b", 0))))


def resting():
    run = run_with(Domains(), Vm("a", 0), Vm("b", 1), recovery_s=600)
    run.take(maintain())
    first = run.scope().events[0]
    run.take(approve(first))
    run.carry_out(first, "a")
    return run


def entered(run, process="one"):
    """What a process commits that gives the waiting domain its turn now."""
    record = run.decided(cancel(run.event), process).record
    run.commit(with_event(run.scope(), run.event, status=Status.SCHEDULED), record, process)


def test_s5_the_next_domain_waits_until_the_former_has_rested():
    """§3.4: only when the former has ended, plus recovery_s."""
    run = resting()
    run.at(MINUTE + 599)
    with broken("S5", "1000 ms before update domain 0 had rested"):
        entered(run)

    run = resting()
    run.at(MINUTE + 600)
    entered(run)


def test_s5_a_rest_is_not_judged_over_a_step_or_on_another_wall():
    run = resting()
    run.step_clock(5)
    entered(run)

    run = resting()
    entered(run, "two")


def test_s5_no_domain_is_overtaken():
    """§3.4: first come, first served."""
    run = run_with(Domains(), Vm("a", 0), Vm("b", 1), Vm("c", 2))
    run.take(maintain())
    first, second, third = run.scope().events

    with broken("S5", f"overtaken by {third.id}"):
        run.commit(with_event(run.scope().without_event(first.id), third, status=Status.SCHEDULED))
    assert second.status is Status.QUEUED


def test_s5_the_first_of_a_domain_brings_the_others_of_it_along():
    run = run_with(Domains(), Vm("a", 0), Vm("b", 1))
    run.take(maintain())
    run.take(maintain(EventType.FREEZE, update_domains=(1,)))
    run.take(maintain(EventType.FREEZE, update_domains=(0,)))
    run.take(maintain(EventType.REDEPLOY, update_domains=(1,)))
    run.take(cancel(run.scope().events[0]))

    assert [str(e.status) for e in run.scope().events] == ["Scheduled", "Scheduled", "Queued", "Scheduled"]


# -- S6


def test_s6_an_attempt_begins_once():
    """S6: an impact is carried out at most once per attempt id."""
    run = started(Impacts())
    run.take(claim(run.event, "a"))
    run.begins(run.event, "a")
    with broken("S6", "began a second time"):
        run.begins(run.event, "a")


def test_s6_an_attempt_is_claimed_by_whoever_begins_it():
    """S6: also with two servers."""
    run = started(Impacts())
    with broken("S6", "had not claimed it"):
        run.begins(run.event, "a")
    run.take(claim(run.event, "a"))
    with broken("S6", "two had not claimed it"):
        run.begins(run.event, "a", process="two")


def two_impacts_on_one_vm():
    run = started(Impacts(), "a")
    run.take(operate("redeploy", "a"))
    first, second = run.scope().events
    run.take(approve(second))
    run.take(claim(first, "a"))
    run.begins(first, "a")
    return run, first, second


def test_s6_a_vm_has_one_impact_at_a_time():
    run, _, second = two_impacts_on_one_vm()
    run.take(claim(second, "a", node="two"), "two")
    with broken("S6", "was under way"):
        run.begins(second, "a", process="two")

    run, first, second = two_impacts_on_one_vm()
    run.is_over(first, "a")
    run.take(claim(second, "a"))
    run.begins(second, "a")


def test_s6_a_claim_is_left_alone_while_its_process_lives():
    run, first, _ = two_impacts_on_one_vm()
    with broken("S6", "two took it from one, which lives"):
        run.take(claim(first, "a", attempt=2, node="two"), "two")


def test_s6_a_claim_of_a_process_that_ended_no_longer_counts():
    run, first, _ = two_impacts_on_one_vm()
    run.end_process("one")
    run.take(claim(first, "a", attempt=2, node="two"), "two")
    run.begins(first, "a", attempt=2, process="two")

    run, _, second = two_impacts_on_one_vm()
    run.end_process("one")
    run.take(claim(second, "a", node="two"), "two")
    run.begins(second, "a", process="two")


def test_s9_no_impact_begins_for_an_event_that_never_started():
    """S9: a cancelled event never starts."""
    run = scheduled(Impacts())
    with broken("S9", "never Started"):
        run.begins(run.event, "a")


# -- S9


def test_s9_events_go_forward_only():
    """§3: forward only."""
    run = started(Endings())
    with broken("S9", "from Started to Scheduled"):
        run.commit(with_event(run.scope(), run.event, status=Status.SCHEDULED))

    run = started(Endings())
    decision = run.decided(complete(run.event))
    gone = replace(decision.record.changes[-1].event, status=Status.CANCELLED)
    with broken("S9", "from Started to Cancelled"):
        run.commit(decision.scope, telling(decision.record, event=gone))


def test_s9_a_cancelled_event_never_comes_back():
    run = scheduled(Endings())
    event = run.event
    run.take(cancel(event))
    with broken("S9", "had ended and is Started again"):
        run.commit(run.scope().with_event(replace(event, status=Status.STARTED)))


def test_s9_what_history_or_an_answer_calls_cancelled_is_gone():
    """S9: a cancelled event never starts."""
    run = scheduled(Endings())
    request = cancel(run.event)
    record = run.decided(request).record
    with broken("S9", "and it lives on"):
        run.commit(run.scope(), telling(record, event=run.event))

    run.at(2 * MINUTE)
    with broken("S9", "CancelEvent was granted and it is Scheduled"):
        run.answers_operator(request)
    run.take(cancel(run.event))
    run.answers_operator(request)


# -- S10


def test_s10_nothing_is_gone_without_a_word_in_history():
    run = started(Endings())
    with broken("S10", "history does not say how it ended"):
        run.commit(run.scope().without_event(run.event.id))


def test_s10_done_means_that_an_executor_said_so():
    """S10: nothing leaves Started without evidence."""
    run = started(Endings())
    run.take(claim(run.event, "a"))
    with broken("S10", "done without evidence: 'dreamt'"):
        run.take(finished(run.event, "a", evidence="dreamt"))


def test_s10_given_up_means_that_an_executor_failed_at_the_limit():
    """S10: or the retry limit (then `Failed`)."""
    run = started(Endings())
    for attempt in range(1, 6):
        run.take(claim(run.event, "a", attempt))
        run.is_over(run.event, "a", attempt, evidence="")
        run.take(failed(run.event, "a", attempt))
    assert not run.scope().events

    run = started(Endings())
    given_up = Outcome("a", NOON_MS, done=False, evidence="no luck")
    with broken("S10", "given up before its 5th failure"):
        run.commit(with_event(run.scope(), run.event, outcomes=(given_up,)))


def test_s10_every_vm_is_accounted_for():
    """§3.5: it ends when the executor reports every VM done."""
    run = started(Endings(), "a", request=maintain())
    run.take(claim(run.event, "a"))
    run.is_over(run.event, "a")
    decision = run.decided(finished(run.event, "a"))
    bare = replace(decision.record.changes[-1].event, outcomes=())
    with broken("S10", "left Started as 'completed' without"):
        run.commit(decision.scope, telling(decision.record, event=bare))


def test_s10_an_operators_word_is_an_operators():
    """S10: an operator's word."""
    run = started(Endings())
    run.take(complete(run.event))

    run = started(Endings())
    decision = run.decided(complete(run.event))
    with broken("S10", "done without evidence"):
        run.commit(decision.scope, telling(decision.record, by=Actor(ActorKind.VM, "a")))


def test_s10_no_vm_left_means_that_none_is_left():
    run = started(Endings())
    run.take(declare("b", force=True))
    assert not run.scope().events

    run = started(Endings())
    decision = run.decided(complete(run.event))
    event = replace(decision.record.changes[-1].event, outcomes=())
    with broken("S10", "left Started as 'completed: no VM left' without"):
        run.commit(decision.scope, telling(decision.record, what="completed: no VM left", event=event))


def test_s10_a_vm_leaves_an_event_by_leaving_its_scope():
    run = scheduled(Endings(), request=maintain())
    with broken("S10", "its VMs became"):
        run.commit(with_event(run.scope(), run.event, vms=("a",)))

    run = scheduled(Endings(), request=maintain())
    run.take(declare("a", force=True))
    assert run.event.vms == ("a",)


def test_at_most_so_many_user_operations_are_scheduled():
    """§3.3: at most 10 in status Scheduled with source User at once; settable."""
    run = scheduled(Endings(), user_operations_max=1)
    more = replace(run.scope(), settings=replace(run.scope().settings, user_operations_max=2))
    run.scopes["shop"] = replace(run.scopes["shop"], scope=more)
    decision = run.decided(restart("b"))
    fewer = replace(decision.scope, settings=replace(more.settings, user_operations_max=1))

    with broken("§3.3", "2 user operations are Scheduled and 1 may be"):
        run.commit(fewer, decision.record)


def test_a_vm_is_afterwards_what_its_event_made_of_it():
    """§3.5: Terminate done: the VM leaves. Preempt done: it is deallocated. Redeploy done: its new host is recorded."""
    for operation, spoilt in (
        ("terminate", Vm("a")),
        ("evict", Vm("a")),
        ("redeploy", Vm("a", host="h1")),
    ):
        run = started(Endings(), Vm("a", host="h1"), request=operate(operation, "a"))
        run.carry_out(run.event, "a", new_host="h2")

        run = started(Endings(), Vm("a", host="h1"), request=operate(operation, "a"))
        run.take(claim(run.event, "a"))
        run.is_over(run.event, "a", new_host="h2")
        decision = run.decided(finished(run.event, "a", new_host="h2"))
        with broken("§3.5", "a"):
            run.commit(replace(decision.scope, vms=(spoilt,)), decision.record)


def test_an_evicted_vm_may_be_deallocated():
    run = started(Endings(), request=operate("evict", "a"))
    run.carry_out(run.event, "a")
    assert run.scope().vm("a").state is VmState.DEALLOCATED


# -- S7


def test_s7_an_approval_answered_200_is_recorded():
    """S7: an approval answered 200 survives; §2.4: 200 means recorded."""
    run = scheduled(Approvals(), request=maintain(), approval={"default": Policy.ALL})
    with broken("S7", "without its word"):
        run.posts("a", run.event)
    run.approves("a", run.event)
    run.posts("a", run.event.id.lower())


def test_s7_an_event_that_started_or_is_gone_needs_no_word():
    run = started(Approvals())
    event = run.event
    run.posts("b", event)
    run.take(complete(event))
    run.posts("b", event)


def test_s7_a_word_is_not_taken_back():
    run = scheduled(Approvals(), request=maintain(), approval={"default": Policy.ALL})
    run.approves("a", run.event)
    with broken("S7", "taken back"):
        run.commit(with_event(run.scope(), run.event, approvals=()))


def test_s7_a_word_is_that_of_a_vm_of_the_scope_or_an_operator():
    """§2.4: any VM of the scope may approve."""
    for by in (Actor(ActorKind.VM, "stranger"), Actor(ActorKind.SERVICE, "a")):
        run = scheduled(Approvals(), request=maintain(), approval={"default": Policy.ALL})
        with broken("S7", "no word in its scope"):
            run.commit(with_event(run.scope(), run.event, approvals=(Approval(by, NOON_MS),)))


def test_s7_only_what_is_scheduled_is_approved():
    word = (Approval(OPERATOR, NOON_MS),)
    run = started(Approvals())
    with broken("S7", "approved while Started"):
        run.commit(with_event(run.scope(), run.event, approvals=(*run.event.approvals, *word)))

    run = run_with(Approvals())
    decision = run.decided(restart("a"))
    with broken("S7", "before anybody could see it"):
        run.commit(with_event(decision.scope, decision.scope.events[0], approvals=word), decision.record)


def test_a_released_event_starts():
    """§3.2: one VM speaks for all; an operator's approval releases under any policy."""
    run = scheduled(Approvals())
    with broken("§3.2", "released and not Started"):
        run.commit(with_event(run.scope(), run.event, approvals=(Approval(OPERATOR, NOON_MS),)))


def test_an_id_that_the_scope_never_had_is_refused():
    """§2.4: 400 when an id is unknown, finished, or of another scope; when JSON is bad …"""
    run = scheduled(Approvals())
    run.take(declare("x", scope="bank"))
    with broken("§2.4", "its scope never had"):
        run.posts("bank/x", run.event)
    run.posts("bank/x", run.event, status=400)
    for body in (b"{", b"[]", b'{"StartRequests":[]}', b'{"StartRequests":"x"}', b'{"StartRequests":[{"EventId":1}]}'):
        with broken("§2.4", "got 200 for the body"):
            run.posts("a", body=body)


def test_current_events_of_the_scope_can_be_approved():
    """§2.4: 200 when every id names a current event of the caller's scope."""
    run = scheduled(Approvals())
    run.at(2 * MINUTE)
    with broken("§2.4", "approved current events and got 400"):
        run.posts("a", run.event, status=400)


# -- S8


def test_s8_a_vm_gets_its_scopes_document_byte_for_byte():
    """S8: a VM sees exactly its scope."""
    run = scheduled(Isolation(), "a", "ü")
    for version in ("2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01"):
        run.shows("a", version=version)
    with broken("S8", "instead of"):
        run.shows("a", body=b'{"DocumentIncarnation":2,"Events":[]}')


def test_s8_every_type_field_and_date_is_written_as_its_version_writes_it():
    """§2.2 and §2.3, written twice: the laws' own rendering and the service's agree."""
    run = run_with(Isolation(), "a", "b", "c", legacy_underscore=True)
    for request in (restart("a"), operate("evict", "b"), operate("terminate", "c"), operate("freeze", "a")):
        run.take(request)
    run.take(approve(run.scope().events[0]))
    for version in ("2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01"):
        run.shows("a", version=version)


def test_s8_no_other_scopes_document():
    run = scheduled(Isolation())
    run.take(declare("x", scope="bank"))
    with broken("S8", "which its scope never had"):
        run.shows("bank/x")


def test_s8_the_etag_is_the_incarnation():
    """§2.3: ETag is that number unquoted."""
    run = scheduled(Isolation())
    with broken("S8", "not a bare number"):
        run.shows("a", tag='"2"')
    with broken("S8", "instead of"):
        run.shows("a", tag=1)


def test_s8_304_is_for_what_is_known():
    """§2.3: 304 when it matches."""
    run = scheduled(Isolation())
    run.shows("a", known=2)
    with broken("S8", "is unchanged"):
        run.shows("a", known=1, status=304, body=b"")


def test_s8_a_stranger_is_not_answered():
    """§5: else 403."""
    run = scheduled(Isolation())
    with broken("S8", "never in that scope"):
        run.shows("stranger")

    run.take(declare("a"))
    run.at(MINUTE + 59)
    run.shows("b")
    run.at(3 * MINUTE)
    with broken("S8", "it left 120 s ago"):
        run.shows("b")


def test_s8_the_answer_to_an_approval_is_empty():
    """§2.4: 200 with empty body."""
    run = started(Isolation())
    run.posts("a", run.event)
    with broken("S8", "not an empty 200"):
        run.posts("a", run.event, answer=b"{}")


# -- S11


def test_s11_history_alone_gives_the_present_state():
    """S11: history explains every change."""
    spoils = (
        lambda scope: with_event(scope, scope.events[0], description="unheard of"),
        lambda scope: replace(scope, events=()),
        lambda scope: replace(scope, vms=scope.vms[:1]),
        lambda scope: replace(scope, settings=replace(scope.settings, recovery_s=7)),
        lambda scope: replace(scope, removed=True),
        lambda scope: replace(scope, incarnation=9),
    )
    for spoil in spoils:
        run = scheduled(History())
        with broken("S11", "does not explain"):
            run.commit(spoil(run.scope()))
        run = scheduled(History())
        decision = run.decided(approve(run.event))
        with broken("S11", "does not explain"):
            run.commit(spoil(decision.scope), decision.record)


def test_s11_what_concerns_nobody_needs_no_record():
    run = started(History())
    run.take(asked("a", NOON_MS))
    run.take(claim(run.event, "a"))


def test_s11_a_change_says_who_and_why():
    """S11: when, who, why."""
    run = run_with(History())
    decision = run.decided(restart("a"))
    with broken("S11", "says not why"):
        run.commit(decision.scope, telling(decision.record, why=""))

    run = run_with(History())
    with broken("S11", "explains 'shop'"):
        run.commit(decision.scope, replace(decision.record, scope="bank"))


def test_s11_a_request_is_taken_once():
    """Rule 2 of a decision: a request id that was taken before changes nothing."""
    run = run_with(History())
    first = run.take(restart("a")).record
    decision = run.decided(cancel(run.event))
    with broken("S11", "was taken twice"):
        run.commit(decision.scope, replace(decision.record, request_id=first.request_id))


def test_s11_a_tick_in_doubt_may_be_taken_again_for_what_has_become_due_since():
    run = run_with(History())
    run.take(restart("a"))
    run.at(MINUTE + 5)
    run.take(restart("b"))
    run.at(MINUTE + QUARTER)
    first = run.take(tick()).record
    run.at(MINUTE + QUARTER + 5)
    decision = run.decided(tick())
    run.commit(decision.scope, replace(decision.record, request_id=first.request_id))


# -- L1 and L2


def overdue(until_s, law=None):
    """A Scheduled event, looked at when its witnesses are known, then at that time."""
    run = scheduled(law or Liveness())
    run.at(MINUTE + 2)
    run.shows("a")
    run.at(until_s)
    return run


def test_l1_a_scheduled_event_is_started_a_second_after_not_before():
    """L1: Started or gone by NotBefore + 1 s while a server runs."""
    run = overdue(MINUTE + QUARTER + 0.9)
    run.shows("a")
    run.at(MINUTE + QUARTER + 2)
    with broken("L1", "still Scheduled"):
        run.shows("a")


def test_l1_is_quiet_when_it_was_started():
    run = overdue(MINUTE + QUARTER)
    run.take(tick())
    run.at(HOUR)
    run.shows("a")


def test_l1_clock_steps_aside():
    run = overdue(5 * MINUTE)
    run.step_clock(-HOUR, "one")
    run.step_clock(-HOUR, "two")
    run.at(2 * HOUR)
    run.shows("a")


def test_l1_a_server_in_trouble_gets_five_seconds_when_it_is_over():
    run = overdue(5 * MINUTE)
    run.end_process("two")
    run.trouble(began=True)
    run.at(20 * MINUTE)
    run.shows("a")
    run.trouble(began=False)
    run.at(20 * MINUTE + 4)
    run.shows("a")
    run.at(20 * MINUTE + 7)
    with broken("L1", "after one should have started it"):
        run.shows("a")


def test_l1_a_server_that_loads_later_gets_five_seconds():
    run = overdue(5 * MINUTE)
    run.end_process("one")
    run.end_process("two")
    run.at(20 * MINUTE)
    run.load_process("three")
    run.at(20 * MINUTE + 4)
    run.shows("a", process="three")
    run.at(20 * MINUTE + 7)
    with broken("L1", "after three should have started it"):
        run.shows("a", process="three")


def test_l1_a_server_whose_wall_is_behind_waits_for_it():
    run = Run(Liveness())
    run.step_clock(-HOUR, "two")
    run.take(declare("a"))
    run.at(MINUTE)
    run.take(restart("a"))
    run.at(MINUTE + 2)
    run.shows("a")
    run.end_process("one")
    run.at(HOUR)
    run.shows("a", process="two")
    run.at(MINUTE + QUARTER + HOUR + 3)
    with broken("L1", "after two should have started it"):
        run.shows("a", process="two")


def test_l1_one_that_was_cut_off_when_it_became_visible_may_have_seen_it_late():
    run = run_with(Liveness())
    run.trouble("two", began=True)
    run.take(restart("a"))
    run.at(4 * MINUTE)
    run.trouble("two", began=False)
    run.end_process("one")
    run.at(QUARTER + 3 * MINUTE)
    run.shows("a", process="two")
    run.at(QUARTER + 5 * MINUTE)
    with broken("L1", "after two should have started it"):
        run.shows("a", process="two")


def test_l2_nothing_is_left_when_the_run_ends():
    """L2: silence stops nothing."""
    run = scheduled(Liveness())
    with broken("L2", "still Scheduled"):
        run.end()

    run = started(Liveness())
    run.scopes["shop"] = replace(run.scopes["shop"], scope=replace(run.scope(), events=()))
    with broken("L2", "is pending"):
        run.end()


# -- Streams and L3


def test_one_process_never_goes_back():
    """§2.3: never goes back: one process has one state of a scope, whoever asks."""
    for vm in ("a", "b"):
        run = scheduled(Streams())
        before = run.scope()
        run.take(approve(run.event))
        run.shows("a")
        run.shows("b", scope=before)
        run.at(MINUTE + 0.1)
        run.shows("a", process="two", scope=before)
        with broken("ordered", "was shown 3, then 2"):
            run.shows(vm, scope=before)


def test_what_was_started_is_not_scheduled_again():
    run = started(Streams())
    run.shows("a")
    again = with_event(run.scope(), run.event, status=Status.SCHEDULED)
    with broken("ordered", "as Scheduled after Started"):
        run.shows("a", process="two", scope=replace(again, incarnation=4))


def test_what_was_gone_does_not_return():
    run = scheduled(Streams())
    event = run.event
    run.shows("a")
    run.take(cancel(event))
    run.shows("a")
    with broken("ordered", "which had gone"):
        run.shows("a", process="two", scope=replace(run.scope().with_event(event), incarnation=4))


def test_what_an_old_version_leaves_out_is_not_gone():
    """§2.2: a type that a version does not know is left out."""
    run = scheduled(Streams(), request=operate("terminate", "a"))
    run.shows("a")
    run.shows("a", version="2017-03-01")
    run.shows("a")


def test_an_event_is_in_a_document_once():
    run = scheduled(Streams())
    twice = replace(run.scope(), events=run.scope().events * 2)
    with broken("unique", "twice"):
        run.shows("a", scope=twice)


def test_l3_a_watcher_gets_the_newest_in_one_answer():
    """L3: converges in one answer; other nodes follow within 100 ms."""
    run = scheduled(Streams())
    before = run.scope()
    run.take(cancel(run.event))
    run.at(MINUTE + 0.1)
    run.shows("a", process="two", scope=before)
    run.at(MINUTE + 0.2)
    with broken("reliable", "shows 2; 3 was there 200 ms before"):
        run.shows("a", process="two", scope=before)
    with broken("reliable", "shows 2; 3 was there 200 ms before"):
        run.shows("a", process="two", scope=before, known=2)
    run.trouble("two", began=True)
    run.shows("a", process="two", scope=before)


def test_a_process_shows_at_once_what_it_has_answered_for():
    """DESIGN: the process that answered a command has applied it to its own snapshot before answering."""
    run = scheduled(Streams())
    before, request = run.scope(), cancel(run.event)
    run.take(request)
    run.shows("a", scope=before)
    run.answers_operator(request)
    with broken("reliable", "after it answered for 3"):
        run.shows("a", scope=before)

    run = scheduled(Streams())
    before = run.scope()
    run.take(approve(run.event, by="a"))
    run.posts("a", *before.events)
    run.shows("b", process="two", scope=before)
    with broken("reliable", "after it answered for 3"):
        run.shows("b", scope=before)
