"""The VM afterwards (SPEC §3.5): deleted, deallocated, or on another host."""

import pytest
from builders import (
    NOON,
    after,
    approve,
    asked,
    carried_out,
    claim,
    complete,
    declare,
    event_on,
    failed,
    finished,
    made,
    maintain,
    only_event,
    operate,
    refused,
    restart,
    scope_of,
    spot,
    statuses,
    terminate,
)

from notbefore.core.decide import decide
from notbefore.core.errors import NotSpot, UnknownVm
from notbefore.core.kinds import EventType, Eviction, Listening, Status, VmState
from notbefore.core.model import Vm


def started(scope, *requests):
    """The scope with these operations made and approved by an operator."""
    for request in requests:
        decision = decide(scope, request, NOON)
        scope = after(decision.scope, approve(made(decision)))
    return scope


def test_when_a_terminate_is_done_the_vm_leaves_the_scope_in_that_commit():
    """SPEC §3.5: "Terminate done: the VM leaves the scope in that commit."."""
    scope = started(scope_of("vm-a", "vm-b"), terminate("vm-a"))
    event = only_event(scope)

    decision = decide(after(scope, claim(event, "vm-a")), finished(event, "vm-a"), NOON)

    assert [vm.name for vm in decision.scope.vms] == ["vm-b"]
    assert decision.scope.events == ()
    assert [change.what for change in decision.record.changes] == ["impact done", "vm left", "completed"]
    refused(UnknownVm, decision.scope, restart("vm-a"))


def test_a_terminated_vm_leaves_the_events_it_shares_with_others():
    """SPEC §3.5: it leaves the scope, so no event can name it any longer; the document shows that (§2.3)."""
    scope = started(after(scope_of("vm-a", "vm-b"), maintain(EventType.FREEZE)), terminate("vm-a"))
    freeze, delete = scope.events

    gone = carried_out(scope, delete)

    assert gone.event(freeze.id).vms == ("vm-b",)
    assert gone.event(freeze.id).status is Status.SCHEDULED
    assert gone.incarnation == scope.incarnation + 1


def test_an_event_that_had_only_the_terminated_vm_is_gone_without_starting():
    """SPEC §3.5: nothing is left for it to act on; S9."""
    scope = started(after(scope_of("vm-a", "vm-b"), restart("vm-a")), terminate("vm-a"))

    scope = carried_out(scope, scope.events[1])

    assert (scope.events, scope.pending) == ((), ())


def test_a_running_impact_on_a_terminated_vm_ends_with_it():
    """SPEC §3.5: the other event's impact on that VM is over; the other VMs' are not."""
    scope = started(scope_of("vm-a", "vm-b"), maintain(EventType.FREEZE), terminate("vm-a"))
    freeze, delete = scope.events

    scope = carried_out(scope, delete)
    assert [pending.key for pending in scope.pending] == [f"{freeze.id}/vm-b"]

    assert carried_out(scope, freeze, "vm-b").events == ()


def test_a_terminated_vm_listens_no_more():
    """SPEC §2.5: a scope listens while any of *its* VMs asked."""
    scope = after(scope_of("vm-a", "vm-b", listening=Listening.AUTO), asked("vm-a"))
    scope = started(scope, terminate("vm-a"))

    assert carried_out(scope, only_event(scope)).asked_ms == {}


def test_a_terminate_that_failed_leaves_the_vm_where_it_is():
    """SPEC §3.5: Terminate *done*."""
    scope = started(scope_of("vm-a"), terminate("vm-a"))
    event = only_event(scope)

    for attempt in range(5):
        scope = after(scope, claim(event, "vm-a", seen=attempt), failed(event, "vm-a", attempt + 1))

    assert scope.events == ()
    assert [vm.name for vm in scope.vms] == ["vm-a"]


def test_when_a_preempt_is_done_the_vm_is_deallocated():
    """SPEC §3.5: "Preempt done: the VM is `deallocated`"."""
    scope = started(scope_of(spot("vm-a"), "vm-b"), operate("evict", "vm-a"))

    scope = carried_out(scope, only_event(scope))

    assert {vm.name: vm.state for vm in scope.vms} == {"vm-a": VmState.DEALLOCATED, "vm-b": VmState.RUNNING}


def test_only_a_spot_vm_is_evicted():
    """SPEC §2.3: `Preempt` (spot VM taken away)."""
    refusal = refused(NotSpot, scope_of("vm-a", spot("vm-b")), operate("evict", "vm-a"))

    assert refusal.message == "vm-a is not a spot VM, and only those are evicted."
    assert "spot = true" in refusal.hint
    assert refusal.facts == {"scope": "shop", "vm": "vm-a"}


def test_a_vm_that_became_a_spot_vm_may_be_evicted():
    """The refusal says how: declare it with spot = true."""
    scope = after(scope_of("vm-a"), declare(spot("vm-a")), operate("evict", "vm-a"))

    assert only_event(scope).type is EventType.PREEMPT


def test_when_a_preempt_is_done_the_vm_is_removed_if_so_set():
    """SPEC §3.5: "(or removed, by policy)": `eviction = delete`."""
    scope = started(scope_of(spot("vm-a"), "vm-b", eviction=Eviction.DELETE), operate("evict", "vm-a"))

    scope = carried_out(scope, only_event(scope))

    assert [vm.name for vm in scope.vms] == ["vm-b"]


def test_when_a_redeploy_is_done_the_new_host_is_recorded():
    """SPEC §3.5: "Redeploy done: its new host is recorded."; seed: scheduled to move to another node."""
    scope = started(scope_of(Vm("vm-a", host="h1"), Vm("vm-b", host="h1")), operate("redeploy", "vm-a"))
    event = only_event(scope)

    decision = decide(after(scope, claim(event, "vm-a")), finished(event, "vm-a", new_host="h2"), NOON)

    assert {vm.name: vm.host for vm in decision.scope.vms} == {"vm-a": "h2", "vm-b": "h1"}
    assert [change.what for change in decision.record.changes] == ["impact done", "vm changed", "completed"]


def test_a_redeploy_without_word_of_a_new_host_leaves_the_old_one():
    """SPEC §3.5: what is recorded is what the executor says."""
    scope = started(scope_of(Vm("vm-a", host="h1")), operate("redeploy", "vm-a"))

    assert carried_out(scope, only_event(scope)).vm("vm-a").host == "h1"


@pytest.mark.parametrize("operation", ["restart", "freeze"])
def test_a_reboot_or_a_freeze_changes_nothing_about_the_vm(operation):
    """SPEC §2.3: a Freeze keeps memory, a Reboot loses it; both leave the VM where it is."""
    scope = started(scope_of(Vm("vm-a", host="h1")), operate(operation, "vm-a"))

    done = carried_out(scope, only_event(scope), new_host="h2")

    assert done.vms == scope.vms


def test_the_vms_of_one_redeploy_move_one_by_one():
    """SPEC §3.5: each VM's report is its own."""
    scope = started(scope_of(Vm("vm-a", host="h1"), Vm("vm-b", host="h1")), maintain(EventType.REDEPLOY))
    event = only_event(scope)

    scope = carried_out(scope, event, "vm-b", new_host="h2")

    assert {vm.name: vm.host for vm in scope.vms} == {"vm-a": "h1", "vm-b": "h2"}
    assert statuses(scope) == {"vm-a": "Started"}
    assert event_on(scope, "vm-a").id == event.id


def test_an_operators_word_leaves_the_vm_as_the_evidence_would():
    """SPEC §3.5: "Terminate done: the VM leaves the scope in that commit", whoever says that it is done."""
    deleted = started(scope_of("vm-a", "vm-b"), terminate("vm-a"))
    evicted = started(scope_of(spot("vm-a")), operate("evict", "vm-a"))

    without = decide(deleted, complete(only_event(deleted)), NOON)
    afterwards = after(evicted, complete(only_event(evicted)))

    assert [vm.name for vm in without.scope.vms] == ["vm-b"]
    assert without.scope.pending == ()
    assert [change.what for change in without.record.changes] == ["completed: operator's word", "vm left"]
    assert afterwards.vm("vm-a").state is VmState.DEALLOCATED
