"""Time (SPEC §4): two hands, and a promise that has to pass on both."""

import pytest
from builders import (
    HOUR,
    MINUTE,
    NOON,
    after,
    approve,
    complete,
    later,
    maintain,
    only_event,
    reboot_of,
    rebooted,
    restart,
    scope_of,
    scope_with,
    statuses,
    stepped,
    tick,
)

from notbefore.core.decide import decide
from notbefore.core.kinds import EventType
from notbefore.core.model import Vm
from notbefore.core.settle import next_due_ms
from notbefore.core.times import Moment, Now, Span, iso, rounded_up_to_second

NOTICE = 15 * MINUTE


@pytest.mark.parametrize(
    ("now", "status"),
    [
        pytest.param(later(NOTICE - 0.001), "Scheduled", id="a moment early"),
        pytest.param(later(NOTICE), "Started", id="in time"),
        pytest.param(stepped(HOUR, of=later(MINUTE)), "Scheduled", id="wall stepped forward an hour"),
        pytest.param(stepped(HOUR, of=later(NOTICE - 0.001)), "Scheduled", id="stepped forward, a moment early"),
        pytest.param(stepped(HOUR, of=later(NOTICE)), "Started", id="stepped forward, notice elapsed"),
        pytest.param(stepped(-MINUTE, of=later(NOTICE)), "Scheduled", id="stepped back, wall not there"),
        pytest.param(stepped(-MINUTE, of=later(NOTICE + MINUTE)), "Started", id="stepped back, wall there"),
        pytest.param(rebooted(later(NOTICE - 0.001)), "Scheduled", id="another boot, wall not there"),
        pytest.param(rebooted(later(NOTICE)), "Started", id="another boot, wall there"),
        pytest.param(rebooted(stepped(HOUR)), "Started", id="another boot, wall stepped forward"),
    ],
)
def test_an_event_starts_when_the_wall_has_reached_not_before_and_the_notice_has_really_elapsed(now, status):
    """SPEC §4: both, stored with the boot id; after another boot the wall clock decides."""
    scope = scope_with(reboot_of("vm-a"))

    assert statuses(after(scope, tick(), now=now)) == {"vm-a": status}


def test_a_step_forward_before_the_event_was_made_costs_nobody_anything():
    """SPEC §4: a promise is counted from the moment it was made."""
    now = stepped(HOUR)
    scope = after(scope_of("vm-a"), restart("vm-a"), now=now)

    assert statuses(after(scope, tick(), now=later(NOTICE - 1, of=now))) == {"vm-a": "Scheduled"}
    assert statuses(after(scope, tick(), now=later(NOTICE, of=now))) == {"vm-a": "Started"}


def test_an_approval_needs_no_clock():
    """SPEC §3: approved, *or* NotBefore reached."""
    scope = after(scope_of("vm-a"), restart("vm-a"))

    scope = after(scope, approve(only_event(scope), by="vm-a"), now=stepped(-HOUR))

    assert statuses(scope) == {"vm-a": "Started"}


@pytest.mark.parametrize(
    ("now", "left_s"),
    [
        (NOON, 60),
        (later(59.999), 0.001),
        (later(60), 0),
        (later(3600), 0),
        (stepped(30, of=later(10)), 50),
        (stepped(-30, of=later(10)), 80),
        (rebooted(stepped(30)), 30),
        (rebooted(later(90)), 0),
    ],
)
def test_what_is_left_of_a_promise_is_what_the_slower_hand_still_has_to_go(now, left_s):
    """SPEC §4: the wall clock has reached it *and* the time has really elapsed."""
    span = Span(NOON, later(60).wall_ms)

    assert span.remaining_ms(now) == left_s * 1000
    assert span.has_passed(now) is (left_s == 0)


def knowing(now, age_s, of=NOON):
    """The reading of a process that learned, just now, how old a reading of another boot is."""
    return Now(now.wall_ms, now.boot_ms, now.boot_id, {of: now.boot_ms - round(age_s * 1000)})


@pytest.mark.parametrize(
    ("now", "left_s"),
    [
        pytest.param(knowing(rebooted(NOON), 0), 60, id="seen being made"),
        pytest.param(knowing(rebooted(stepped(HOUR)), 0), 60, id="seen being made, by a wall that is ahead"),
        pytest.param(knowing(rebooted(stepped(-10)), 0), 70, id="seen being made, by a wall that is behind"),
        pytest.param(later(59, of=knowing(rebooted(stepped(HOUR)), 0)), 1, id="and a minute less a second later"),
        pytest.param(later(60, of=knowing(rebooted(stepped(HOUR)), 0)), 0, id="and a minute later"),
        pytest.param(stepped(HOUR, of=knowing(rebooted(later(20)), 20)), 40, id="found, and the wall stepped forward"),
        pytest.param(knowing(rebooted(later(90)), 90), 0, id="found when it was kept"),
        pytest.param(knowing(rebooted(later(20)), 0, of=later(1)), 40, id="only of another promise"),
        pytest.param(knowing(stepped(30, of=later(10)), 0, of=rebooted(NOON)), 50, id="made in this boot"),
    ],
)
def test_a_process_counts_on_its_own_boot_clock_what_it_learned_of_another_boots_promise(now, left_s):
    """SPEC §4: a wall clock stepped forward shortens no promise, whoever made it; where nobody knows, the wall decides."""
    span = Span(NOON, later(60).wall_ms)

    assert span.remaining_ms(now) == left_s * 1000
    assert span.has_passed(now) is (left_s == 0)


def test_what_a_process_learned_decides_when_an_event_starts_and_when_to_look_again():
    """SPEC §4: the notice has really elapsed."""
    scope = scope_with(reboot_of("vm-a"))
    now = knowing(rebooted(stepped(HOUR)), 5 * MINUTE)

    assert next_due_ms(scope, now) == later(10 * MINUTE, of=now).wall_ms
    assert statuses(after(scope, tick(), now=later(10 * MINUTE - 0.001, of=now))) == {"vm-a": "Scheduled"}
    assert statuses(after(scope, tick(), now=later(10 * MINUTE, of=now))) == {"vm-a": "Started"}


def test_what_a_process_learned_is_not_stored():
    """SPEC §4: a promise is stored with a bare reading of the clock, which every process can read."""
    before = scope_of("vm-a", "vm-b", recovery_s=40)
    made = [restart("vm-a"), maintain(vms=("vm-b",))]
    ended = [complete(event) for event in after(before, *made).events[1:]]
    requests = [*made, *(approve(request.event_id) for request in ended), *ended]

    scope = after(before, *requests, now=knowing(NOON, 5, of=rebooted(NOON)))

    assert type(only_event(scope).notice.since) is Moment
    assert type(scope.recovery.span.since) is Moment
    assert scope == after(before, *requests, now=NOON)


def test_times_are_kept_to_the_millisecond_and_shown_to_the_second():
    """SPEC §4: "Times are UTC, kept to the millisecond, shown to the second."."""
    event = only_event(after(scope_of("vm-a"), restart("vm-a"), now=later(0.123)))

    assert event.visible_since_ms == NOON.wall_ms + 123
    assert iso(event.visible_since_ms) == "2026-03-02T12:00:00Z"


@pytest.mark.parametrize(("at_ms", "rounded"), [(0, 0), (1, 1000), (999, 1000), (1000, 1000), (1001, 2000)])
def test_rounding_is_up_to_the_second(at_ms, rounded):
    """SPEC §2.3: "rounded **up** to the second"."""
    assert rounded_up_to_second(at_ms) == rounded


def test_a_tick_with_nothing_due_changes_nothing():
    """SPEC §4: an event starts when it is due, not because somebody looked."""
    scope = scope_with(reboot_of("vm-a"))

    decision = decide(scope, tick(), later(NOTICE - 1))

    assert (decision.scope, decision.effects, decision.record) == (scope, (), None)


def test_settling_twice_at_one_moment_is_settling_once():
    """SPEC §4: `advance` settles everything at each due time."""
    scope = after(scope_with(reboot_of("vm-a")), tick(), now=later(NOTICE))

    assert after(scope, tick(), now=later(NOTICE)) == scope


def test_the_next_due_time_of_a_scheduled_event_is_its_not_before():
    """SPEC §4: `advance` moves from due time to due time; L1: Started by NotBefore + 1 s."""
    assert next_due_ms(scope_with(reboot_of("vm-a")), later(MINUTE)) == later(NOTICE).wall_ms


def test_after_a_step_forward_the_next_due_time_is_when_the_notice_will_really_have_elapsed():
    """SPEC §4: a wall clock stepped forward shortens no promise."""
    now = stepped(HOUR, of=later(5 * MINUTE))

    assert next_due_ms(scope_with(reboot_of("vm-a")), now) == later(10 * MINUTE, of=now).wall_ms


def test_the_earliest_of_several_is_due_next():
    """SPEC §4: from due time to due time."""
    scope = after(scope_of("vm-a", "vm-b"), restart("vm-a"), maintain(EventType.REDEPLOY, vms=("vm-b",)))

    assert next_due_ms(scope, NOON) == later(10 * MINUTE).wall_ms


def test_a_queue_that_rests_is_due_when_the_rest_is_over():
    """SPEC §3.4: plus recovery_s."""
    scope = after(scope_of(Vm("vm-a", 0), Vm("vm-b", 1), recovery_s=40), maintain())
    scope = after(scope, approve(scope.events[0]), complete(scope.events[0]))

    assert next_due_ms(scope, later(10)) == later(40).wall_ms


def test_a_wall_clock_stepped_back_takes_no_turn_back():
    """SPEC §3.4, §4: the rest of UD 0 is over and UD 1 has its turn; a further event of UD 1 waits for nobody."""
    scope = after(scope_of(Vm("vm-a", 0), Vm("vm-b", 1), Vm("vm-c", 1), recovery_s=40), maintain(vms=("vm-a", "vm-b")))
    scope = after(scope, approve(scope.events[0]), complete(scope.events[0]))
    scope = after(scope, tick(), now=later(40))

    scope = after(scope, maintain(vms=("vm-c",)), now=stepped(-HOUR, of=later(41)))

    assert statuses(scope) == {"vm-b": "Scheduled", "vm-c": "Scheduled"}


def test_nothing_is_due_when_only_others_can_change_the_scope():
    """SPEC §4: a Started event ends by its executor, not by the clock; nor is anything due in an idle scope."""
    scope = after(scope_of(Vm("vm-a", 0), Vm("vm-b", 1)), maintain())
    scope = after(scope, approve(scope.events[0]))

    assert next_due_ms(scope, NOON) is None
    assert next_due_ms(scope_of("vm-a"), NOON) is None


def test_a_moment_is_a_reading_with_two_hands():
    """SPEC §4: the boot-time clock is stored with the boot id."""
    event = only_event(after(scope_of("vm-a"), restart("vm-a"), now=later(3)))

    assert event.notice.since == Moment(NOON.wall_ms + 3000, NOON.boot_ms + 3000, "boot-1")
