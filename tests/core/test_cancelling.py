"""Cancelling (SPEC §3.5): by its maker or an operator, before it starts, for good."""

import pytest
from builders import (
    EVENT,
    MINUTE,
    NOON,
    OPERATOR,
    after,
    approve,
    cancel,
    event_on,
    later,
    maintain,
    only_event,
    reboot_of,
    refused,
    restart,
    running,
    scope_of,
    scope_with,
    statuses,
    tick,
)

from notbefore.core.decide import decide
from notbefore.core.errors import NotAllowed, UnknownEvent, WrongStatus
from notbefore.core.kinds import Status
from notbefore.core.model import THE_SERVICE, Actor, ActorKind, Vm


@pytest.mark.parametrize("by", [OPERATOR, THE_SERVICE], ids=["an operator", "its maker"])
def test_the_maker_of_an_event_or_an_operator_may_cancel_it_while_scheduled(by):
    """SPEC §3.5: "The maker of an event, or an operator, may cancel it while Queued or Scheduled"."""
    scope = after(scope_of("vm-a"), restart("vm-a", by=THE_SERVICE))

    decision = decide(scope, cancel(only_event(scope), by=by), NOON)

    assert (decision.scope.events, decision.effects) == ((), ())
    (change,) = decision.record.changes
    assert (change.what, change.by, change.event.status) == ("cancelled", by, Status.CANCELLED)


def test_nobody_else_may_cancel_it():
    """SPEC §3.5: "The maker of an event, or an operator, may cancel it": a VM that is to be rebooted may not."""
    refused(NotAllowed, scope_with(reboot_of("vm-a")), cancel(EVENT, by=Actor(ActorKind.VM, "vm-a")))


def test_a_queued_event_may_be_cancelled():
    """SPEC §3.5: "while Queued or Scheduled"."""
    scope = after(scope_of(Vm("vm-a", 0), Vm("vm-b", 1)), maintain())

    decision = decide(scope, cancel(event_on(scope, "vm-b")), NOON)

    assert statuses(decision.scope) == {"vm-a": "Scheduled"}
    assert decision.record.changes[0].event.status is Status.CANCELLED


def test_a_started_event_may_not_be_cancelled():
    """SPEC §3.5: "while Queued or Scheduled, not after"."""
    refusal = refused(WrongStatus, scope_with(running(reboot_of("vm-a"))), cancel(EVENT))

    assert refusal.message == f"Event {EVENT} is Started, so it cannot be cancelled."


def test_an_event_is_cancelled_under_any_letter_case_of_its_id():
    """SPEC §2.3: EventId is accepted in any case."""
    assert after(scope_with(reboot_of("vm-a")), cancel(EVENT.lower())).events == ()


def test_an_unknown_event_cannot_be_cancelled():
    """SPEC §2.3: ids name current events."""
    refused(UnknownEvent, scope_of("vm-a"), cancel(EVENT))


@pytest.mark.parametrize("after_s", [0, 15 * MINUTE, 30 * MINUTE])
def test_a_cancelled_event_never_starts(after_s):
    """SPEC S9: "a cancelled event never starts"."""
    scope = after(scope_with(reboot_of("vm-a")), cancel(EVENT))

    decision = decide(scope, tick(), later(after_s))

    assert (decision.scope, decision.effects) == (scope, ())


def test_an_event_at_its_deadline_starts_before_a_late_cancel_is_heard():
    """SPEC §3.5: not after. Whoever cancels in the very moment it is due is told how it stands afterwards."""
    scope = after(scope_with(reboot_of("vm-a")), tick(), now=later(15 * MINUTE))

    refused(WrongStatus, scope, cancel(EVENT), later(15 * MINUTE))


def test_approving_afterwards_revives_nothing():
    """SPEC S9 with §2.4: a finished id is refused."""
    scope = after(scope_with(reboot_of("vm-a")), cancel(EVENT))

    refused(UnknownEvent, scope, approve(EVENT, by="vm-a"))
