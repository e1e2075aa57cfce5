"""Which wave fits next: budget, rate, rest, windows, update domains (core/rollout_fit.py, rollout_targets.py)."""

from dataclasses import replace
from uuid import UUID

import pytest
from builders import HOUR, MINUTE, NOON, OPERATOR, later, maintain
from driven_fleets import DrivenFleet, scopes_of

from notbefore.core.errors import Invalid
from notbefore.core.expected import Expected
from notbefore.core.fleet_seen import Fleet
from notbefore.core.kinds import EventType, VmState
from notbefore.core.model import Vm
from notbefore.core.operation import ScopedVm
from notbefore.core.rollout import Hit, Limits, Order, Over, Rollout, RolloutWave, Target, check_limits
from notbefore.core.rollout_fit import Blocked, Fit, at_once, next_fit
from notbefore.core.rollout_targets import Chosen, chosen_targets
from notbefore.core.windows import Window

EXPECTED = Expected(dict.fromkeys(EventType, 30))
EVERY_DAY = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def vm(name, domain=0, host="h1", **facts):
    return Vm(name, domain, host=host, **facts)


def rollout(limits=None, over=Over.HOSTS, **facts):
    made = Rollout(str(UUID(int=7)), EventType.REBOOT, over, OPERATOR, NOON.wall_ms, limits or Limits())
    return replace(made, **facts)


def fit(scopes, one, name="h1", now=NOON, target=None):
    fleet = Fleet(scopes, {}, EXPECTED)
    target = target or Target(name, fleet.vms_of(name, one.over))
    return next_fit(one, target, at_once(one, scopes), scopes, now, EXPECTED)


def names(found):
    assert isinstance(found, Fit)
    return [of.vm for of in found.vms]


def why(found):
    assert isinstance(found, Blocked)
    return found.why


TENANTS = {"a": [vm("a0"), vm("a1"), vm("a2", 1), vm("a3", 0, "h2")], "b": [vm("b0", 2), vm("b1", 3)]}


# -- What goes together


def test_a_wave_takes_the_first_domain_of_every_scope_of_the_host():
    """Rule 2: VMs of one update domain and host go together."""
    found = fit(scopes_of(TENANTS), rollout())

    assert names(found) == ["a0", "a1", "b0"]
    assert found.hosts == ("h1",)


def test_over_scopes_a_wave_takes_a_domain_on_all_of_its_hosts():
    """They may go down together."""
    found = fit(scopes_of(TENANTS), rollout(over=Over.SCOPES), "A")

    assert names(found) == ["a0", "a1", "a3"]
    assert found.hosts == ("h1", "h2")


def test_no_other_domain_of_a_scope_in_a_wave_is_begun():
    """Rule 3; S5: though the event has not come to its scope yet."""
    scopes = scopes_of({"a": [vm("a0", 0, "h2"), vm("a1", 1)]})
    wave = RolloutWave(1, "op", (ScopedVm("a", "a0"),), ("h2",), NOON.wall_ms)
    busy = rollout(in_hand=(Target("h2", (), wave),))

    assert why(fit(scopes, busy)) == "update domain 0 of scope a has its turn"
    same = scopes_of({"a": [vm("a0", 0, "h2"), vm("a1", 0)]})
    assert names(fit(same, busy)) == ["a1"]


def test_what_a_scope_is_busy_with_keeps_its_vms_and_no_others():
    """waves.py: only what can be announced now."""
    fleet = DrivenFleet(scopes_of(TENANTS))
    fleet.take(replace(maintain(vms=("a2",)), scope="a"))

    assert names(fit(fleet.scopes, rollout())) == ["b0"]
    only = {"a": fleet.scopes["a"]}
    assert "has its turn" in why(fit(only, rollout()))


# -- The budget


@pytest.mark.parametrize(
    ("limits", "going"),
    [
        (Limits(max_scopes=1), ["a0", "a1"]),
        (Limits(max_vms=2), ["a0", "a1"]),
        (Limits(max_vms=3), ["a0", "a1", "b0"]),
        (Limits(impacts_max=2), ["a0", "a1"]),
        (Limits(max_hosts=1), ["a0", "a1", "b0"]),
    ],
)
def test_a_wave_takes_no_more_than_the_budget(limits, going):
    """Issue: budget (max_scopes, max_hosts, max_vms at once)."""
    assert names(fit(scopes_of(TENANTS), rollout(limits))) == going


@pytest.mark.parametrize("limits", [Limits(max_vms=2), Limits(impacts_max=2)])
def test_a_group_larger_than_may_ever_go_at_once_is_split(limits):
    """Rule 2: else it would wait for ever."""
    scopes = scopes_of({"a": [vm(f"a{n}") for n in range(5)]})

    assert names(fit(scopes, rollout(limits))) == ["a0", "a1"]


def test_a_group_that_would_fit_alone_is_not_split_but_waits():
    """And a smaller one of another scope may go instead."""
    wave = RolloutWave(1, "op", (ScopedVm("x", "x0"), ScopedVm("x", "x1")), ("h9",), NOON.wall_ms)
    busy = rollout(Limits(max_vms=3), in_hand=(Target("h9", (), wave),))

    assert names(fit(scopes_of(TENANTS), busy)) == ["b0"]
    assert why(fit({"a": scopes_of(TENANTS)["a"]}, busy)) == "the budget: max_vms 3"


@pytest.mark.parametrize(
    ("limits", "named"),
    [(Limits(max_hosts=1), "max_hosts 1"), (Limits(max_scopes=1), "max_scopes 1"), (Limits(max_vms=1), "max_vms 1")],
)
def test_a_full_budget_names_its_limit_and_waits_for_others(limits, named):
    """None: a wave that ends lets it go on, not time."""
    wave = RolloutWave(1, "op", (ScopedVm("x", "x0"),), ("h9",), NOON.wall_ms)
    found = fit(scopes_of(TENANTS), rollout(limits, in_hand=(Target("h9", (), wave),)))

    assert found == Blocked(f"the budget: {named}", None)


def test_a_host_in_hand_counts_also_between_its_waves():
    """It is half done: another is not begun for that."""
    one = rollout(Limits(max_hosts=1), in_hand=(Target("h9", (ScopedVm("x", "x0"),)),))

    assert why(fit(scopes_of(TENANTS), one)) == "the budget: max_hosts 1"
    assert names(fit(scopes_of(TENANTS), rollout(Limits(max_hosts=1), in_hand=(Target("H1", ()),)))) == [
        "a0",
        "a1",
        "b0",
    ]


# -- Rate and rest


def test_the_rate_counts_what_is_announced_and_what_has_started_lately():
    """Issue: at most x impacts per y minutes."""
    hits = (Hit("one", 1), Hit("two", 1, later(-60).wall_ms))
    full = rollout(Limits(impacts_max=2, impacts_per_s=600), hits=hits)

    assert fit(scopes_of(TENANTS), full) == Blocked("the budget: 2 impacts in 600 s", later(540).wall_ms)
    waiting = replace(full, hits=(Hit("one", 2),))
    assert fit(scopes_of(TENANTS), waiting).until_ms is None
    assert names(fit(scopes_of(TENANTS), replace(full, limits=Limits(impacts_max=3), hits=hits))) == ["b0"]


def test_a_vm_that_was_hit_lately_waits_and_lets_the_others_go():
    """Issue: do not hit the same VM again within z."""
    scopes = scopes_of(TENANTS)
    scopes["a"] = replace(scopes["a"], hit_ms={"a0": later(-100).wall_ms, "a1": later(-600).wall_ms})
    one = rollout(Limits(vm_rest_s=600))

    assert names(fit(scopes, one)) == ["a1", "b0"]
    assert names(fit(scopes, rollout())) == ["a0", "a1", "b0"]
    only_a0 = Target("h1", (ScopedVm("a", "a0"),))
    assert fit(scopes, one, target=only_a0) == Blocked("a VM was hit too short a time ago", later(500).wall_ms)
    assert names(fit(scopes, one, target=only_a0, now=later(500))) == ["a0"]


def test_a_target_that_was_refused_waits_its_pause():
    """Refused waves come again."""
    scopes = scopes_of(TENANTS)
    target = Target("h1", (ScopedVm("a", "a0"),), not_until_ms=later(4).wall_ms)

    assert fit(scopes, rollout(), target=target).until_ms == later(4).wall_ms
    assert names(fit(scopes, rollout(), target=target, now=later(4))) == ["a0"]


# -- Windows


@pytest.mark.parametrize(("until_min", "goes"), [(12 * 60 + 15, False), (12 * 60 + 16, True)])
def test_a_wave_must_fit_into_the_window_with_its_notice_and_duration(until_min, goes):
    """15 min of notice, a second of slack, half a minute of impact: 12:15:31."""
    window = Window(EVERY_DAY, 12 * 60, until_min)
    found = fit(scopes_of(TENANTS), rollout(Limits(windows=(window,))))

    if goes:
        assert names(found) == ["a0", "a1", "b0"]
    else:
        assert found == Blocked("no window is open for the 931 s that a wave needs")


def test_a_wave_must_fit_into_the_window_with_its_checks_too():
    """core/expected: an event is Started until its checks are over, a duration of its own or not."""
    scopes, window = scopes_of(TENANTS), Window(EVERY_DAY, 12 * 60, 12 * 60 + 16)
    one = rollout(Limits(windows=(window,)), duration_s=5)
    target = Target("h1", Fleet(scopes, {}, EXPECTED).vms_of("h1", one.over))
    checked = Expected(checks_s={EventType.REBOOT: 300})

    assert names(next_fit(one, target, at_once(one, scopes), scopes, NOON, EXPECTED)) == ["a0", "a1", "b0"]
    blocked = next_fit(one, target, at_once(one, scopes), scopes, NOON, checked)
    assert blocked == Blocked("no window is open for the 1206 s that a wave needs")


def test_a_window_that_closes_too_soon_is_waited_for_until_it_opens_again():
    """In time for the longest notice of the wave."""
    windows = (Window(EVERY_DAY, 11 * 60, 12 * 60 + 10),)
    found = fit(scopes_of(TENANTS), rollout(Limits(windows=windows)))

    assert found.until_ms == later(23 * HOUR).wall_ms
    assert "its window, which opens at 2026-03-03T11:00:00Z" in found.why
    longer = scopes_of(TENANTS, notice_s={EventType.REBOOT: 69 * MINUTE + 29})
    assert names(fit(longer, rollout(Limits(windows=windows)), now=later(-HOUR)))
    longest = scopes_of(TENANTS, notice_s={EventType.REBOOT: 69 * MINUTE + 30})
    assert "no window is open for" in why(fit(longest, rollout(Limits(windows=windows)), now=later(-HOUR)))


def test_a_duration_that_was_given_counts_instead_of_what_is_usual():
    """Duration -1 unless given."""
    windows = (Window(EVERY_DAY, 12 * 60, 12 * 60 + 16),)

    assert isinstance(fit(scopes_of(TENANTS), rollout(Limits(windows=windows), duration_s=60)), Blocked)
    assert isinstance(fit(scopes_of(TENANTS), rollout(Limits(windows=windows), duration_s=59)), Fit)


# -- Limits that cannot be


@pytest.mark.parametrize(
    ("limits", "field"),
    [
        *((Limits(**{name: 0}), name) for name in ("max_hosts", "max_scopes", "max_vms", "impacts_max")),
        *((Limits(**{name: -1}), name) for name in ("recovery_s", "impacts_per_s", "vm_rest_s", "failed_max")),
        (Limits(impacts_per_s=0), "impacts_per_s"),
        (Limits(windows=(Window((), 0, 60),)), "windows.days"),
        (Limits(windows=(Window(EVERY_DAY, 0, 60),) * 21), "windows"),
    ],
)
def test_limits_that_cannot_be_are_refused_and_name_their_field(limits, field):
    """Bad input changes nothing."""
    with pytest.raises(Invalid) as refused:
        check_limits(limits)
    assert refused.value.facts["field"] == field


# -- Order


FLEET = {
    "a": [vm("a0", host="h10"), vm("a1", host="H2"), vm("a2", host="h2")],
    "b": [vm("b0", host="h1"), vm("b1", host="")],
}


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (Chosen(Over.HOSTS), ("h1", "H2", "h10")),
        (Chosen(Over.HOSTS, order=Order.LARGEST), ("H2", "h1", "h10")),
        (Chosen(Over.HOSTS, order=Order.SMALLEST), ("h1", "h10", "H2")),
        (Chosen(Over.HOSTS, first=("h10",)), ("h10", "h1", "H2")),
        (Chosen(Over.HOSTS, glob="h1*"), ("h1", "h10")),
        (Chosen(Over.SCOPES, glob="*"), ("a", "b")),
        (Chosen(Over.SCOPES, glob="*", order=Order.SMALLEST), ("b", "a")),
    ],
)
def test_targets_come_in_their_order(chosen, expected):
    """Issue: order. Names count as people count, in any letter case."""
    assert chosen_targets(chosen, scopes_of(FLEET)) == expected


def test_what_has_no_running_vm_is_no_target():
    """There is nothing to touch."""
    scopes = scopes_of(FLEET)
    stopped = replace(scopes["b"], vms=(vm("b0", host="h1", state=VmState.DEALLOCATED),))

    assert chosen_targets(Chosen(Over.HOSTS), {**scopes, "b": stopped}, hosts=("h7",)) == ("H2", "h10")
    with pytest.raises(Invalid):
        chosen_targets(Chosen(Over.HOSTS, glob="h1"), {**scopes, "b": stopped})
