"""Approval policies (SPEC §3.2): whose word releases an event, and what needs no word."""

import pytest
from builders import (
    EVENT,
    MINUTE,
    NOON,
    OPERATOR,
    after,
    approve,
    declare,
    later,
    made,
    maintain,
    only_event,
    operate,
    reboot_of,
    refused,
    remove,
    restart,
    scope_of,
    scope_with,
    spot,
    tick,
)

from notbefore.core.decide import decide
from notbefore.core.errors import Invalid
from notbefore.core.kinds import EventType, Policy, Status
from notbefore.core.model import Vm

EVERY_POLICY = pytest.mark.parametrize("policy", list(Policy), ids=str)


def test_any_is_the_default_and_one_vm_speaks_for_all():
    """SPEC §3.2: "`any` (default; one VM speaks for all [seed])"."""
    scope = scope_with(reboot_of("vm-a", "vm-b", "vm-c"))

    assert only_event(after(scope, approve(EVENT, by="vm-c"))).status is Status.STARTED


def test_all_waits_for_every_impacted_vm():
    """SPEC §3.2: "`all` (every impacted VM)"; §2.4: the event may stay Scheduled while others must still speak."""
    scope = scope_with(reboot_of("vm-a", "vm-b"), approval={"default": Policy.ALL})

    after_one = after(scope, approve(EVENT, by="vm-b"))
    after_both = after(after_one, approve(EVENT, by="vm-a"))

    assert only_event(after_one).status is Status.SCHEDULED
    assert only_event(after_both).status is Status.STARTED


def test_under_all_a_bystander_speaks_for_nobody():
    """SPEC §3.2: `all` asks every impacted VM, and no other VM can speak in its place."""
    scope = after(scope_of("vm-a", "bystander", approval={"default": Policy.ALL}), maintain(vms=("vm-a",)))

    scope = after(scope, approve(only_event(scope), by="bystander"))

    assert only_event(scope).status is Status.SCHEDULED


def test_leader_waits_for_the_first_vm_in_resources():
    """SPEC §3.2: "`leader` (first VM in Resources [seed])"."""
    scope = scope_with(reboot_of("vm-a", "vm-b"), approval={"default": Policy.LEADER})

    after_second = after(scope, approve(EVENT, by="vm-b"))
    after_leader = after(after_second, approve(EVENT, by="vm-a"))

    assert only_event(after_second).status is Status.SCHEDULED
    assert only_event(after_leader).status is Status.STARTED


def test_when_the_leader_leaves_the_scope_the_next_vm_leads():
    """SPEC §3.2: the leader is the first VM in Resources, as Resources are now."""
    scope = scope_with(reboot_of("vm-a", "vm-b"), approval={"default": Policy.LEADER})
    scope = after(scope, declare("vm-b", force=True, approval={"default": Policy.LEADER}))

    assert only_event(after(scope, approve(EVENT, by="vm-b"))).status is Status.STARTED


def test_a_policy_may_be_set_for_one_event_type():
    """SPEC §3.2: "per scope, optionally per event type"."""
    policy = {"default": Policy.ANY, "Redeploy": Policy.ALL}
    scope = after(
        scope_of("vm-a", "vm-b", approval=policy),
        maintain(EventType.REBOOT),
        maintain(EventType.REDEPLOY),
    )

    scope = after(scope, approve(*scope.events, by="vm-b"))

    assert {str(event.type): str(event.status) for event in scope.events} == {
        "Reboot": "Started",
        "Redeploy": "Scheduled",
    }


def test_a_policy_for_one_type_leaves_the_default_any():
    """SPEC §3.2: `any` is the default."""
    scope = scope_with(reboot_of("vm-a", "vm-b"), approval={"Redeploy": Policy.ALL})

    assert only_event(after(scope, approve(EVENT, by="vm-b"))).status is Status.STARTED


@EVERY_POLICY
def test_an_operators_approval_releases_under_any_policy(policy):
    """SPEC §3.2: "An operator's approval releases under any policy."."""
    scope = scope_with(reboot_of("vm-a", "vm-b"), approval={"default": policy})

    assert only_event(after(scope, approve(EVENT, by=OPERATOR))).status is Status.STARTED


@EVERY_POLICY
def test_the_deadline_always_wins(policy):
    """SPEC §3.2: "The deadline always wins: nobody can stop an event by silence." (L2)"""
    scope = scope_with(reboot_of("vm-a", "vm-b"), approval={"default": policy})

    assert only_event(after(scope, tick(), now=later(15 * MINUTE))).status is Status.STARTED


def test_a_policy_that_is_loosened_lets_what_was_approved_start():
    """SPEC §3.2: the policy is the scope's, as it is set now."""
    scope = scope_with(reboot_of("vm-a", "vm-b"), approval={"default": Policy.ALL})
    scope = after(scope, approve(EVENT, by="vm-a"))

    scope = after(scope, declare("vm-a", "vm-b", approval={"default": Policy.ANY}))

    assert only_event(scope).status is Status.STARTED


@pytest.mark.parametrize(
    ("rule", "request_made"),
    [
        ("User:Reboot", restart("vm-a")),
        ("User:Redeploy", operate("redeploy", "vm-a")),
        ("User:Terminate", operate("terminate", "vm-a")),
        ("Platform:Freeze", operate("freeze", "vm-a")),
        ("Platform:Preempt", operate("evict", "vm-a")),
        ("Platform:Reboot", maintain()),
    ],
)
def test_an_auto_approved_event_appears_as_started_at_once(rule, request_made):
    """SPEC §3.2: auto-approve per source and type: the event appears as Started at once [real]."""
    decision = decide(scope_of(spot("vm-a"), auto_approve=(rule,)), request_made, NOON)

    event = made(decision)
    assert (event.status, event.started_at_ms) == (Status.STARTED, NOON.wall_ms)
    assert [effect.vm for effect in decision.effects] == ["vm-a"]
    assert decision.scope.incarnation == 2


def test_auto_approve_of_the_users_reboot_leaves_the_platforms_alone():
    """SPEC §3.2: auto-approve is per source and type."""
    scope = scope_of("vm-a", auto_approve=("User:Reboot",))

    assert made(decide(scope, maintain(EventType.REBOOT), NOON)).status is Status.SCHEDULED
    assert made(decide(scope, operate("redeploy", "vm-a"), NOON)).status is Status.SCHEDULED


def test_an_auto_approved_maintenance_still_waits_for_its_turn():
    """SPEC §3.4 with §3.2: one UD at a time, auto-approved or not."""
    scope = scope_of(Vm("vm-a", 0), Vm("vm-b", 1), auto_approve=("Platform:Reboot",))

    decision = decide(scope, maintain(), NOON)

    assert [str(event.status) for event in decision.scope.events] == ["Started", "Queued"]
    assert [effect.vm for effect in decision.effects] == ["vm-a"]


@pytest.mark.parametrize("rule", ["Reboot", "user:reboot", "User:Restart", ""])
def test_an_auto_approve_rule_that_names_no_source_and_type_is_refused(rule):
    """SPEC §3.2: `auto_approve = ["User:Reboot"]`."""
    refusal = refused(Invalid, scope_of("vm-a"), declare("vm-a", auto_approve=(rule,)))

    assert repr(rule) in refusal.message


@pytest.mark.parametrize("approval", [{"default": "nobody"}, {"Restart": Policy.ANY}])
def test_an_unknown_policy_or_type_is_refused(approval):
    """SPEC §3.2: any, all or leader, per scope or event type."""
    refused(Invalid, scope_of("vm-a"), declare("vm-a", approval=approval))


def test_a_removed_scope_waits_for_nobody():
    """DESIGN §5: a forced removal ends what was waiting for a word."""
    scope = scope_with(reboot_of("vm-a"), approval={"default": Policy.ALL})

    assert after(scope, remove(force=True)).events == ()
