"""Explanations whole: rule, on whom, until when, and the sentences of the paragraph (DESIGN §5, `explain`)."""

import pytest
from builders import (
    EVENT,
    MINUTE,
    NOON,
    after,
    approve,
    asked,
    cancel,
    carried_out,
    claim,
    complete,
    failed,
    finished,
    host_failed,
    later,
    maintain,
    operate,
    reboot_of,
    restart,
    running,
    scope_of,
    scope_with,
    spot,
    stepped,
    terminate,
)

from notbefore.core.decide import decide
from notbefore.core.explain import Rule, Told, explain
from notbefore.core.kinds import EventType, Listening, Policy, Status
from notbefore.core.model import Vm


def why(scope, event=EVENT, now=NOON, story=()):
    found = scope.event(event if isinstance(event, str) else event.id)
    return explain(scope, found, now, story)


def told(*decisions):
    """What history has of these decisions."""
    return [Told(d.record.at_ms, change) for d in decisions if d.record for change in d.record.changes if change.event]


# -- policies


@pytest.mark.parametrize(
    ("policy", "rule", "on", "meaning"),
    [
        (Policy.ANY, Rule.POLICY_ANY, ("vm-a", "vm-b"), "the word of any VM of the scope releases it for all"),
        (Policy.ALL, Rule.POLICY_ALL, ("vm-a", "vm-b"), "every VM in it has to approve"),
        (Policy.LEADER, Rule.POLICY_LEADER, ("vm-a",), "the first VM in it has to approve"),
    ],
)
def test_a_scheduled_event_names_its_policy_on_whom_it_waits_and_its_deadline(policy, rule, on, meaning):
    """SPEC §3.2: any, all, leader; the deadline always wins."""
    explanation = why(scope_with(reboot_of("vm-a", "vm-b"), approval={"default": policy}))

    assert (explanation.rule, explanation.waits_on) == (rule, on)
    assert explanation.until_ms == later(15 * MINUTE).wall_ms
    assert f"Under policy {policy} {meaning}" in explanation.paragraph
    assert "Silence stops nothing" in explanation.paragraph


def test_the_policy_is_the_one_of_the_events_type():
    """SPEC §3.2: per scope, optionally per event type."""
    scope = scope_with(reboot_of("vm-a"), approval={"default": Policy.ANY, "Reboot": Policy.LEADER})

    assert why(scope).rule is Rule.POLICY_LEADER


def test_it_says_who_has_spoken_who_is_missing_and_whose_word_does_not_count():
    """SPEC §2.4: a VM whose word does not count still gets 200."""
    scope = after(scope_of("vm-a", "vm-b", "vm-c", approval={"default": Policy.ALL}), maintain(vms=("vm-a", "vm-b")))
    (event,) = scope.events
    scope = after(scope, approve(event, by="vm-a"), approve(event, by="vm-c"))

    explanation = why(scope, event)

    assert explanation.waits_on == ("vm-b",)
    assert "vm-a has approved. vm-c approved too, whose word does not count" in explanation.paragraph
    assert "vm-b has not approved yet." in explanation.paragraph


def test_it_says_what_a_vm_and_an_operator_can_do_and_what_the_clock_does():
    """Issue: what would release it; each entry by itself."""
    scope = scope_with(reboot_of("vm-a", "vm-b"), approval={"default": Policy.ALL})

    assert why(scope).released_by == (
        f"in each of vm-a and vm-b: `notbefore ask --approve {EVENT}`",
        f"`notbefore approve {EVENT}`, an operator's word",
        "the clock: at 2026-03-02T12:15:00Z it starts by itself",
    )


def test_it_says_when_nobody_has_asked_for_a_day():
    """SPEC §2.5: a Scheduled event keeps its notice when the scope stops listening."""
    silent = scope_with(reboot_of("vm-a"))
    listening = after(silent, asked("vm-a"))

    assert "No VM of the scope has asked for its events within 24 hours." in why(silent).paragraph
    assert "24 hours" not in why(listening).paragraph


# -- the deadline


@pytest.mark.parametrize("policy", list(Policy), ids=str)
def test_where_those_who_have_to_speak_are_not_running_only_the_deadline_is_left(policy):
    """SPEC §3.2: the deadline always wins; a deallocated VM cannot approve."""
    scope = after(scope_of(spot("vm-a"), approval={"default": policy}), restart("vm-a"), operate("evict", "vm-a"))
    reboot, preempt = scope.events
    scope = carried_out(after(scope, approve(preempt)), preempt)

    explanation = why(scope, reboot)

    assert (explanation.rule, explanation.waits_on) == (Rule.DEADLINE, ("the clock",))
    assert explanation.waiting_for == "its deadline, 2026-03-02T12:15:00Z"
    assert "ask --approve" not in explanation.paragraph


def test_it_says_so_when_the_wall_has_come_there_but_the_notice_has_not_elapsed():
    """SPEC §4: a wall clock stepped forward shortens no promise: both hands have to pass."""
    now = stepped(20 * MINUTE, later(5 * MINUTE))

    explanation = why(scope_with(reboot_of("vm-a")), now=now)

    assert explanation.rule is Rule.DEADLINE
    assert explanation.until_ms == now.wall_ms + 10 * MINUTE * 1000
    assert explanation.waiting_for.endswith("or 2026-03-02T12:35:00Z, when its notice has really elapsed")
    assert (
        "The wall clock shows 2026-03-02T12:25:00Z, which is past 2026-03-02T12:15:00Z, but 600 s of what was promised "
        "have not really elapsed" in explanation.paragraph
    )


def test_a_rest_has_both_hands_too():
    """SPEC §4 with §3.4: recovery is a promise like notice."""
    scope = after(scope_of(Vm("vm-a", 0), Vm("vm-b", 1), recovery_s=MINUTE), maintain())
    first, second = scope.events
    scope = after(scope, approve(first), complete(first))

    explanation = why(scope, second, stepped(5 * MINUTE))

    assert explanation.rule is Rule.RECOVERY
    assert "60 s of what was promised have not really elapsed" in explanation.paragraph
    assert explanation.released_by == ("the clock: at 2026-03-02T12:06:00Z it becomes visible by itself",)


# -- coupling


def two_terminates():
    scope = after(scope_of("vm-a", "vm-b", "vm-c"), terminate("vm-a"), terminate("vm-b"))
    return scope, *scope.events


def test_a_held_terminate_names_the_one_that_holds_it_and_what_frees_it():
    """SPEC §3.2: waits while another with an earlier or equal NotBefore is neither approved nor due."""
    scope, first, second = two_terminates()

    explanation = why(after(scope, approve(first, by="vm-a")), first)

    assert (explanation.rule, explanation.waits_on) == (Rule.COUPLING, (second.id,))
    assert explanation.until_ms == later(5 * MINUTE).wall_ms
    assert f"Terminates are coupled: it waits while {second.id} of vm-b is not." in explanation.paragraph
    assert explanation.released_by == (
        f"in any VM of scope shop: `notbefore ask --approve {second.id}`",
        f"`notbefore approve {second.id}`, an operator's word on it",
        f"`notbefore cancel {second.id}`, which withdraws it",
        "the clock: at 2026-03-02T12:05:00Z it starts by itself",
    )


def test_a_held_terminate_starts_when_the_earlier_ones_are_due():
    """SPEC §3.2: neither approved nor *due*: the time is the holder's, which is not later."""
    scope = after(
        scope_of("vm-a", "vm-b"), terminate("vm-a", not_before_ms=later(10 * MINUTE).wall_ms), terminate("vm-b")
    )
    first, _ = scope.events

    assert why(after(scope, approve(first)), first).until_ms == later(5 * MINUTE).wall_ms


def test_a_terminate_that_nobody_approved_says_that_its_approval_alone_is_not_enough():
    """SPEC §3.2: 200 means recorded; it may stay Scheduled while a coupled Terminate must still be spoken for."""
    scope, first, second = two_terminates()

    explanation = why(scope, first)

    assert explanation.rule is Rule.POLICY_ANY
    assert f"Approved, it would still wait for {second.id} of vm-b" in explanation.paragraph
    assert f"`notbefore approve {first.id} {second.id}`, an operator's word" in explanation.released_by


# -- the queue


def three_domains(**settings):
    scope = after(scope_of(Vm("vm-a", 0), Vm("vm-b", 1), Vm("vm-c", 2), **settings), maintain())
    return scope, *scope.events


def test_a_queued_event_names_every_event_before_it_and_how_each_could_end():
    """SPEC §3.4: the next UD's event becomes visible only when the former has ended."""
    scope, first, second, third = three_domains()
    scope = after(scope, approve(first))

    explanation = why(scope, third)

    assert (explanation.rule, explanation.waits_on) == (Rule.QUEUE, (first.id, second.id))
    assert explanation.until_ms is None
    assert explanation.waiting_for == (
        f"its turn: update domain 0 is having its own ({first.id}); update domain 1 queues before it ({second.id})"
    )
    assert explanation.released_by[0] == f"`notbefore cancel {second.id}` and `notbefore complete {first.id}`"


def test_a_queued_event_says_that_a_rest_follows_what_is_touched_and_not_what_is_cancelled():
    """SPEC §3.4: "plus recovery_s": only for a domain that was really touched."""
    scope, first, second, _ = three_domains(recovery_s=MINUTE)

    ways = why(scope, second).released_by

    assert ways == (
        f"`notbefore cancel {first.id}`",
        f"`notbefore approve {first.id}`, and then the end of it, and then a rest of 60 s (recovery_s)",
        "the clock: it becomes visible by itself when that event has ended, and then a rest of 60 s (recovery_s)",
    )


# -- the impact


def test_a_started_event_says_why_it_started_which_attempt_runs_and_where():
    """Issue: Started: which VMs' impacts, attempt and next retry, which node carries it out."""
    scope = after(scope_of("vm-a", "vm-b"), maintain())
    (event,) = scope.events
    decision = decide(scope, approve(event, by="vm-b"), NOON)
    scope = after(decision.scope, claim(event, "vm-a", node="node-7"))

    explanation = why(scope, event, story=told(decision))

    assert (explanation.rule, explanation.waits_on, explanation.until_ms) == (Rule.IMPACT, ("vm-a", "vm-b"), None)
    assert "It started at 2026-03-02T12:00:00Z: approved by vm vm-b." in explanation.paragraph
    assert "On vm-a attempt 1 runs on node node-7 since 2026-03-02T12:00:00Z." in explanation.paragraph
    assert "No node has taken the impact on vm-b yet." in explanation.paragraph
    assert f"`notbefore complete {event.id}`, an operator's word that it is over" in explanation.released_by


def test_a_failed_impact_says_how_often_and_when_it_is_tried_again():
    """SPEC §3.5: the event stays Started, is retried with back-off."""
    event = running(reboot_of("vm-a", "vm-b"))
    scope = carried_out(scope_with(event), event, "vm-b")
    scope = after(scope, claim(event, "vm-a"), failed(event, "vm-a"))

    explanation = why(scope)

    assert (explanation.rule, explanation.until_ms) == (Rule.RETRY, later(5).wall_ms)
    assert explanation.waiting_for == (
        "the impact on vm-a to be over: vm-a failed once, next try at 2026-03-02T12:00:05Z"
    )
    assert "attempt 2 is due at 2026-03-02T12:00:05Z" in explanation.paragraph
    assert "It is over on vm-b." in explanation.paragraph

    again = after(scope, claim(event, "vm-a", seen=1), now=later(5))
    assert why(again, now=later(5)).rule is Rule.IMPACT
    assert "attempt 2 runs on node node-1" in why(again, now=later(5)).paragraph
    assert "after once without success" in why(again, now=later(5)).paragraph


def test_an_impact_behind_another_on_the_same_vm_names_that_event():
    """The outbox carries impacts on one VM out one after the other."""
    scope = after(scope_of("vm-a"), restart("vm-a"), operate("redeploy", "vm-a"))
    first, second = scope.events
    scope = after(scope, approve(first), approve(second))

    explanation = why(scope, second)

    assert f"The impact on vm-a begins when that of {first.id} on it is over." in explanation.paragraph
    assert f"`notbefore complete {first.id}`, and then the executor's report" in explanation.released_by


@pytest.mark.parametrize(
    ("scope", "made", "reason"),
    [
        (scope_of("vm-a", listening=Listening.NEVER), restart("vm-a"), "nobody listens"),
        (scope_of("vm-a", auto_approve=("User:Reboot",)), restart("vm-a"), "the scope approves User:Reboot by itself"),
        (scope_of("vm-a", user_events=False), restart("vm-a"), "the scope gives no events for user operations"),
        (scope_of(Vm("vm-a", host="h1")), host_failed("h1"), "its host failed (h1): there is no time for notice"),
    ],
    ids=["nobody listens", "auto-approve", "user_events", "host failed"],
)
def test_an_event_without_notice_says_why_it_had_none(scope, made, reason):
    """SPEC §3, §2.5: the impact starts at once and history says why."""
    decision = decide(scope, made, NOON)

    assert f"12:00:00Z: {reason}" in why(decision.scope, decision.answer.event_ids[0], story=told(decision)).paragraph


# -- over


def test_a_completed_event_says_how_it_came_to_its_end():
    """Issue: ended (how and why, from history)."""
    first = decide(scope_of("vm-a"), restart("vm-a"), NOON)
    (event,) = first.scope.events
    second = decide(first.scope, approve(event, by="vm-a"), later(60))
    third = decide(after(second.scope, claim(event, "vm-a")), finished(event, "vm-a"), later(90))
    ended = next(change.event for change in third.record.changes if change.event and change.event.ended_at_ms)

    explanation = explain(third.scope, ended, later(90), told(first, second, third))

    assert (explanation.rule, explanation.released_by) == (Rule.OVER, ())
    assert explanation.paragraph == (
        f"Reboot {event.id} of vm-a in scope shop is Completed. "
        "It was announced at 2026-03-02T12:00:00Z, not before 2026-03-02T12:15:00Z. "
        "It started at 2026-03-02T12:01:00Z: approved by vm vm-a. "
        "It ended as Completed at 2026-03-02T12:01:30Z: the impact is over on every VM (executor simulate). "
        "VM by VM: vm-a (vm-a was seen to be back)."
    )


def test_a_cancelled_event_says_that_it_never_started():
    """S9: a cancelled event never starts."""
    scope = after(scope_of(Vm("vm-a", 0), Vm("vm-b", 1)), maintain(EventType.FREEZE))
    decision = decide(scope, cancel(scope.events[1]), later(1))
    (change,) = decision.record.changes

    explanation = explain(decision.scope, change.event, later(1), told(decision))

    assert change.event.status is Status.CANCELLED
    assert explanation.paragraph.endswith(
        "is Cancelled. It never started. It ended as Cancelled at 2026-03-02T12:00:01Z: cancelled by operator ops."
    )


def test_the_sentence_of_an_event_names_all_and_a_paragraph_at_most_ten():
    """A limit on everything: a paragraph stays one."""
    names = [f"vm-{n}" for n in range(14)]

    paragraph = why(scope_with(reboot_of(*names))).paragraph

    assert "vm-9 and 4 more in scope shop" in paragraph
    assert "vm-10" not in paragraph


def test_a_queued_events_sentence_names_three_of_each_and_its_explanation_all():
    """A limit on everything: a thousand queued events do not each name a thousand others."""
    vms = [Vm(f"vm-{n}", n // 5, host=f"h{n}") for n in range(30)]
    scope = after(scope_of(*vms), maintain())
    last = scope.events[-1]

    explanation = why(scope, last)

    named = [event.id for event in scope.events if event.id in explanation.waiting_for]
    assert named == [event.id for domain in range(3) for event in scope.events[domain * 5 : domain * 5 + 3]]
    assert explanation.waiting_for.count(" and 2 more)") == 3
    assert explanation.waiting_for.endswith("; and 2 more update domains")
    assert len(explanation.waits_on) == 25
