"""Platform maintenance within one scope (SPEC §3.4): what one event holds, and whose turn it is."""

import pytest
from builders import (
    HOUR,
    MINUTE,
    NOON,
    after,
    approve,
    cancel,
    carried_out,
    complete,
    declare,
    event_on,
    host_failed,
    later,
    maintain,
    operate,
    rebooted,
    refused,
    restart,
    scope_of,
    spot,
    statuses,
    stepped,
    terminate,
    tick,
)

from notbefore.core.decide import decide
from notbefore.core.errors import Invalid, UnknownVm, VmDeallocated
from notbefore.core.kinds import EventType, VmState
from notbefore.core.model import Vm

# The seeds' cloud service: the `_0`s in update domain 0, the `_1`s in 1.
SEEDS = (Vm("FrontEnd_IN_0", 0), Vm("FrontEnd_IN_1", 1), Vm("BackEnd_IN_0", 0), Vm("BackEnd_IN_1", 1))
THREE = (Vm("a", 0), Vm("b", 1), Vm("c", 2))


def resources(scope):
    return [event.vms for event in scope.events]


def test_one_event_holds_the_vms_of_one_update_domain():
    """SPEC §3.4: one event holds VMs of one UD [seed]; seed example ["FrontEnd_IN_0", "BackEnd_IN_0"]."""
    scope = after(scope_of(*SEEDS), maintain())

    assert resources(scope) == [("FrontEnd_IN_0", "BackEnd_IN_0"), ("FrontEnd_IN_1", "BackEnd_IN_1")]


def test_an_event_need_not_hold_all_of_its_update_domain():
    """SPEC §2.3: "perhaps not all of it"; seed: "may not contain all machines in the UD"."""
    scope = after(scope_of(*SEEDS), maintain(vms=("BackEnd_IN_0",)))

    assert resources(scope) == [("BackEnd_IN_0",)]


def test_one_event_holds_the_vms_of_one_host_when_hosts_are_known():
    """SPEC §3.4: "and, when hosts are known, of one host"; they are of one UD, so they are visible together."""
    scope = scope_of(Vm("a", 0, host="h1"), Vm("b", 0, host="h2"), Vm("c", 0, host="H1"))

    scope = after(scope, maintain())

    assert resources(scope) == [("a", "c"), ("b",)]
    assert statuses(scope) == {"a": "Scheduled", "b": "Scheduled"}


@pytest.mark.parametrize(
    ("named", "hit"),
    [
        ({"vms": ("a", "D")}, {"a", "d"}),
        ({"update_domains": (1,)}, {"c", "d"}),
        ({"hosts": ("H2",)}, {"b", "d"}),
        ({"update_domains": (0,), "hosts": ("h2",)}, {"b"}),
        ({}, {"a", "b", "c", "d"}),
    ],
    ids=["VMs", "update domain", "host", "both", "whole scope"],
)
def test_maintenance_names_vms_hosts_update_domains_or_whole_scopes(named, hit):
    """SPEC §3.4: "Named VMs, hosts, update domains or whole scopes."."""
    scope = scope_of(Vm("a", 0, host="h1"), Vm("b", 0, host="h2"), Vm("c", 1, host="h1"), Vm("d", 1, host="h2"))

    scope = after(scope, maintain(**named))

    assert {name for event in scope.events for name in event.vms} == hit


@pytest.mark.parametrize("named", [{"update_domains": (7,)}, {"hosts": ("h9",)}, {"hosts": ("h1", "h9")}])
def test_an_unknown_update_domain_or_host_is_refused(named):
    """SPEC §3.4: what is named must be there."""
    refused(Invalid, scope_of(Vm("a", 0, host="h1")), maintain(**named))


def test_an_unknown_vm_is_refused_and_nothing_is_made():
    """SPEC §3.4: what is named must be there."""
    refused(UnknownVm, scope_of("a"), maintain(vms=("a", "z")))


@pytest.mark.parametrize("event_type", [EventType.PREEMPT, EventType.TERMINATE])
def test_maintenance_is_a_freeze_a_reboot_or_a_redeploy(event_type):
    """SPEC §3.1: maintain Freeze, Reboot, Redeploy."""
    refused(Invalid, scope_of("a"), maintain(event_type))


def test_a_deallocated_vm_is_left_out_and_by_name_refused():
    """SPEC §3.5: a deallocated VM is not running on any host."""
    gone = Vm("gone", 0, state=VmState.DEALLOCATED)
    scope = after(scope_of("a"), declare("a", gone, with_state=("gone",)))

    assert resources(after(scope, maintain())) == [("a",)]
    refused(VmDeallocated, scope, maintain(vms=("gone",)))
    refused(Invalid, after(scope_of(gone), tick()), maintain())


def test_within_a_scope_one_update_domain_at_a_time():
    """SPEC §3.4: "Within a scope one UD at a time"."""
    scope = after(scope_of(*THREE), maintain())

    assert statuses(scope) == {"a": "Scheduled", "b": "Queued", "c": "Queued"}


def test_the_next_domains_event_becomes_visible_only_when_the_former_has_ended():
    """SPEC §3.4: "the next UD's event becomes visible only when the former has ended"."""
    scope = after(scope_of(*THREE), maintain())
    first = event_on(scope, "a")

    started = after(scope, approve(first, by="b"))
    ended = carried_out(started, first)

    assert statuses(started) == {"a": "Started", "b": "Queued", "c": "Queued"}
    assert statuses(ended) == {"b": "Scheduled", "c": "Queued"}


def test_the_next_domain_waits_for_every_event_of_the_former():
    """SPEC §3.4: several hosts of one UD give several events, visible together; all of them must end."""
    scope = after(scope_of(Vm("a", 0, host="h1"), Vm("b", 0, host="h2"), Vm("c", 1, host="h1")), maintain())
    assert statuses(scope) == {"a": "Scheduled", "b": "Scheduled", "c": "Queued"}

    one_left = after(scope, approve(event_on(scope, "a")), complete(event_on(scope, "a")))
    none_left = after(one_left, approve(event_on(scope, "b")), complete(event_on(scope, "b")))

    assert statuses(one_left) == {"b": "Scheduled", "c": "Queued"}
    assert statuses(none_left) == {"c": "Scheduled"}


def test_queued_events_of_one_domain_become_visible_together():
    """SPEC §1: an update domain is the VMs that may go down together."""
    vms = (Vm("a", 0), Vm("b", 1, host="h1"), Vm("c", 1, host="h2"), Vm("d", 2))
    scope = after(scope_of(*vms), maintain())

    scope = after(scope, cancel(event_on(scope, "a")))

    assert statuses(scope) == {"b": "Scheduled", "c": "Scheduled", "d": "Queued"}


def test_a_further_event_of_the_domain_whose_turn_it_is_is_visible_at_once():
    """SPEC §3.4: one UD at a time; it is still the same one."""
    scope = after(scope_of(Vm("a", 0), Vm("b", 0)), maintain(vms=("a",)), maintain(vms=("b",)))

    assert statuses(scope) == {"a": "Scheduled", "b": "Scheduled"}


def test_who_queues_is_not_overtaken():
    """SPEC §3.4: with UD 1 in the queue, a new event of UD 0 waits behind it though UD 0 has its turn."""
    scope = after(scope_of(Vm("a", 0), Vm("b", 1), Vm("a2", 0)), maintain(vms=("a", "b")), maintain(vms=("a2",)))
    assert statuses(scope) == {"a": "Scheduled", "b": "Queued", "a2": "Queued"}

    second_turn = after(scope, cancel(event_on(scope, "a")))
    third_turn = after(second_turn, cancel(event_on(scope, "b")))

    assert statuses(second_turn) == {"b": "Scheduled", "a2": "Queued"}
    assert statuses(third_turn) == {"a2": "Scheduled"}


def test_domains_have_their_turn_first_come_first_served():
    """SPEC §3.4: the order of the queue is the order of asking, not of the domains' numbers."""
    scope = after(scope_of(*THREE), *(maintain(update_domains=(n,)) for n in (1, 2, 0)))
    assert statuses(scope) == {"b": "Scheduled", "c": "Queued", "a": "Queued"}

    scope = after(scope, cancel(event_on(scope, "b")))

    assert statuses(scope) == {"c": "Scheduled", "a": "Queued"}


def test_a_queued_event_that_is_cancelled_loses_its_place():
    """SPEC §3.5: may be cancelled while Queued."""
    scope = after(scope_of(*THREE), maintain())

    scope = after(scope, cancel(event_on(scope, "b")), cancel(event_on(scope, "a")))

    assert statuses(scope) == {"c": "Scheduled"}


def test_when_the_queue_before_it_is_cancelled_an_event_of_the_current_domain_is_visible_at_once():
    """SPEC §3.4: only another UD's event can hold it."""
    scope = after(scope_of(Vm("a", 0), Vm("b", 1), Vm("a2", 0)), maintain(vms=("a", "b")), maintain(vms=("a2",)))

    scope = after(scope, cancel(event_on(scope, "b")))

    assert statuses(scope) == {"a": "Scheduled", "a2": "Scheduled"}


def test_freezes_reboots_and_redeploys_share_one_queue():
    """SPEC §3.4, S5: at most one UD is under planned platform impact, of whatever type."""
    scope = after(
        scope_of(*THREE),
        operate("freeze", "a"),
        maintain(EventType.REDEPLOY, update_domains=(1,)),
        maintain(EventType.REBOOT, update_domains=(2,)),
    )

    assert statuses(scope) == {"a": "Scheduled", "b": "Queued", "c": "Queued"}


@pytest.mark.parametrize(
    "request_made",
    [operate("evict", "b"), terminate("b"), restart("b"), host_failed("h")],
    ids=["evict", "terminate", "restart", "host failed"],
)
def test_preempt_terminate_host_failure_and_users_stand_outside_the_queue(request_made):
    """SPEC S5: Preempt, Terminate and host failure aside; user operations are not the platform's."""
    scope = after(scope_of(Vm("a", 0), spot("b", update_domain=1, host="h")), maintain(update_domains=(0,)))

    outside = after(scope, request_made)
    then = after(outside, cancel(event_on(outside, "a")), maintain(EventType.FREEZE, vms=("a",)))

    assert statuses(outside)["b"] in {"Scheduled", "Started"}
    assert statuses(then)["a"] == "Scheduled"


def test_recovery_is_waited_for_before_the_next_domain():
    """SPEC §3.4: "only when the former has ended, plus recovery_s"."""
    scope = after(scope_of(*THREE, recovery_s=60), maintain())
    first = event_on(scope, "a")
    scope = after(scope, approve(first))

    ended = carried_out(scope, first, now=later(MINUTE))

    assert statuses(ended) == {"b": "Queued", "c": "Queued"}
    assert statuses(after(ended, tick(), now=later(2 * MINUTE - 0.001))) == {"b": "Queued", "c": "Queued"}
    assert statuses(after(ended, tick(), now=later(2 * MINUTE))) == {"b": "Scheduled", "c": "Queued"}


def test_new_maintenance_of_another_domain_respects_the_recovery_too():
    """SPEC §3.4: plus recovery_s, also when the queue was empty."""
    scope = after(scope_of(*THREE, recovery_s=60), maintain(vms=("a",)))
    scope = after(scope, approve(event_on(scope, "a")), complete(event_on(scope, "a")))

    same_domain = after(scope, maintain(vms=("a",)), now=later(30))
    other_domain = after(scope, maintain(vms=("b",)), now=later(30))

    assert statuses(same_domain) == {"a": "Scheduled"}
    assert statuses(other_domain) == {"b": "Queued"}


def test_an_event_that_never_started_needs_no_recovery():
    """SPEC §3.4: there is nothing to recover from when the impact was cancelled."""
    scope = after(scope_of(*THREE, recovery_s=HOUR), maintain())

    assert statuses(after(scope, cancel(event_on(scope, "a")))) == {"b": "Scheduled", "c": "Queued"}


@pytest.mark.parametrize(
    ("now", "status"),
    [
        pytest.param(stepped(HOUR, of=later(30)), "Queued", id="wall clock stepped forward"),
        pytest.param(rebooted(later(60)), "Scheduled", id="another boot: the wall clock decides"),
        pytest.param(rebooted(later(59)), "Queued", id="another boot: too early by the wall clock"),
    ],
)
def test_a_recovery_really_elapses(now, status):
    """SPEC §4: a wall clock stepped forward shortens no promise; after another boot the wall clock decides."""
    scope = after(scope_of(Vm("a", 0), Vm("b", 1), recovery_s=60), maintain())
    scope = after(scope, approve(event_on(scope, "a")), complete(event_on(scope, "a")), now=NOON)

    assert statuses(after(scope, tick(), now=now)) == {"b": status}


def test_one_decision_may_end_one_turn_and_begin_the_next():
    """SPEC §3.4: the end of one UD's event and the next one's notice are one commit: nobody sees a gap or both."""
    scope = after(scope_of(*THREE), maintain())
    scope = after(scope, approve(event_on(scope, "a")))

    decision = decide(scope, complete(event_on(scope, "a")), NOON)

    assert [change.what for change in decision.record.changes] == ["completed: operator's word", "scheduled"]
    assert decision.scope.incarnation == scope.incarnation + 1
