"""The laws on rollouts: quiet about what is right, and each limit that is broken is named (SPEC §3.4)."""

from dataclasses import replace

import pytest
from law_steps import HOUR, MINUTE, NOON_MS, QUARTER, asking, broken, declare
from wave_steps import ID, OTHER, Waved, on

from notbefore.core.kinds import Status
from notbefore.core.operation import Stage
from notbefore.core.requests import OperateVm
from notbefore.core.rollout import Limits, Over, RolloutStatus
from notbefore.core.windows import DAYS, Window
from notbefore.simulation.laws.all import all_laws
from notbefore.simulation.laws.rollout_limits import is_open

NOON = 12 * 60
AT_NIGHT = Window(DAYS, 22 * 60, 4 * 60)


def two_hosts(*laws):
    """A minute ago: two scopes with a VM on each of two hosts, in an update domain of its own each."""
    run = Waved(*laws)
    for scope, names in (("shop", "ab"), (OTHER, "xy")):
        run.take(declare(on("h1", names[0]), on("h2", names[1], 1), scope=scope))
    run.at(MINUTE)
    return run


def rolling(*laws, limits=None, over=Over.HOSTS):
    run = two_hosts(*laws)
    run.roll_out(*(("h1", "h2") if over is Over.HOSTS else ("shop", OTHER)), limits=limits, over=over)
    run.roll_on()
    return run


def unlimited(limits, **said):
    """What goes too far: rolled by other limits than those that were said."""
    run = two_hosts()
    run.roll_out("h1", "h2", limits=limits, **said)
    run.kept[ID] = replace(run.kept[ID], limits=Limits(max_hosts=9))
    keep, run.put = run.put, lambda value, *told: keep(bounded(value, limits), *told)
    return run


def bounded(value, limits):
    return replace(value, limits=limits) if value.id == ID else value


def finish(run, *scopes):
    for scope in scopes or ("shop", OTHER):
        run.approve_all(scope)
    run.roll_on()
    run.later(5)
    for scope in scopes or ("shop", OTHER):
        run.complete_all(scope)
    run.roll_on()
    run.later(2)
    run.roll_on()


# -- What is right


def test_all_laws_are_quiet_about_a_rollout_as_it_should_be():
    limits = Limits(max_hosts=1, recovery_s=30, impacts_max=4, impacts_per_s=600, vm_rest_s=60)
    run = rolling(*all_laws(), limits=limits)
    finish(run)
    run.later(30)
    run.roll_on()
    finish(run)
    run.end()

    assert run.kept[ID].status is RolloutStatus.COMPLETED
    assert run.kept[ID].touched == 4


def test_all_laws_are_quiet_about_one_that_is_cancelled():
    run = rolling(*all_laws())
    run.stop()
    run.roll_on()
    run.later(HOUR)
    run.end()

    assert run.kept[ID].status is RolloutStatus.CANCELLED
    assert not run.events()


# -- Limits


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Limits(max_scopes=1), "max_scopes is 1"),
        (Limits(max_vms=1), "max_vms is 1"),
    ],
)
def test_a_budget_counts_from_visible_to_the_end(limits, words):
    run = unlimited(limits)
    with broken("§3.4", words):
        run.roll_on()


def test_hosts_are_counted_too():
    run = unlimited(Limits(max_hosts=1))
    with broken("§3.4", "max_hosts is 1"):
        run.take(declare(on("h3", "q"), scope="wiki"))
        run.put(replace(run.kept[ID], waiting=("h1", "h2")))
        run.kept[ID] = replace(run.kept[ID], limits=Limits(max_hosts=9))
        run.take(declare(on("h2", "w"), scope="mail"))
        run.roll_on()


def test_impacts_are_counted_over_any_span_of_the_rate():
    run = unlimited(Limits(max_hosts=9, impacts_max=1, impacts_per_s=600))
    run.roll_on()
    with broken("§3.4", "2 impacts within 600 s, and 1 may be"):
        run.later(QUARTER + 3)
        run.tick()
        run.tick(OTHER)


def test_no_event_becomes_visible_outside_its_windows():
    run = unlimited(Limits(max_hosts=1, windows=(AT_NIGHT,)))
    with broken("§3.4", "while its windows were closed"):
        run.roll_on()


def test_a_wave_that_was_said_in_its_window_does_not_come_hours_later():
    at_noon = Window(DAYS, NOON, NOON + 1)
    run = two_hosts()
    run.at(30)
    run.roll_out("h1", limits=Limits(max_hosts=1, windows=(at_noon,)))
    rolled = run.rolled().rollout
    run.put(rolled)
    assert not rolled.in_hand, "a wave does not fit into a minute"


@pytest.mark.parametrize(
    ("window", "hours", "is_in"),
    [
        (AT_NIGHT, 0, False),
        (AT_NIGHT, 10, True),
        (AT_NIGHT, 15.99, True),
        (AT_NIGHT, 16, False),
        (Window(DAYS, NOON, NOON + 60), 0.99, True),
        (Window(DAYS, NOON, NOON + 60), 1, False),
        (Window(DAYS, 13 * 60, 14 * 60, "Europe/Prague"), 0.5, True),
        (Window(("Tue",), NOON, NOON + 60), 0.5, False),
    ],
)
def test_a_window_is_open_from_its_beginning_to_its_end(window, hours, is_in):
    """Noon of the run is that of a Monday."""
    assert is_open((window,), NOON_MS + round(hours * HOUR * 1000)) is is_in


def test_a_vm_that_was_hit_is_left_alone_for_the_rest():
    run = two_hosts()
    run.take(OperateVm(**asking({}), operation="restart", vm="a"))
    run.approve_all()
    run.later(60)
    run.complete_all()
    run.roll_out("h1", limits=Limits(max_hosts=1, vm_rest_s=600))
    run.kept[ID] = replace(run.kept[ID], limits=Limits(max_hosts=1))
    keep, run.put = run.put, lambda value, *told: keep(bounded(value, Limits(max_hosts=1, vm_rest_s=600)), *told)
    with broken("§3.4", "takes a, which was hit"):
        run.roll_on()


def test_the_rest_between_domains_is_passed_on():
    run = two_hosts()
    run.roll_out("h1", limits=Limits(max_hosts=1, recovery_s=600))
    keep, run.put = run.put, lambda value, *told: keep(without_rest(value), *told)
    with broken("§3.4", "its domain gets 0 s of rest, not 600"):
        run.roll_on()


def without_rest(value):
    return value if value.id == ID else replace(value, recovery_s=0)


def test_a_vm_of_a_target_is_touched_once():
    run = rolling(over=Over.SCOPES, limits=Limits(max_scopes=1))
    (target,) = run.kept[ID].in_hand
    run.approve_all()
    run.drive(target.wave.operation)
    run.complete_all()
    run.drive(target.wave.operation)
    wave = replace(target.wave, number=9, operation=run.kept[ID].operation_id(9))
    again = replace(target, wave=wave)
    run.put(replace(run.kept[ID], waves_begun=9, in_hand=(again,)))
    run.drive_wave(ID, again)
    with broken("§3.4", "a is touched a second time"):
        run.approve_all()
        run.drive_wave(ID, again)


# -- Its course


def test_a_paused_rollout_says_no_wave():
    run = rolling()
    finish_first = run.kept[ID]
    run.pause()
    with broken("§3.4", "it said a wave while it was Paused"):
        run.put(replace(run.kept[ID], waves_begun=finish_first.waves_begun + 1))


def test_no_target_is_lost_and_none_is_there_twice():
    run = rolling()
    with broken("§3.4", "a target was lost"):
        run.put(replace(run.kept[ID], waiting=()))


def test_a_halt_has_its_reason_and_stands_in_history():
    run = rolling()
    with broken("S11", "became Halted and history does not say why"):
        run.put(replace(run.kept[ID], status=RolloutStatus.HALTED))


def test_what_has_ended_stays():
    run = rolling()
    run.stop()
    run.roll_on()
    with broken("§3.4", "it had ended as Cancelled and was changed"):
        run.put(replace(run.kept[ID], description="otherwise"))


def failed_wave():
    """The impact on the first host fails, and its operation knows."""
    run = rolling()
    for scope in ("shop", OTHER):
        run.approve_all(scope)
    run.roll_on()
    key = run.kept[ID].in_hand[0].wave.operation
    operation, member = run.kept[key], run.kept[key].wave.members[0]
    assert member.stage is Stage.STARTED
    event = run.event_of(member)
    assert event.status is Status.STARTED
    return run, key, operation, member


def test_a_rollout_halts_when_more_impacts_fail_than_may():
    """§3.4: halts itself when impacts fail."""
    run, key, operation, member = failed_wave()
    run.laws = run.laws[2:]
    run.put(replace(operation, wave=operation.wave.with_member(replace(member, failed_vms=member.vms))))
    with broken("§3.4", "it said a wave after 1 failed impacts"):
        run.put(replace(run.kept[ID], waves_begun=run.kept[ID].waves_begun + 1))
    run.later(11)
    with broken("§3.4", "it has not halted"):
        run.tick()
    assert key in run.kept


def test_a_halted_rollout_withdraws_what_has_not_started():
    run = rolling()
    run.stop()
    run.later(11)
    with broken("S9", "it is Cancelling"):
        run.tick()


def test_a_wave_that_was_said_is_begun():
    run = two_hosts()
    run.roll_out("h1")
    rolled = run.rolled()
    run.put(rolled.rollout, rolled.changes)
    run.later(11)
    with broken("L2", "its wave 1 has not begun"):
        run.tick()


def test_a_rollout_goes_on_when_nothing_is_in_its_way():
    run = two_hosts()
    run.roll_out("h1")
    run.later(14 * MINUTE)
    run.tick()
    run.later(20 * MINUTE)
    with broken("L2", "waits for nothing"):
        run.tick()


def test_a_rollout_has_ended_or_is_at_rest_when_the_run_ends():
    run = two_hosts()
    run.roll_out("h1")
    with broken("L2", "still Running when the run ended"):
        run.end()
    run = two_hosts()
    run.roll_out("h1")
    run.pause()
    run.end()
