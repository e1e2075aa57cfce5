"""Rollouts over any fleet, on real decisions, to their end: what never happens, and what always does (issue 6)."""

from uuid import UUID

from builders import NOON, OPERATOR
from driven_fleets import DrivenFleet
from fleet_laws import recovered, watched, within_budget, within_rate
from hypothesis import strategies as st
from random_fleets import hosts_in, on_random_fleets, sometimes, with_settings

from notbefore.core.expected import Expected
from notbefore.core.kinds import EventType, Listening
from notbefore.core.rollout import Limits, Over, Rollout, RolloutStatus
from notbefore.core.rollout_plan import plan_of
from notbefore.core.windows import Window, openings_from

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
WINDOWS = ((), (), (Window(DAYS, 13 * 60, 15 * 60),), (Window(DAYS, 22 * 60, 4 * 60), Window(("Tue",), 240, 300)))
most = st.one_of(st.none(), st.integers(1, 4))
every_limit = st.builds(
    Limits,
    max_hosts=most,
    max_scopes=most,
    max_vms=most,
    recovery_s=st.sampled_from([0, 0, 90, 1000]),
    windows=st.sampled_from(WINDOWS),
    impacts_max=st.one_of(st.none(), st.none(), st.integers(1, 5)),
    impacts_per_s=st.sampled_from([60, 1800, 7200]),
)
either = st.sampled_from(Over)


def rollout_over(scopes, limits, over=Over.HOSTS, event_type=EventType.REBOOT):
    names = hosts_in(scopes) if over is Over.HOSTS else sorted(scope.name for scope in scopes.values())
    return Rollout(str(UUID(int=99)), event_type, over, OPERATOR, NOON.wall_ms, limits, waiting=tuple(names))


def rolled_out(scopes, rollout, dice, approved=0.0, stale=0.2):
    fleet = watched(DrivenFleet(scopes, dice), within_budget(rollout.limits))
    fleet.stale = stale
    if approved:
        fleet.approved_after_ms = sometimes(dice, 1000, approved)
    fleet.roll_out(rollout)
    fleet.run()
    return fleet, fleet.rollouts[rollout.id]


@on_random_fleets(
    examples=80, in_proof=3000, limits=every_limit, over=either, approved=st.sampled_from([0.0, 0.5, 1.0])
)
def test_a_rollout_keeps_its_limits_at_every_moment_and_ends(case, limits, over, approved):
    """Issue: never over budget, recovery and windows kept, whoever approves; every VM is touched once; it ends."""
    scopes, dice = case
    fleet, done = rolled_out(scopes, rollout_over(scopes, limits, over), dice, approved)

    assert (done.status, done.waiting, done.in_hand) == (RolloutStatus.COMPLETED, (), ())
    assert set(fleet.times_touched().values()) == {1}
    assert done.touched == len(fleet.times_touched())
    within_rate(fleet, limits)
    recovered(fleet, limits.recovery_s)
    in_windows(fleet, limits)


def in_windows(fleet, limits):
    """Announced, started and over within one opening."""
    for event in fleet.ended.values():
        if limits.windows:
            began_ms, ends_ms = next(openings_from(limits.windows, event.visible_since_ms))
            assert began_ms <= event.visible_since_ms <= event.ended_at_ms <= ends_ms


def listening(scopes):
    """Only who gets notice can end it early."""
    return {key: with_settings(scope, listening=Listening.ALWAYS) for key, scope in scopes.items()}


@on_random_fleets(examples=40, in_proof=2000, limits=every_limit, over=either)
def test_with_nobody_approving_what_happens_is_what_was_planned(case, limits, over):
    """Must show: the plan printed beforehand equals what history shows, whoever drives in which order."""
    scopes, dice = case
    rollout = rollout_over(scopes, limits, over)
    plan = plan_of(rollout, scopes, {}, Expected(dict.fromkeys(EventType, 30)), NOON)
    fleet, done = rolled_out(scopes, rollout, dice, stale=0.0)

    assert plan.stuck == ""
    assert plan.ends_ms == done.ended_at_ms
    assert planned(plan) == happened(fleet)


def planned(plan):
    """Of each wave: which events, when visible, when the last of them starts, when over."""
    return sorted(
        (wave.visible_ms, wave.not_before_ms, wave.ends_ms, sorted((part.event_id, part.vms) for part in wave.parts))
        for wave in plan.waves
    )


def happened(fleet):
    waves = {}
    for event in fleet.ended.values():
        waves.setdefault(event.gate.operation, []).append(event)
    return sorted(
        (
            min(event.visible_since_ms for event in events),
            max(event.started_at_ms for event in events),
            max(event.ended_at_ms for event in events),
            sorted((event.id, event.vms) for event in events),
        )
        for events in waves.values()
    )


@on_random_fleets(examples=40, in_proof=2000, limits=every_limit, approved=st.sampled_from([0.3, 1.0]))
def test_an_approval_makes_its_own_wave_start_earlier_and_none_later(case, limits, approved):
    """§3.4: what was announced starts at the wave's NotBefore at the latest, whoever approves what."""
    scopes, dice = case
    fleet, _ = rolled_out(scopes, rollout_over(scopes, limits), dice, approved)

    for at_ms, _, event in fleet.starts():
        assert event.not_before_ms is None or at_ms <= event.not_before_ms


@on_random_fleets(examples=40, in_proof=2000, approved=st.sampled_from([0.3, 1.0]))
def test_one_host_at_a_time_ends_no_later_for_any_approval(case, approved):
    """Issue: with approvals it only gets faster. So it is where waves follow each other, as they do by default.

    Where several go at once that is not so for the whole: one that ends early may let a long one in before another.
    """
    scopes = {key: with_settings(scope, recovery_s=0) for key, scope in listening(case[0]).items()}
    rollout = rollout_over(scopes, Limits(max_hosts=1))
    plan = plan_of(rollout, scopes, {}, Expected(dict.fromkeys(EventType, 30)), NOON)
    _, done = rolled_out(scopes, rollout, case[1], approved, stale=0.0)

    assert done.ended_at_ms <= plan.ends_ms
