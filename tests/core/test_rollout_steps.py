"""A rollout from its first wave to its end: halting, pausing, targets that change under it (core/rollout_steps.py)."""

from dataclasses import replace
from uuid import UUID

import pytest
from builders import HOUR, MINUTE, NOON, OPERATOR, approve, declare, maintain
from driven_fleets import DrivenFleet, scopes_of
from fleet_laws import watched

from notbefore.core.kinds import EventType, Status
from notbefore.core.model import Vm
from notbefore.core.operation import OperationStatus, ScopedVm
from notbefore.core.rollout import Hit, Limits, Over, Rollout, RolloutStatus
from notbefore.core.rollout_steps import paused, resumed, roll, stopped
from notbefore.core.windows import Window

ID = str(UUID(int=8))
WAVE_S = 15 * MINUTE + 1 + 30


def vm(name, domain=0, host="h1"):
    return Vm(name, domain, host=host)


THREE_HOSTS = {"a": [vm("a0"), vm("a1", 1, "h2"), vm("a2", 2, "h3")], "b": [vm("b0", 0, "h2"), vm("b1", 1, "h3")]}


def rolling(declared=None, limits=None, names=("h1", "h2", "h3"), over=Over.HOSTS, event_type=EventType.REBOOT):
    fleet = watched(DrivenFleet(scopes_of(declared or THREE_HOSTS)))
    limits = limits or Limits(max_hosts=1)
    fleet.roll_out(Rollout(ID, event_type, over, OPERATOR, NOON.wall_ms, limits, waiting=tuple(names)))
    fleet.settle()
    return fleet


def say(fleet, rolled):
    fleet.told += [(fleet.at_ms, "", change) for change in rolled.changes]
    fleet.rollouts[ID] = rolled.rollout
    fleet.settle()


def whats(fleet):
    return [change.what for _, _, change in fleet.told if change.rollout == ID and change.operation == ""]


def in_events(fleet):
    return sorted(name for _, event in fleet.events() for name in event.vms)


# -- Going on


def test_a_rollout_goes_host_by_host_in_its_order():
    """Issue: order. History tells of each wave and each target."""
    fleet = rolling(names=("h3", "h1", "h2"))
    fleet.run()

    done = fleet.rollouts[ID]
    assert [one.name for one in done.done] == ["h3", "h1", "h2"]
    assert (done.status, done.touched, done.failed, done.skipped) == (RolloutStatus.COMPLETED, 5, 0, 0)
    assert whats(fleet) == ["rollout wave", "rollout target done"] * 3 + ["rollout completed"]


def test_a_target_that_cannot_go_does_not_hold_up_those_behind_it():
    """Rule 2: whoever fits goes."""
    declared = {"a": [vm("a0"), vm("a1", 1, "h2")], "b": [vm("b0", 0, "h3")]}
    fleet = rolling(declared, Limits(max_hosts=2))

    assert in_events(fleet) == ["a0", "b0"]
    assert fleet.rollouts[ID].waiting == ("h2",)


def test_a_target_in_hand_holds_its_place_in_the_budget():
    """Rule 2: unless it holds the budget. h1 rests between its domains, and h2 is not begun."""
    declared = {"a": [vm("a0"), vm("a1", 1)], "b": [vm("b0", 0, "h2")]}
    fleet = rolling(declared, Limits(max_hosts=1, recovery_s=600))
    fleet.run_for(WAVE_S + 60)

    assert in_events(fleet) == []
    assert [one.name for one in fleet.rollouts[ID].in_hand] == ["h1"]
    fleet.run()
    assert fleet.rollouts[ID].touched == 3


def test_in_hand_comes_before_new():
    """What was begun is ended first."""
    declared = {"a": [vm("a0"), vm("a1", 1)], "b": [vm("b0", 0, "h2")], "c": [vm("c0", 0, "h3")]}
    fleet = rolling(declared, Limits(max_vms=1))
    fleet.run_for(WAVE_S + 2)

    assert in_events(fleet) == ["a1"]


def test_a_host_that_has_no_vms_left_is_done_at_once():
    """There is nothing to touch."""
    fleet = rolling(names=("h9", "h1"))

    assert [(one.name, one.touched) for one in fleet.rollouts[ID].done] == [("h9", 0)]


def test_rolling_twice_is_rolling_once():
    """Rule 1: by what is seen alone."""
    fleet = rolling()
    once = roll(fleet.rollouts[ID], fleet.fleet, fleet.now)

    assert (once.rollout, once.changes) == (fleet.rollouts[ID], ())
    fleet.run()
    assert roll(fleet.rollouts[ID], fleet.fleet, fleet.now).rollout == fleet.rollouts[ID]


def test_over_scopes_the_domains_of_a_scope_follow_each_other():
    """S5, and recovery between them."""
    fleet = rolling(limits=Limits(max_scopes=1, recovery_s=120), names=("a", "b"), over=Over.SCOPES)
    fleet.run()

    assert [event.vms for _, _, event in fleet.starts()] == [("a0",), ("a1",), ("a2",), ("b0",), ("b1",)]


# -- Targets that change under it


def test_vms_that_left_meanwhile_are_left_out():
    """They are not touched, and counted as such."""
    declared = {"a": [vm("a0"), vm("a1", 1), vm("a2", 2)]}
    fleet = rolling(declared, names=("h1",))
    request = declare(vm("a0"), vm("a2", 2, "h7"), force=True)
    fleet.take(replace(request, scope="a"))
    fleet.run()

    done = fleet.rollouts[ID]
    assert (done.status, done.touched, done.skipped) == (RolloutStatus.COMPLETED, 1, 2)


def test_a_redeployed_vm_on_a_later_host_is_touched_there_again_unless_it_rests():
    """It is the host that is maintained; whoever is on it then is hit. vm_rest_s keeps a VM from that for so long."""
    for rest_s, ends in ((0, 0), (6 * HOUR, 6 * HOUR)):
        declared = {"a": [vm("a0")], "b": [vm("b0", 0, "h2")]}
        limits = Limits(max_hosts=1, vm_rest_s=rest_s)
        fleet = rolling(declared, limits, ("h1", "h2"), event_type=EventType.REDEPLOY)
        fleet.new_host = lambda name: {"a0": "h2", "b0": "h5"}[name]
        fleet.run()

        hits = [at_ms for at_ms, _, event in fleet.starts() if event.vms == ("a0",)]
        assert len(hits) == 2
        assert hits[1] - hits[0] >= ends * 1000
        assert fleet.rollouts[ID].status is RolloutStatus.COMPLETED


def test_a_wave_that_was_refused_comes_again():
    """The scope had another's event when the wave came; nothing is lost by that."""
    fleet = watched(DrivenFleet(scopes_of({"a": [vm("a0"), vm("a1", 1)], "b": [vm("b0", 0, "h2")]})))
    limits = Limits(max_hosts=1)
    fleet.roll_out(Rollout(ID, EventType.REBOOT, Over.HOSTS, OPERATOR, NOON.wall_ms, limits, waiting=("h1", "h2")))
    fleet.drive(ID)
    fleet.take(replace(maintain(vms=("a1",)), scope="a"))
    fleet.run_for(1)
    refused = fleet.rollouts[ID].in_hand[0]
    assert (refused.refused, refused.not_until_ms, refused.wave) == (1, NOON.wall_ms + 1000, None)
    assert refused.waiting == (ScopedVm("a", "a1"), ScopedVm("a", "a0"))

    fleet.run()
    assert (fleet.rollouts[ID].status, fleet.rollouts[ID].touched) == (RolloutStatus.COMPLETED, 3)
    assert fleet.times_touched() == {("a", "a0"): 1, ("a", "a1"): 2, ("b", "b0"): 1}


def test_an_event_that_somebody_cancelled_is_left_out():
    """An operator's word on one event is not undone by the rollout."""
    fleet = rolling()
    fleet.cancelled_after_ms = lambda event: 1000 if "b0" in event.vms else None
    fleet.run()

    done = fleet.rollouts[ID]
    assert (done.status, done.touched, done.skipped) == (RolloutStatus.COMPLETED, 4, 1)
    assert fleet.times_touched()["b", "b0"] == 0


def test_a_wave_whose_server_was_away_is_not_announced_when_its_window_is_closed():
    """Issue: windows. The rollout had said the wave; nobody was there to announce it before the window closed."""
    window = Window(("Mon", "Tue"), 12 * 60, 13 * 60)
    fleet = watched(DrivenFleet(scopes_of({"a": [vm("a0")]})))
    limits = Limits(max_hosts=1, windows=(window,))
    fleet.roll_out(Rollout(ID, EventType.REBOOT, Over.HOSTS, OPERATOR, NOON.wall_ms, limits, waiting=("h1",)))
    fleet.drive(ID)
    fleet.at_ms += 2 * HOUR * 1000
    fleet.run()

    assert [at_ms for at_ms, _, _ in fleet.starts()] == [NOON.wall_ms + (24 * HOUR + 15 * MINUTE + 1) * 1000]
    assert fleet.rollouts[ID].status is RolloutStatus.COMPLETED


def test_what_ends_at_the_moment_of_a_choice_is_counted_at_the_next_one():
    """Issue: the plan equals what happens; so a choice must not depend on who came first at one and the same time."""
    declared = {"a": [vm("a0")], "b": [vm("b0", 0, "h2")], "c": [vm("c0", 0, "h3")], "d": [vm("d0", 0, "h4")]}
    for seen_first in (True, False):
        fleet = rolling(declared, Limits(max_hosts=2), ("h1", "h2", "h3", "h4"))
        first, second = (fleet.rollouts[ID].operation_id(number) for number in (1, 2))
        fleet.run_for(WAVE_S)
        over = replace(fleet.operations[second], ended_at_ms=fleet.at_ms + 1000)
        fleet.operations[second] = over if seen_first else replace(over, status=OperationStatus.RUNNING)
        fleet.at_ms += 1000
        fleet.drive(ID)

        assert fleet.operations[first].is_over
        assert [(one.name, one.wave.number) for one in fleet.rollouts[ID].in_hand] == [("h2", 2), ("h3", 3)]


# -- Failing


def failing(limits, *names):
    fleet = rolling(limits=limits, names=("h1", "h3", "h2"))
    fleet.fails = lambda name: name in names
    fleet.run()
    return fleet


def test_up_to_the_limit_failed_impacts_do_not_halt_it():
    """Issue: halts itself when failed impacts pass a limit."""
    done = failing(Limits(max_hosts=1, failed_max=1), "a0").rollouts[ID]

    assert (done.status, done.touched, done.failed) == (RolloutStatus.COMPLETED, 5, 1)


def test_past_the_limit_it_halts_withdraws_and_says_why():
    """SPEC §3.4: halts itself, withdrawing events not yet started, when impacts fail."""
    declared = {"a": [vm("a0")], "b": [vm("b0", 0, "h2")], "c": [vm("c0", 0, "h3")]}
    fleet = rolling(declared, Limits(max_hosts=2))
    fleet.fails = lambda name: name == "a0"
    fleet.approved_after_ms = lambda event: None
    fleet.take(approval(fleet, "a"))
    fleet.run()

    halted = fleet.rollouts[ID]
    assert halted.status is RolloutStatus.HALTED
    assert halted.why == "1 impact failed, and at most 0 may"
    assert whats(fleet)[-1] == "rollout target done"
    assert "rollout halted" in whats(fleet)
    assert in_events(fleet) == []
    assert [event.status for event in fleet.ended.values()] == [Status.FAILED, Status.CANCELLED]
    assert [(one.name, one.waiting) for one in halted.in_hand] == [("h2", (ScopedVm("b", "b0"),))]


def approval(fleet, scope):
    (event,) = fleet.scopes[scope].events
    return replace(approve(event, by=event.vms[0]), scope=scope)


def test_resumed_it_forgives_what_was_known_and_goes_on_with_the_rest():
    """Failures that are known by now do not halt it again; one more does."""
    fleet = failing(Limits(max_hosts=1), "a0", "b1")
    assert fleet.rollouts[ID].status is RolloutStatus.HALTED
    say(fleet, resumed(fleet.rollouts[ID], fleet.fleet, OPERATOR))
    assert fleet.rollouts[ID].forgiven == 1
    fleet.run()
    again = fleet.rollouts[ID]
    assert again.status is RolloutStatus.HALTED
    assert "after the 1 that were known when it was resumed" in again.why

    say(fleet, resumed(again, fleet.fleet, OPERATOR))
    fleet.run()
    done = fleet.rollouts[ID]
    assert (done.status, done.touched, done.failed) == (RolloutStatus.COMPLETED, 5, 2)
    assert set(fleet.times_touched().values()) == {1}


def test_what_fails_at_the_very_end_leaves_nothing_to_halt():
    """It is over, with its failures counted."""
    fleet = failing(Limits(max_hosts=1), "b0")

    assert (fleet.rollouts[ID].status, fleet.rollouts[ID].failed) == (RolloutStatus.COMPLETED, 1)
    assert "rollout halted" not in whats(fleet)


def test_a_paused_rollout_halts_too():
    """What was announced may still fail."""
    fleet = rolling()
    fleet.fails = lambda name: name == "a0"
    say(fleet, paused(fleet.rollouts[ID], OPERATOR))
    fleet.run()

    assert fleet.rollouts[ID].status is RolloutStatus.HALTED


# -- Operators' words


def test_paused_what_is_announced_goes_on_and_nothing_new_begins():
    """Issue: pause, resume."""
    fleet = rolling()
    say(fleet, paused(fleet.rollouts[ID], OPERATOR))
    fleet.run()
    assert [event.vms for _, _, event in fleet.starts()] == [("a0",)]
    assert fleet.rollouts[ID].status is RolloutStatus.PAUSED

    say(fleet, resumed(fleet.rollouts[ID], fleet.fleet, OPERATOR))
    fleet.run()
    assert fleet.rollouts[ID].touched == 5


@pytest.mark.parametrize("first", [None, paused])
def test_cancelled_what_has_not_started_is_withdrawn_and_it_ends(first):
    """Issue: cancel as a whole, running or paused."""
    fleet = rolling(limits=Limits(max_hosts=3))
    if first:
        say(fleet, first(fleet.rollouts[ID], OPERATOR))
    say(fleet, stopped(fleet.rollouts[ID], OPERATOR))
    fleet.run()

    done = fleet.rollouts[ID]
    assert done.status is RolloutStatus.CANCELLED
    assert (done.touched, in_events(fleet), fleet.starts()) == (0, [], [])
    assert whats(fleet)[-2:] == ["rollout cancelling", "rollout cancelled"]


def test_cancelled_what_has_started_is_waited_for():
    """§3.5: not after it has started."""
    fleet = rolling()
    fleet.run_for(15 * MINUTE + 2)
    say(fleet, stopped(fleet.rollouts[ID], OPERATOR))
    assert fleet.rollouts[ID].status is RolloutStatus.CANCELLING
    fleet.run()

    assert (fleet.rollouts[ID].status, fleet.rollouts[ID].touched) == (RolloutStatus.CANCELLED, 1)


def test_words_that_do_not_fit_change_nothing():
    """Who paused cannot pause again; what is over stays over."""
    fleet = rolling()
    running = fleet.rollouts[ID]
    assert resumed(running, fleet.fleet, OPERATOR).rollout is running
    fleet.run()
    done = fleet.rollouts[ID]
    for word in (paused(done, OPERATOR), stopped(done, OPERATOR), resumed(done, fleet.fleet, OPERATOR)):
        assert (word.rollout, word.changes) == (done, ())


# -- The rate


def test_hits_count_from_the_announcement_until_so_long_after_the_start():
    """Issue: at most x impacts per y minutes."""
    fleet = rolling(limits=Limits(impacts_max=2, impacts_per_s=3600))
    first = fleet.rollouts[ID]
    assert [(hit.vms, hit.started_at_ms) for hit in first.hits] == [(1, None), (1, None)]
    fleet.run_for(15 * MINUTE + 1)
    started_ms = NOON.wall_ms + (15 * MINUTE + 1) * 1000
    assert [(hit.vms, hit.started_at_ms) for hit in fleet.rollouts[ID].hits] == [(1, started_ms), (1, started_ms)]

    fleet.run(started_ms + HOUR * 1000 - 1)
    assert fleet.rollouts[ID].waves_begun == 2
    fleet.run(started_ms + HOUR * 1000)
    assert fleet.rollouts[ID].waves_begun > 2
    assert all(isinstance(hit, Hit) and hit.started_at_ms is None for hit in fleet.rollouts[ID].hits)
