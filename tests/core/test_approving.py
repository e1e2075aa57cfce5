"""Approving (SPEC §2.4): whose word is taken, what it does, and what is refused whole."""

import pytest
from builders import (
    EVENT,
    MINUTE,
    NOON,
    OPERATOR,
    OTHER_EVENT,
    after,
    approve,
    cancel,
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
)

from notbefore.core.decide import decide
from notbefore.core.effects import StartImpact
from notbefore.core.errors import Invalid, UnknownEvent, UnknownVm
from notbefore.core.kinds import EventType, Policy, Status
from notbefore.core.model import Actor, ActorKind, Approval, Vm

STRANGER = "00000000-0000-0000-0000-00000000DEAD"


def test_approval_by_one_vm_starts_the_event_for_every_vm_in_it():
    """SPEC §2.4: it counts for all Resources of the event [seed]."""
    scope = scope_with(reboot_of("vm-a", "vm-b"))

    decision = decide(scope, approve(EVENT, by="vm-b"), NOON)

    assert decision.scope.event(EVENT).status is Status.STARTED
    assert decision.effects == (
        StartImpact(EVENT, "vm-a", EventType.REBOOT),
        StartImpact(EVENT, "vm-b", EventType.REBOOT),
    )


def test_any_vm_of_the_scope_may_approve_not_only_an_impacted_one():
    """SPEC §2.4: "Any VM of the scope may approve, not only an impacted one" [seed]."""
    scope = after(scope_of("vm-a", "bystander"), restart("vm-a"))

    scope = after(scope, approve(only_event(scope), by="bystander"))

    assert only_event(scope).status is Status.STARTED


def test_approval_shortens_the_notice():
    """Seed: approving "indicates to Azure that it can shorten the minimum notification time"."""
    now = later(1 * MINUTE)

    scope = after(scope_with(reboot_of("vm-a")), approve(EVENT, by="vm-a"), now=now)

    assert only_event(scope).started_at_ms == now.wall_ms


def test_an_approval_is_recorded_with_who_and_when():
    """SPEC §1: approval is a VM's word that it is ready; §2.4: 200 means recorded."""
    now = later(1 * MINUTE)

    scope = after(scope_with(reboot_of("vm-a")), approve(EVENT, by="vm-a"), now=now)

    assert only_event(scope).approvals == (Approval(Actor(ActorKind.VM, "vm-a"), now.wall_ms),)


def test_the_answer_names_the_events_that_were_approved():
    """SPEC §2.4: every id names a current event of the caller's scope."""
    scope = scope_with(reboot_of("vm-a"), reboot_of("vm-b", event_id=OTHER_EVENT))

    decision = decide(scope, approve(OTHER_EVENT, EVENT, by="vm-a"), NOON)

    assert decision.answer.event_ids == (OTHER_EVENT, EVENT)
    assert statuses(decision.scope) == {"vm-a": "Started", "vm-b": "Started"}


def test_an_event_id_is_accepted_in_any_letter_case():
    """SPEC §2.3: EventId is accepted in any case; the seeds print lower-case ids."""
    scope = after(scope_with(reboot_of("vm-a")), approve(EVENT.lower(), by="vm-a"))

    assert only_event(scope).status is Status.STARTED


def test_a_repeated_approval_is_taken_and_changes_nothing():
    """SPEC §2.4: "again 200 when repeated" (agents retry)."""
    scope = scope_with(reboot_of("vm-a", "vm-b"), approval={"default": Policy.ALL})
    once = after(scope, approve(EVENT, by="vm-a"))

    twice = decide(once, approve(EVENT, by="vm-a"), NOON)

    assert twice.scope == once
    assert (twice.effects, twice.record) == ((), None)


def test_a_repeated_approval_in_another_letter_case_changes_nothing():
    """SPEC §1: names are compared case-insensitively; §2.4: again 200 when repeated."""
    scope = scope_with(reboot_of("vm-a", "vm-b"), approval={"default": Policy.ALL})
    once = after(scope, approve(EVENT, by="vm-a"))

    twice = after(once, approve(EVENT, by="VM-A"))

    assert only_event(twice).approvals == only_event(once).approvals


def test_approving_what_has_started_is_taken_and_changes_nothing():
    """SPEC §2.4: again 200 when already Started (the seeds' C# approves all it sees)."""
    scope = after(scope_with(running(reboot_of("vm-a"))), approve(EVENT, by="vm-a"))

    again = decide(scope, approve(EVENT, by="vm-a"), later(1))

    assert only_event(again.scope) == only_event(scope_with(running(reboot_of("vm-a"))))
    assert (again.effects, again.record, again.answer.event_ids) == ((), None, (EVENT,))


def test_an_id_twice_in_one_request_counts_once():
    """SPEC §2.4: approving is by EventId; saying it twice says it once."""
    scope = scope_with(reboot_of("vm-a", "vm-b"), approval={"default": Policy.ALL})

    scope = after(scope, approve(EVENT, EVENT.lower(), by="vm-a"))

    assert len(only_event(scope).approvals) == 1


def test_a_vm_whose_word_does_not_count_is_still_taken():
    """SPEC §2.4: "a VM whose word does not count still gets 200"; 200 means recorded."""
    scope = scope_with(reboot_of("vm-a", "vm-b"), approval={"default": Policy.LEADER})

    decision = decide(scope, approve(EVENT, by="vm-b"), NOON)

    assert decision.answer.event_ids == (EVENT,)
    assert [approval.by.name for approval in decision.scope.event(EVENT).approvals] == ["vm-b"]
    assert decision.scope.event(EVENT).status is Status.SCHEDULED


def test_an_unknown_id_is_refused():
    """SPEC §2.4: 400 when an id is unknown."""
    assert refused(UnknownEvent, scope_with(reboot_of("vm-a")), approve(STRANGER, by="vm-a")).facts == {
        "event": STRANGER
    }


def test_a_finished_an_unknown_and_a_queued_event_cannot_be_told_apart():
    """SPEC §2.4: an id that is unknown, finished, or of another scope: indistinguishable on purpose."""
    scope = after(scope_of(Vm("vm-a", 0), Vm("vm-b", 1)), maintain(), restart("vm-a"))
    queued = scope.events_in(Status.QUEUED)[0].id
    finished = next(event.id for event in scope.events if event.type is EventType.REBOOT and event.source == "User")
    scope = after(scope, cancel(finished))

    refusals = [refused(UnknownEvent, scope, approve(name, by="vm-a")) for name in (queued, finished, STRANGER)]

    shapes = {(r.code, r.hint, r.message.replace(str(r.facts["event"]), "?")) for r in refusals}
    assert len(shapes) == 1


def test_a_hidden_event_cannot_be_told_from_none():
    """SPEC §2.4 with §3.3: what is never in the document cannot be approved by a VM."""
    scope = after(scope_of("vm-a", user_events=False), restart("vm-a"))

    refused(UnknownEvent, scope, approve(only_event(scope), by="vm-a"))


@pytest.mark.parametrize("bad", [STRANGER, "", "not a guid"])
def test_a_request_with_one_bad_id_changes_nothing(bad):
    """SPEC §2.4: all or nothing: a request with one bad id changes nothing."""
    scope = scope_with(reboot_of("vm-a"), reboot_of("vm-b", event_id=OTHER_EVENT))

    refused(UnknownEvent, scope, approve(EVENT, bad, OTHER_EVENT, by="vm-a"))

    assert statuses(scope) == {"vm-a": "Scheduled", "vm-b": "Scheduled"}


def test_an_operator_too_is_refused_whole_for_one_bad_id():
    """SPEC §2.4: all or nothing."""
    refused(UnknownEvent, scope_with(reboot_of("vm-a")), approve(EVENT, STRANGER, by=OPERATOR))


@pytest.mark.parametrize("size", [0, 101])
def test_a_request_approves_one_to_a_hundred_events(size):
    """SPEC §2.4: "Up to 100 ids"; an empty list is refused."""
    refused(Invalid, scope_with(reboot_of("vm-a")), approve(*[EVENT] * size, by="vm-a"))


def test_a_hundred_ids_are_accepted():
    """SPEC §2.4: "Up to 100 ids"."""
    scope = after(scope_with(reboot_of("vm-a")), approve(*[EVENT] * 100, by="vm-a"))

    assert only_event(scope).status is Status.STARTED


def test_a_vm_of_another_scope_may_not_approve():
    """SPEC §5: a VM sees and approves its own scope's events, nothing else."""
    refused(UnknownVm, scope_with(reboot_of("vm-a")), approve(EVENT, by="vm-of-another-scope"))


def test_a_vm_may_name_itself_in_any_letter_case():
    """SPEC §1: names are compared case-insensitively [real]."""
    scope = scope_with(reboot_of("vm-a"), approval={"default": Policy.ALL})

    assert only_event(after(scope, approve(EVENT, by="VM-A"))).status is Status.STARTED
