"""Notice (SPEC §3.1): what each operation gets, and what may be asked for instead."""

import pytest
from builders import (
    MINUTE,
    NOON,
    after,
    approve,
    complete,
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
    tick,
)

from notbefore.core.decide import decide
from notbefore.core.errors import Invalid, TooEarly
from notbefore.core.kinds import EventType, Status
from notbefore.core.model import Vm

RESTARTED = "Virtual machine is going to be restarted as requested by authorized user."
REDEPLOYED = "Virtual machine is going to be redeployed as requested by authorized user."
DELETED = "Virtual machine is going to be deleted as requested by authorized user."
MAINTAINED = "Host server is undergoing maintenance."

TABLE = [
    pytest.param(operate("restart", "vm-a"), "Reboot", "User", 15 * MINUTE, RESTARTED, id="restart"),
    pytest.param(operate("redeploy", "vm-a"), "Redeploy", "User", 10 * MINUTE, REDEPLOYED, id="redeploy"),
    pytest.param(operate("freeze", "vm-a"), "Freeze", "Platform", 15 * MINUTE, MAINTAINED, id="freeze"),
    pytest.param(maintain(EventType.FREEZE), "Freeze", "Platform", 15 * MINUTE, MAINTAINED, id="maintain Freeze"),
    pytest.param(maintain(EventType.REBOOT), "Reboot", "Platform", 15 * MINUTE, MAINTAINED, id="maintain Reboot"),
    pytest.param(maintain(EventType.REDEPLOY), "Redeploy", "Platform", 10 * MINUTE, MAINTAINED, id="maintain Redeploy"),
    pytest.param(operate("evict", "vm-a"), "Preempt", "Platform", 30, "", id="evict"),
    pytest.param(operate("terminate", "vm-a"), "Terminate", "User", 5 * MINUTE, DELETED, id="terminate"),
]


@pytest.mark.parametrize(("request_made", "event_type", "source", "notice_s", "description"), TABLE)
def test_each_operation_has_its_type_source_notice_and_description(
    request_made, event_type, source, notice_s, description
):
    """SPEC §3.1: the table, row by row; "Duration -1 unless given." """
    event = made(decide(scope_of(spot("vm-a")), request_made, NOON))

    assert (event.type, event.source, event.description, event.duration_s) == (event_type, source, description, -1)
    assert event.status is Status.SCHEDULED
    assert event.visible_since_ms == NOON.wall_ms
    assert event.not_before_ms == later(notice_s).wall_ms


@pytest.mark.parametrize(("request_made", "event_type", "source", "notice_s", "description"), TABLE)
def test_an_unapproved_event_starts_when_its_notice_ends_and_not_a_moment_earlier(
    request_made, event_type, source, notice_s, description
):
    """SPEC §3: approved, or NotBefore reached. Seed: "Time after which this event may start." """
    scope = after(scope_of(spot("vm-a")), request_made)

    just_before = after(scope, tick(), now=later(notice_s - 0.001))
    just_then = after(scope, tick(), now=later(notice_s))

    assert only_event(just_before).status is Status.SCHEDULED
    assert only_event(just_then).status is Status.STARTED
    assert only_event(just_then).started_at_ms == later(notice_s).wall_ms


@pytest.mark.parametrize("past_the_second_ms", [1, 500, 999])
def test_not_before_is_rounded_up_to_the_second_and_stored_so(past_the_second_ms):
    """SPEC §2.3: NotBefore is rounded up to the second and stored so; never earlier than visible since + notice."""
    now = later(past_the_second_ms / 1000)

    event = made(decide(scope_of("vm-a"), restart("vm-a"), now))

    assert event.not_before_ms == later(15 * MINUTE + 1).wall_ms
    assert event.not_before_ms - event.visible_since_ms >= 15 * MINUTE * 1000


def test_a_longer_not_before_may_be_asked_for():
    """SPEC §3.1: "A longer NotBefore may be asked for"."""
    event = made(decide(scope_of("vm-a"), restart("vm-a", not_before_ms=later(3600).wall_ms), NOON))

    assert event.not_before_ms == later(3600).wall_ms


def test_an_asked_not_before_is_rounded_up_to_the_second_too():
    """SPEC §2.3: NotBefore is rounded up to the second and stored so."""
    event = made(decide(scope_of("vm-a"), restart("vm-a", not_before_ms=later(3600.001).wall_ms), NOON))

    assert event.not_before_ms == later(3601).wall_ms


def test_an_asked_not_before_really_delays_the_start():
    """SPEC §3.1 with S1: the longer time is the one that is kept."""
    scope = after(scope_of("vm-a"), restart("vm-a", not_before_ms=later(3600).wall_ms))

    assert statuses(after(scope, tick(), now=later(3599.999))) == {"vm-a": "Scheduled"}
    assert statuses(after(scope, tick(), now=later(3600))) == {"vm-a": "Started"}


@pytest.mark.parametrize("ask", [lambda **facts: restart("vm-a", **facts), maintain], ids=["restart", "maintain"])
def test_a_shorter_not_before_is_refused_with_the_earliest_allowed_time(ask):
    """SPEC §3.1: "a shorter one is refused with the earliest allowed time in the error"."""
    refusal = refused(TooEarly, scope_of("vm-a"), ask(not_before_ms=later(15 * MINUTE - 1).wall_ms))

    assert "2026-03-02T12:15:00Z" in refusal.message
    assert refusal.facts == {"earliest": "2026-03-02T12:15:00Z", "asked": "2026-03-02T12:14:59Z"}


def test_the_earliest_allowed_time_named_in_a_refusal_is_accepted():
    """SPEC §3.1: the time in the error is one that may be asked for."""
    scope, now = scope_of("vm-a"), later(0.25)
    refusal = refused(TooEarly, scope, restart("vm-a", not_before_ms=later(15 * MINUTE).wall_ms), now)

    event = made(decide(scope, restart("vm-a", not_before_ms=later(15 * MINUTE + 1).wall_ms), now))

    assert refusal.facts["earliest"] == "2026-03-02T12:15:01Z"
    assert event.not_before_ms == later(15 * MINUTE + 1).wall_ms


@pytest.mark.parametrize("notice_s", [0, 1, 2 * 3600])
def test_notice_is_settable_per_scope_shorter_too(notice_s):
    """SPEC §3.1: "Notice settable per scope (shorter too, for tests)"."""
    scope = scope_of("vm-a", notice_s={EventType.FREEZE: notice_s})

    event = made(decide(scope, operate("freeze", "vm-a"), NOON))

    assert event.not_before_ms == later(notice_s).wall_ms


def test_a_notice_set_for_one_type_leaves_the_others_alone():
    """SPEC §3.1: the notice belongs to the type."""
    scope = scope_of("vm-a", notice_s={EventType.FREEZE: 1})

    assert made(decide(scope, restart("vm-a"), NOON)).not_before_ms == later(15 * MINUTE).wall_ms


def test_the_running_values_are_shown():
    """SPEC §3.1: "the running values are shown"."""
    settings = scope_of("vm-a", notice_s={EventType.FREEZE: 1}).settings

    shown = {event_type: settings.notice_for(event_type) for event_type in EventType}

    assert shown == {"Freeze": 1, "Reboot": 900, "Redeploy": 600, "Preempt": 30, "Terminate": 300}


@pytest.mark.parametrize("notice_s", [5 * MINUTE, 15 * MINUTE])
def test_the_notice_of_a_terminate_may_be_set_from_five_to_fifteen_minutes(notice_s):
    """SPEC §3.1: "5 min, 5 to 15 settable [real]"."""
    scope = scope_of("vm-a", notice_s={EventType.TERMINATE: notice_s})

    assert made(decide(scope, operate("terminate", "vm-a"), NOON)).not_before_ms == later(notice_s).wall_ms


@pytest.mark.parametrize(("event_type", "notice_s"), [("Terminate", 15 * MINUTE + 1), ("Reboot", -1)])
def test_a_notice_outside_its_bounds_is_refused(event_type, notice_s):
    """SPEC §3.1: 15 minutes at most for Terminate; no notice is negative."""
    with pytest.raises(Invalid, match=f"notice_s of {event_type} "):
        scope_of("vm-a", notice_s={EventType(event_type): notice_s})


def test_a_given_duration_and_description_replace_the_defaults():
    """SPEC §3.1: the table gives defaults; §2.2: duration 0 means no interruption."""
    event = made(decide(scope_of("vm-a"), restart("vm-a", duration_s=0, description="Kernel update."), NOON))

    assert (event.duration_s, event.description) == (0, "Kernel update.")


def test_notice_is_counted_from_the_moment_an_event_becomes_visible():
    """SPEC §1: notice is the time between an event becoming visible and its NotBefore; a queue takes none of it."""
    scope = after(scope_of(Vm("vm-a", 0), Vm("vm-b", 1)), maintain())
    (first, queued) = scope.events

    turn = later(3600)
    scope = after(scope, tick(), now=turn)
    scope = after(scope, complete(first), now=turn)

    event = scope.event(queued.id)
    assert queued.not_before_ms is None
    assert event.visible_since_ms == turn.wall_ms
    assert event.not_before_ms == later(15 * MINUTE, of=turn).wall_ms


@pytest.mark.parametrize(("turn_s", "not_before_s"), [(3600, 7200), (7000, 7000 + 15 * MINUTE)])
def test_a_queued_event_gets_the_later_of_the_asked_time_and_its_full_notice(turn_s, not_before_s):
    """SPEC §2.3: never earlier than visible since + the notice, whatever was asked while it queued."""
    scope = after(scope_of(Vm("vm-a", 0), Vm("vm-b", 1)), maintain(not_before_ms=later(7200).wall_ms))
    (first, queued) = scope.events

    scope = after(scope, approve(first), complete(first), now=later(turn_s))

    assert scope.event(queued.id).not_before_ms == later(not_before_s).wall_ms
