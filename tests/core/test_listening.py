"""Listening (SPEC §2.5): who gets notice, judged when an event would become visible."""

import pytest
from builders import (
    DAY,
    EVENT,
    HOUR,
    MINUTE,
    NOON,
    after,
    approve,
    asked,
    complete,
    declare,
    later,
    made,
    maintain,
    only_event,
    reboot_of,
    restart,
    scope_of,
    scope_with,
    tick,
)

from notbefore.core.decide import decide
from notbefore.core.kinds import EventType, Listening, Status
from notbefore.core.listening import listens
from notbefore.core.model import Vm
from notbefore.core.scope_settings import ScopeSettings

AUTO, ALWAYS, NEVER = Listening.AUTO, Listening.ALWAYS, Listening.NEVER


def test_a_scope_that_never_asked_gets_no_notice_and_history_says_why():
    """SPEC §2.5: the impact starts at once and history says why."""
    decision = decide(scope_of("vm-a", listening=AUTO), restart("vm-a"), NOON)

    assert made(decision).status is Status.STARTED
    assert [effect.vm for effect in decision.effects] == ["vm-a"]
    (change,) = decision.record.changes
    assert change.what == "started: nobody listens"
    assert "no VM of the scope asked within 24 hours" in change.why


def test_the_first_request_of_a_vm_enables_the_service():
    """SPEC §2.5: "The first request of a VM enables the service [seed]."."""
    scope = after(scope_of("vm-a", listening=AUTO), asked("vm-a"))

    assert made(decide(scope, restart("vm-a"), NOON)).status is Status.SCHEDULED


def test_enabling_is_told_in_history_once():
    """SPEC §2.5 with S11: the first *asked* is a change, later ones are not."""
    first = decide(scope_of("vm-a", "vm-b", listening=AUTO), asked("vm-a"), NOON)
    second = decide(first.scope, asked("vm-b", later(1)), later(1))

    assert [change.what for change in first.record.changes] == ["enabled"]
    assert second.record is None


def test_any_vm_of_the_scope_makes_it_listen_for_all():
    """SPEC §2.5: a scope listens while any of its VMs asked within 24 h."""
    scope = after(scope_of("vm-a", "vm-b", listening=AUTO), asked("vm-b"))

    assert made(decide(scope, restart("vm-a"), NOON)).status is Status.SCHEDULED


@pytest.mark.parametrize(
    ("silence_s", "status"), [(DAY, Status.SCHEDULED), (DAY + 0.001, Status.STARTED), (0, Status.SCHEDULED)]
)
def test_a_scope_listens_for_exactly_a_day_after_it_last_asked(silence_s, status):
    """SPEC §2.5: a scope listens while any of its VMs asked within 24 h [real]."""
    scope = after(scope_of("vm-a", listening=AUTO), asked("vm-a", NOON))

    event = made(decide(scope, restart("vm-a"), later(silence_s)))

    assert event.status is status


def test_asking_again_renews_the_day():
    """SPEC §2.5: *last asked* is what counts."""
    scope = after(scope_of("vm-a", listening=AUTO), asked("vm-a", NOON), asked("vm-a", later(HOUR)))

    assert listens(scope, later(DAY + HOUR))
    assert not listens(scope, later(DAY + HOUR + 1))


def test_an_older_reading_does_not_undo_a_newer_one():
    """SPEC §2.5: later ones are committed in the background, so they may arrive out of order."""
    scope = after(scope_of("vm-a", listening=AUTO), asked("vm-a", later(HOUR)), asked("vm-a", NOON))

    assert scope.asked_ms == {"vm-a": later(HOUR).wall_ms}


def test_an_approval_is_asking_too():
    """SPEC §2.5: any 200 or 304 to a VM records *last asked* for it, a POST's as well."""
    scope = after(scope_with(reboot_of("vm-a"), listening=AUTO), approve(EVENT, by="vm-a"), now=later(MINUTE))

    assert scope.asked_ms == {"vm-a": later(MINUTE).wall_ms}


def test_an_operators_approval_is_no_asking():
    """SPEC §2.5: what VMs ask counts, not what operators do."""
    scope = after(scope_with(reboot_of("vm-a"), listening=AUTO), approve(EVENT))

    assert scope.asked_ms == {}


def test_a_stranger_asking_does_not_make_the_scope_listen():
    """SPEC §2.5: any *of its VMs*."""
    scope = after(scope_of("vm-a", listening=AUTO), asked("somebody-else"))

    assert not listens(scope, NOON)


def test_a_vm_that_asks_under_another_letter_case_is_heard():
    """SPEC §1: names are compared case-insensitively."""
    assert listens(after(scope_of("vm-a", listening=AUTO), asked("VM-A")), NOON)


def test_a_vm_that_left_the_scope_listens_no_more():
    """SPEC §2.5: any of *its* VMs: one that was removed is none of them."""
    scope = after(scope_of("vm-a", "vm-b", listening=AUTO), asked("vm-b"))

    scope = after(scope, declare("vm-a", listening=AUTO))

    assert not listens(scope, NOON)


def test_listening_always_needs_no_asking():
    """SPEC §2.5: setting `listening = auto (default) | always | never`."""
    assert made(decide(scope_of("vm-a", listening=ALWAYS), restart("vm-a"), NOON)).status is Status.SCHEDULED


def test_listening_never_gives_no_notice_however_often_it_asks():
    """SPEC §2.5: setting `listening = auto (default) | always | never`."""
    scope = after(scope_of("vm-a", listening=NEVER), asked("vm-a"))

    decision = decide(scope, restart("vm-a"), NOON)

    assert made(decision).status is Status.STARTED
    assert "listening = never" in decision.record.changes[0].why


def test_auto_is_the_default():
    """SPEC §2.5: "`listening = auto (default)`"."""
    assert ScopeSettings().listening is AUTO


def test_a_scheduled_event_keeps_its_notice_when_the_scope_stops_listening():
    """SPEC §2.5: "A Scheduled event keeps its notice when the scope stops listening."."""
    scope = after(scope_of("vm-a", listening=AUTO), asked("vm-a"), now=NOON)
    scope = after(scope, restart("vm-a"), now=later(DAY))

    silent = after(scope, tick(), now=later(DAY + 10 * MINUTE))
    set_to_never = after(silent, declare("vm-a", listening=NEVER), now=later(DAY + 10 * MINUTE))

    assert not listens(silent, later(DAY + 10 * MINUTE))
    assert only_event(set_to_never).status is Status.SCHEDULED
    assert only_event(set_to_never).not_before_ms == later(DAY + 15 * MINUTE).wall_ms


@pytest.mark.parametrize(("gap_s", "status"), [(DAY, "Scheduled"), (DAY + 1, "Started")])
def test_a_queued_event_is_judged_when_its_turn_comes(gap_s, status):
    """SPEC §2.5: judged when an event would become visible, not when it was made."""
    scope = after(scope_of(Vm("vm-a", 0), Vm("vm-b", 1), listening=AUTO), asked("vm-a"))
    scope = after(scope, maintain(EventType.REBOOT))
    first, second = scope.events
    scope = after(scope, tick(), now=later(HOUR))

    scope = after(scope, complete(first), now=later(gap_s))

    assert scope.event(second.id).status == status


def test_asking_starts_nothing_and_shows_nothing():
    """SPEC §2.3: the incarnation rises on visible changes only; asking is none."""
    decision = decide(scope_with(reboot_of("vm-a"), listening=AUTO), asked("vm-a"), NOON)

    assert decision.scope.incarnation == 1
    assert decision.effects == ()
