"""User-initiated maintenance (SPEC §3.3): one event per VM, at most ten at once, and none when so set."""

import pytest
from builders import (
    MINUTE,
    NOON,
    after,
    approve,
    cancel,
    carried_out,
    event_on,
    later,
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
    tick,
)

from notbefore.core.decide import decide
from notbefore.core.errors import AlreadyScheduled, LimitReached, UnknownVm, VmDeallocated
from notbefore.core.kinds import EventType, Listening, Status
from notbefore.core.model import Vm
from notbefore.core.visibility import visible_events

TWELVE = [f"vm-{n}" for n in range(12)]


@pytest.mark.parametrize(("operation", "event_type"), [("restart", "Reboot"), ("redeploy", "Redeploy")])
def test_restart_makes_a_reboot_and_redeploy_a_redeploy(operation, event_type):
    """SPEC §3.3; seed: "Restarting a virtual machine schedules an event with type Reboot."."""
    event = made(decide(scope_of("vm-a", "vm-b"), operate(operation, "vm-a"), NOON))

    assert (event.type, event.source, event.status) == (event_type, "User", Status.SCHEDULED)


@pytest.mark.parametrize("operation", ["restart", "redeploy", "freeze", "evict", "terminate"])
def test_an_operation_makes_one_event_for_its_one_vm(operation):
    """SPEC §3.3: each one event per VM [seed, real]."""
    scope = after(scope_of("vm-a", spot("vm-b"), "vm-c"), operate(operation, "vm-b"))

    assert only_event(scope).vms == ("vm-b",)


def test_user_operations_on_several_update_domains_are_scheduled_side_by_side():
    """SPEC §3.4: one UD at a time is the platform's rule; a VM's owner restarts what he likes."""
    scope = after(scope_of(Vm("vm-a", 0), Vm("vm-b", 1)), restart("vm-a"), restart("vm-b"))

    assert statuses(scope) == {"vm-a": "Scheduled", "vm-b": "Scheduled"}


def ten_scheduled():
    return after(scope_of(*map(spot, TWELVE)), *(restart(name) for name in TWELVE[:10]))


def test_the_eleventh_scheduled_user_operation_is_refused_with_the_limit():
    """SPEC §3.3: at most 10 Scheduled with source User at once [seed]; the eleventh is refused, the limit in it."""
    refusal = refused(LimitReached, ten_scheduled(), restart("vm-10"))

    assert "at most 10" in refusal.message
    assert refusal.facts == {"scope": "shop", "limit": 10, "scheduled": 10}


@pytest.mark.parametrize("operation", ["redeploy", "terminate"])
def test_every_operation_of_the_user_counts_towards_the_limit(operation):
    """SPEC §3.3: "At most 10 in status Scheduled with source User"."""
    refused(LimitReached, ten_scheduled(), operate(operation, "vm-10"))


@pytest.mark.parametrize(
    "request_made",
    [operate("freeze", "vm-10"), operate("evict", "vm-10"), maintain()],
    ids=["freeze", "evict", "maintain"],
)
def test_the_platform_has_no_such_limit(request_made):
    """SPEC §3.3: the limit is for source User."""
    decision = decide(ten_scheduled(), request_made, NOON)

    assert made(decision).status is Status.SCHEDULED


def test_an_operation_that_has_started_makes_room():
    """SPEC §3.3: at most 10 *in status Scheduled*."""
    scope = ten_scheduled()

    scope = after(scope, approve(event_on(scope, "vm-3"), by="vm-3"), restart("vm-10"))

    assert statuses(scope)["vm-10"] == "Scheduled"


def test_a_cancelled_operation_makes_room():
    """SPEC §3.3: at most 10 at once."""
    scope = ten_scheduled()

    scope = after(scope, cancel(event_on(scope, "vm-3")), restart("vm-10"))

    assert statuses(scope)["vm-10"] == "Scheduled"


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_the_limit_is_settable(limit):
    """SPEC §3.3: "settable"."""
    scope = after(scope_of(*TWELVE, user_operations_max=limit), *(restart(name) for name in TWELVE[:limit]))

    refusal = refused(LimitReached, scope, restart("vm-10"))

    assert refusal.facts["limit"] == limit


@pytest.mark.parametrize(
    "settings",
    [{"user_events": False}, {"auto_approve": ("User:Reboot",)}, {"listening": Listening.NEVER}],
    ids=["hidden", "auto-approved", "not listened to"],
)
def test_an_operation_that_is_never_scheduled_knows_no_limit(settings):
    """SPEC §3.3: the limit is on events in status Scheduled; one that starts at once never is."""
    decision = decide(scope_of("vm-a", user_operations_max=0, **settings), restart("vm-a"), NOON)

    assert made(decision).status is Status.STARTED


def test_a_second_restart_of_a_vm_whose_reboot_is_scheduled_is_refused_and_names_that_event():
    """SPEC §3.3: "A second restart of a VM whose Reboot is Scheduled is refused and names that event."."""
    scope = after(scope_of("vm-a"), restart("vm-a"))

    refusal = refused(AlreadyScheduled, scope, restart("VM-A"), later(MINUTE))

    assert only_event(scope).id in refusal.message
    assert refusal.facts["event"] == only_event(scope).id


def test_a_second_restart_is_taken_once_the_first_has_started():
    """SPEC §3.3: refused while the Reboot is *Scheduled*."""
    scope = after(scope_of("vm-a"), restart("vm-a"))

    scope = after(scope, approve(only_event(scope), by="vm-a"), restart("vm-a"))

    assert [str(event.status) for event in scope.events] == ["Started", "Scheduled"]


@pytest.mark.parametrize(
    "other",
    [operate("redeploy", "vm-a"), operate("terminate", "vm-a"), restart("vm-b")],
    ids=["redeploy", "terminate", "another VM"],
)
def test_another_operation_or_another_vm_is_no_second_restart(other):
    """SPEC §3.3: a second restart of the same VM is what is refused."""
    scope = after(scope_of("vm-a", "vm-b"), restart("vm-a"), other)

    assert [str(event.status) for event in scope.events] == ["Scheduled", "Scheduled"]


def test_maintenance_asked_for_twice_is_refused_whole():
    """SPEC §3.3 in the platform's case: a VM is not put into a second waiting event of the same kind."""
    scope = after(scope_of("vm-a", "vm-b"), maintain(vms=("vm-b",)))

    refusal = refused(AlreadyScheduled, scope, maintain(EventType.REBOOT))

    assert refusal.facts == {"scope": "shop", "vm": "vm-b", "event": only_event(scope).id}


def test_without_user_events_the_operation_starts_at_once():
    """SPEC §3.3: `user_events = false`: the operation starts at once."""
    decision = decide(scope_of("vm-a", user_events=False), restart("vm-a"), NOON)

    assert made(decision).status is Status.STARTED
    assert [effect.vm for effect in decision.effects] == ["vm-a"]


def test_without_user_events_the_operation_is_in_history_and_never_in_the_document():
    """SPEC §3.3: "never in the document, in history"; so no incarnation is spent on it."""
    decision = decide(scope_of("vm-a", user_events=False), restart("vm-a"), NOON)
    event = made(decision)
    ended = carried_out(decision.scope, event)

    assert visible_events(decision.scope) == ()
    assert [change.what for change in decision.record.changes] == ["started: no notice"]
    assert (ended.events, ended.incarnation) == ((), 1)


def test_without_user_events_the_platforms_events_are_still_given():
    """SPEC §3.3: whether *user operations* give events is settable."""
    scope = after(scope_of("vm-a", user_events=False), maintain(), now=NOON)

    assert visible_events(scope) == scope.events
    assert only_event(scope).status is Status.SCHEDULED


def test_an_operation_on_an_unknown_vm_is_refused():
    """SPEC §1: a VM is known by its resource name."""
    assert refused(UnknownVm, scope_of("vm-a"), restart("vm-z")).facts == {"scope": "shop", "vm": "vm-z"}


def test_a_vm_is_found_under_any_letter_case_and_emitted_as_declared():
    """SPEC §1: names compared case-insensitively [real], emitted as declared."""
    scope = after(scope_of("FrontEnd_IN_0"), restart("frontend_in_0"))

    assert only_event(scope).vms == ("FrontEnd_IN_0",)


def test_a_deallocated_vm_has_nothing_left_to_act_on():
    """SPEC §3.5: after its Preempt the VM is deallocated."""
    scope = after(scope_of(spot("vm-a")), operate("evict", "vm-a"))
    event = only_event(scope)
    scope = carried_out(after(scope, tick(), now=later(30)), event)

    refused(VmDeallocated, scope, terminate("vm-a"))
