"""Carrying out (SPEC §3.5): claims, evidence, failures and the limit."""

import pytest
from builders import (
    EVENT,
    EXECUTOR,
    MINUTE,
    NOON,
    OPERATOR,
    after,
    approve,
    carried_out,
    claim,
    complete,
    failed,
    finished,
    later,
    only_event,
    reboot_of,
    refused,
    running,
    scope_with,
    tick,
)

from notbefore.core.decide import decide
from notbefore.core.effects import PendingEffect, StartImpact
from notbefore.core.errors import NotAllowed, StaleAttempt
from notbefore.core.kinds import EventType, Status
from notbefore.core.model import Actor, ActorKind, Outcome

REBOOT = running(reboot_of("vm-a", "vm-b"))
BACK_OFF_S = [5, 10, 20, 40]


def ended_as(decision):
    return [str(c.event.status) for c in decision.record.changes if c.event and c.event.ended_at_ms is not None]


def test_a_started_event_leaves_one_impact_per_vm_to_be_carried_out():
    """STYLE 4: state and effects are written in one commit; an effect stays until it was delivered."""
    scope = scope_with(reboot_of("vm-a", "vm-b", duration_s=7))

    decision = decide(scope, approve(EVENT), later(MINUTE))

    impacts = tuple(StartImpact(EVENT, vm, EventType.REBOOT, 7) for vm in ("vm-a", "vm-b"))
    assert decision.effects == impacts
    assert decision.scope.pending == tuple(PendingEffect(i, since_ms=later(MINUTE).wall_ms) for i in impacts)


def test_an_event_ends_when_the_executor_reports_every_vm_done():
    """SPEC §3.5: "It ends when the executor reports every VM done, with evidence."."""
    scope = after(scope_with(REBOOT), claim(REBOOT, "vm-a"), claim(REBOOT, "vm-b"))

    one = decide(scope, finished(REBOOT, "vm-b", evidence="boot id changed"), later(5))
    both = decide(one.scope, finished(REBOOT, "vm-a"), later(9))

    assert only_event(one.scope).status is Status.STARTED
    assert only_event(one.scope).outcomes == (Outcome("vm-b", later(5).wall_ms, done=True, evidence="boot id changed"),)
    assert both.scope.events == ()
    assert ended_as(both) == ["Completed"]


def test_the_evidence_stands_in_history():
    """SPEC §3.5: "with evidence"; S11."""
    scope = after(scope_with(REBOOT), claim(REBOOT, "vm-a"))

    (change,) = decide(scope, finished(REBOOT, "vm-a", evidence="boot id changed"), NOON).record.changes

    assert (change.what, change.why, change.by) == ("impact done", "vm-a: boot id changed", EXECUTOR)


def test_an_operators_word_ends_a_started_event():
    """SPEC S10: evidence, an operator's word, or the retry limit."""
    decision = decide(scope_with(REBOOT), complete(EVENT), NOON)

    assert (decision.scope.events, decision.scope.pending) == ((), ())
    assert ended_as(decision) == ["Completed"]
    assert decision.record.changes[0].by == OPERATOR


@pytest.mark.parametrize("by", [EXECUTOR, Actor(ActorKind.VM, "vm-a")], ids=str)
def test_nobody_elses_word_ends_it(by):
    """SPEC S10: an *operator's* word; an executor brings evidence, and a VM has no say."""
    refused(NotAllowed, scope_with(REBOOT), complete(EVENT, by=by))


def test_a_failing_executor_leaves_the_event_started():
    """SPEC §3.5: "If an executor fails, the event stays Started"."""
    scope = after(scope_with(REBOOT), claim(REBOOT, "vm-a"), failed(REBOOT, "vm-a"))

    assert only_event(scope).status is Status.STARTED
    assert only_event(scope).outcomes == ()


def test_a_failed_impact_is_retried_with_back_off():
    """SPEC §3.5: "is retried with back-off"."""
    scope, waits = scope_with(REBOOT), []

    for attempt in range(4):
        scope = after(scope, claim(REBOOT, "vm-a", seen=attempt), failed(REBOOT, "vm-a", attempt + 1))
        pending = scope.pending[0]
        waits.append((pending.retry_at_ms - NOON.wall_ms) / 1000)

    assert waits == BACK_OFF_S
    assert (pending.failures, pending.claimed_by) == (4, "")


def failing(scope, event, vm, times):
    """The scope after that many attempts failed, and the last decision."""
    for attempt in range(times):
        scope = after(scope, claim(event, vm, seen=attempt))
        decision = decide(scope, failed(event, vm, attempt + 1), NOON)
        scope = decision.scope
    return scope, decision


def test_after_the_limit_the_event_ends_as_failed():
    """SPEC §3.5: "and after the limit ends as `Failed`"."""
    event = running(reboot_of("vm-a"))

    four, _ = failing(scope_with(event), event, "vm-a", 4)
    five, last = failing(scope_with(event), event, "vm-a", 5)

    assert only_event(four).status is Status.STARTED
    assert (five.events, five.pending) == ((), ())
    assert ended_as(last) == ["Failed"]


def test_a_vm_given_up_does_not_end_the_event_for_the_others():
    """SPEC §3.5: it ends when every VM is accounted for; Failed when one of them was given up."""
    scope, _ = failing(scope_with(REBOOT), REBOOT, "vm-a", 5)
    assert only_event(scope).status is Status.STARTED

    scope = after(scope, claim(REBOOT, "vm-b"))
    last = decide(scope, finished(REBOOT, "vm-b"), NOON)

    assert ended_as(last) == ["Failed"]
    assert "vm-a" in last.record.changes[-1].why


def test_an_impact_that_succeeds_after_failing_completes_the_event():
    """SPEC §3.5: retried; only the limit makes it Failed."""
    event = running(reboot_of("vm-a"))
    scope, _ = failing(scope_with(event), event, "vm-a", 4)

    last = decide(after(scope, claim(event, "vm-a", seen=4)), finished(event, "vm-a", 5), NOON)

    assert ended_as(last) == ["Completed"]


def test_a_start_by_the_clock_is_claimed_in_the_same_commit_by_the_node_whose_clock_it_was():
    """S6: whoever starts it has the first attempt, since that moment; a claim of another comes too late."""
    due = later(15 * MINUTE + 1)

    scope = after(scope_with(reboot_of("vm-a", "vm-b")), tick("node-1"), now=due)

    claimed = [(p.attempt_id, p.claimed_by, p.since_ms) for p in scope.pending]
    assert claimed == [(f"{EVENT}/{vm}#1", "node-1", due.wall_ms) for vm in ("vm-a", "vm-b")]
    refused(StaleAttempt, scope, claim(REBOOT, "vm-a", node="node-2"))


def test_a_start_by_approval_is_claimed_in_the_same_commit_by_the_node_that_was_told():
    """S6: an approval that starts the event is one commit, not two; a claim of another comes too late."""
    scope = after(scope_with(reboot_of("vm-a")), approve(EVENT, by="vm-a", node="node-1"))

    assert [(p.attempt_id, p.claimed_by) for p in scope.pending] == [(f"{EVENT}/vm-a#1", "node-1")]
    refused(StaleAttempt, scope, claim(REBOOT, "vm-a", node="node-2"))


def test_a_start_claims_no_vm_whose_earlier_impact_is_still_to_come():
    """Per VM in order: an attempt begins when it is claimed, and this one cannot begin yet."""
    waits = reboot_of("vm-a", "vm-b", event_id="LATER")
    scope = after(scope_with(running(reboot_of("vm-a")), waits), tick("node-1"), now=later(15 * MINUTE + 1))

    assert [(p.effect.vm, p.claimed_by) for p in scope.pending] == [("vm-a", ""), ("vm-a", ""), ("vm-b", "node-1")]


def test_a_claim_takes_the_next_attempt_for_one_node():
    """SPEC S6: an impact is carried out at most once per attempt id, also with two servers."""
    scope = after(scope_with(REBOOT), claim(REBOOT, "vm-a", node="node-1"))

    pending = scope.pending[0]
    assert (pending.attempt_id, pending.claimed_by) == (f"{EVENT}/vm-a#1", "node-1")
    refused(StaleAttempt, scope, claim(REBOOT, "vm-a", node="node-2"))


def test_a_claim_taken_over_makes_the_former_attempt_stale():
    """SPEC S6: reports of earlier attempts are refused."""
    scope = after(scope_with(REBOOT), claim(REBOOT, "vm-a"), claim(REBOOT, "vm-a", seen=1, node="node-2"))

    refused(StaleAttempt, scope, finished(REBOOT, "vm-a", attempt=1))
    refused(StaleAttempt, scope, failed(REBOOT, "vm-a", attempt=1))
    assert after(scope, finished(REBOOT, "vm-a", attempt=2)).pending[0].effect.vm == "vm-b"


@pytest.mark.parametrize("attempt", [0, 2, -1])
def test_a_report_of_an_attempt_that_is_not_the_current_one_is_refused(attempt):
    """SPEC S6: stale executors are refused."""
    scope = after(scope_with(REBOOT), claim(REBOOT, "vm-a"))

    refusal = refused(StaleAttempt, scope, finished(REBOOT, "vm-a", attempt))

    assert refusal.facts == {"event": EVENT, "vm": "vm-a", "attempt": attempt}


@pytest.mark.parametrize("report", [finished, failed])
def test_a_report_nobody_claimed_is_refused(report):
    """SPEC S6: whoever claims an effect gets the attempt; without a claim there is none to report."""
    refused(StaleAttempt, scope_with(REBOOT), report(REBOOT, "vm-a", 0))


@pytest.mark.parametrize("report", [finished, failed])
def test_an_attempt_is_reported_once(report):
    """SPEC S6: a failure that is told twice (a write of unknown outcome) is one failure, and is not undone later."""
    scope = after(scope_with(REBOOT), claim(REBOOT, "vm-a"), failed(REBOOT, "vm-a"))

    refused(StaleAttempt, scope, report(REBOOT, "vm-a"))


def test_a_report_after_the_end_is_refused():
    """SPEC S6: the event is gone; so are its attempts."""
    scope = carried_out(scope_with(REBOOT), REBOOT)

    refused(StaleAttempt, scope, finished(REBOOT, "vm-a"))


@pytest.mark.parametrize("happening", [claim, finished, failed])
def test_an_impact_that_was_never_started_can_be_neither_claimed_nor_reported(happening):
    """SPEC S9 and S1: a Scheduled event has no impact to carry out."""
    refused(StaleAttempt, scope_with(reboot_of("vm-a")), happening(reboot_of("vm-a"), "vm-a"))


def test_claiming_is_no_visible_change_and_needs_no_history():
    """SPEC §2.3: the incarnation counts visible changes."""
    decision = decide(scope_with(REBOOT), claim(REBOOT, "vm-a"), NOON)

    assert (decision.scope.incarnation, decision.record) == (1, None)
