"""A failed host (SPEC §3.1, last row): no notice, because it has happened already."""

import pytest
from builders import NOON, after, carried_out, event_on, host_failed, later, maintain, operate, scope_of, statuses

from notbefore.core.decide import decide
from notbefore.core.kinds import Listening, Status, VmState
from notbefore.core.model import Vm
from notbefore.core.visibility import visible_events

FLEET = (Vm("a", 0, host="h1"), Vm("b", 0, host="h2"), Vm("c", 1, host="H1"), Vm("d", 0, host="h1"))


@pytest.mark.parametrize("listening", list(Listening), ids=str)
def test_a_host_failure_gives_no_notice_whoever_listens(listening):
    """SPEC §3.1: host failed: Reboot, Platform, none, "Virtual machine has encountered a failure."; duration -1."""
    decision = decide(scope_of(Vm("a", host="h1"), listening=listening), host_failed("h1"), NOON)

    (event,) = decision.scope.events
    assert (event.type, event.source, event.duration_s) == ("Reboot", "Platform", -1)
    assert event.description == "Virtual machine has encountered a failure."
    assert (event.status, event.not_before_ms, event.started_at_ms) == (Status.STARTED, None, NOON.wall_ms)
    assert [effect.vm for effect in decision.effects] == ["a"]


def test_a_host_failure_is_visible_as_started():
    """SPEC §3: no notice: host failure ──► Started."""
    scope = after(scope_of(Vm("a", host="h1")), host_failed("h1"))

    assert visible_events(scope) == scope.events
    assert scope.incarnation == 2


def test_a_host_failure_hits_the_vms_of_that_host_one_event_per_update_domain():
    """SPEC §2.3: Resources are all from one update domain [seed]; names compare in any case."""
    scope = after(scope_of(*FLEET), host_failed("h1"))

    assert [event.vms for event in scope.events] == [("a", "d"), ("c",)]
    assert set(statuses(scope).values()) == {"Started"}


def test_a_host_failure_is_not_queued_and_holds_no_turn():
    """SPEC S5: host failure aside."""
    scope = after(scope_of(*FLEET), maintain(vms=("b",)), host_failed("h1"))
    assert statuses(scope) == {"b": "Scheduled", "a": "Started", "c": "Started"}

    scope = after(scope_of(*FLEET), host_failed("h1"), operate("freeze", "b"))

    assert event_on(scope, "b").status is Status.SCHEDULED


def test_history_says_that_the_host_failed():
    """SPEC S11: when, who, why."""
    decision = decide(scope_of(Vm("a", host="h1")), host_failed("h1"), later(3))

    (change,) = decision.record.changes
    assert (change.what, decision.record.at_ms) == ("started: no notice", later(3).wall_ms)
    assert "host failed" in change.why


def test_a_failure_told_again_makes_nothing_new_while_the_vms_come_back():
    """A report that is repeated, because nobody knew whether it was heard, reboots nobody twice."""
    scope = after(scope_of(*FLEET), host_failed("h1"))

    again = decide(scope, host_failed("h1"), later(5))

    assert (again.scope.events, again.effects, again.record) == (scope.events, (), None)
    assert again.answer.event_ids == tuple(event.id for event in scope.events)


def test_a_host_that_fails_anew_hits_the_vms_that_had_come_back():
    """SPEC §3.1: each failure is one; only the VMs that are still coming back are spared."""
    scope = after(scope_of(*FLEET), host_failed("h1"))
    first, second = scope.events
    scope = carried_out(scope, first)

    decision = decide(scope, host_failed("h1"), later(5))

    assert [event.vms for event in decision.scope.events] == [("c",), ("a", "d")]
    assert decision.scope.events[0] == second


def test_a_deallocated_vm_is_not_hit():
    """SPEC §3.5: there is nothing left to act on."""
    scope = scope_of(Vm("a", host="h1", state=VmState.DEALLOCATED), Vm("b", host="h1"))

    assert [event.vms for event in after(scope, host_failed("h1")).events] == [("b",)]


def test_a_vm_on_no_known_host_is_on_none():
    """SPEC §1: the empty name is no host."""
    assert after(scope_of("a"), host_failed("")).events == ()


def test_a_host_without_vms_here_hits_nobody():
    """SPEC §3.4: host operations concern the scopes that have VMs on the host."""
    scope = scope_of(*FLEET)

    decision = decide(scope, host_failed("h9"), NOON)

    assert (decision.scope, decision.answer.event_ids, decision.record) == (scope, (), None)
