"""Explaining (DESIGN §5): why an event waits, on whom, until when, by which rule, in one sentence."""

import pytest
from builders import (
    EVENT,
    MINUTE,
    NOON,
    OTHER_EVENT,
    after,
    approve,
    carried_out,
    complete,
    later,
    maintain,
    reboot_of,
    running,
    scope_of,
    scope_with,
    terminate,
)

from notbefore.core.explain import waiting_for
from notbefore.core.kinds import Policy, Status
from notbefore.core.model import Vm


def explained(scope, event_id=EVENT, now=NOON):
    return waiting_for(scope, scope.event(event_id), now)


@pytest.mark.parametrize(
    ("policy", "whom"),
    [
        (Policy.ANY, "the approval of any VM of scope shop"),
        (Policy.ALL, "the approval of vm-a, vm-b"),
        (Policy.LEADER, "the approval of its leader vm-a"),
    ],
)
def test_a_scheduled_event_waits_for_whom_its_policy_names_or_the_deadline(policy, whom):
    """SPEC §3.2: any, all or leader; the deadline always wins."""
    scope = scope_with(reboot_of("vm-a", "vm-b"), approval={"default": policy})

    assert explained(scope) == f"{whom}, or 2026-03-02T12:15:00Z"


def test_under_all_those_who_spoke_are_not_waited_for():
    """SPEC §3.2: `all`: every impacted VM."""
    scope = scope_with(reboot_of("vm-a", "vm-b"), approval={"default": Policy.ALL})

    scope = after(scope, approve(EVENT, by="vm-a"))

    assert explained(scope) == "the approval of vm-b, or 2026-03-02T12:15:00Z"


def test_a_held_terminate_names_the_one_that_holds_it():
    """SPEC §3.2: an approved Terminate waits for another that is neither approved nor due."""
    scope = after(scope_of("vm-a", "vm-b"), terminate("vm-a"), terminate("vm-b"))
    first, second = scope.events
    scope = after(scope, approve(first, by="vm-a"))

    assert explained(scope, first.id) == (
        f"the approval of {second.id}, a Terminate as early as this one, or 2026-03-02T12:05:00Z"
    )


def test_a_started_event_waits_for_the_vms_that_are_not_done():
    """SPEC §3.5: it ends when every VM is reported done."""
    event = running(reboot_of("vm-a", "vm-b"))

    scope = carried_out(scope_with(event), event, "vm-a")

    assert explained(scope) == "the impact on vm-b to be over"


def two_domains(**settings):
    return after(scope_of(Vm("vm-a", 0), Vm("vm-b", 1), Vm("vm-c", 0), **settings), maintain(vms=("vm-a", "vm-b")))


def test_a_queued_event_names_the_update_domain_before_it_and_its_events():
    """SPEC §3.4: one UD at a time."""
    scope = two_domains()
    first, second = scope.events

    assert explained(scope, second.id) == f"its turn: update domain 0 is having its own ({first.id})"


def test_a_queued_event_says_until_when_the_former_domain_rests():
    """SPEC §3.4: plus recovery_s."""
    scope = two_domains(recovery_s=MINUTE)
    first, second = scope.events

    scope = after(scope, approve(first), complete(first))

    assert explained(scope, second.id, later(1)) == "its turn: update domain 0 rests until 2026-03-02T12:01:00Z"


def test_an_event_behind_others_in_the_queue_names_them():
    """SPEC §3.4: who queues is not overtaken, not even by a domain that has its turn."""
    scope = after(two_domains(), maintain(vms=("vm-c",)))
    _, ahead, last = scope.events

    assert explained(scope, last.id) == f"its turn: update domain 1 queues before it ({ahead.id})"


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.CANCELLED, Status.FAILED], ids=str)
def test_an_ended_event_waits_for_nothing(status):
    """SPEC §3: gone."""
    event = reboot_of("vm-a", event_id=OTHER_EVENT, status=status)

    assert waiting_for(scope_of("vm-a"), event, NOON) == "nothing: it is over"
