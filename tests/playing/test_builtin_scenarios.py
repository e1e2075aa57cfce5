"""The built-in scenarios: each is as the real service is known to be, and meets all it expects (REFERENCE §3.4)."""

import pytest

from notbefore.core.vm_operations import FAILURE_DESCRIPTION, MAINTENANCE_DESCRIPTION, VM_OPERATIONS
from notbefore.scenarios.emulator import Stage
from notbefore.scenarios.expectations import Sees
from notbefore.scenarios.library import names, scenario_of
from notbefore.scenarios.playing import Kind, play

LIVE_MIGRATION = "Virtual machine is being paused because of a memory-preserving Live Migration operation."
MINUTE, DAY = 60, 24 * 3600
# Type, source, duration, how long Scheduled, how long Started, description.
KNOWN = {
    "live-migration": ("Freeze", "Platform", 5, 15 * MINUTE, 5 * MINUTE, LIVE_MIGRATION),
    "user-reboot": ("Reboot", "User", -1, 15 * MINUTE, 10 * MINUTE, VM_OPERATIONS["restart"].description),
    "host-agent-maintenance": ("Freeze", "Platform", 9, 15 * MINUTE, 10 * MINUTE, MAINTENANCE_DESCRIPTION),
    "platform-redeploy": ("Redeploy", "Platform", -1, 15 * MINUTE, 10 * MINUTE, FAILURE_DESCRIPTION),
    "user-redeploy": ("Redeploy", "User", -1, 15 * MINUTE, 10 * MINUTE, VM_OPERATIONS["redeploy"].description),
    "cancelled-maintenance": ("Freeze", "Platform", 9, 8 * MINUTE, None, MAINTENANCE_DESCRIPTION),
    "degraded-hardware": (
        *("Redeploy", "Platform", -1, 2 * DAY, 10 * MINUTE),
        "Host server is undergoing an emergency repair.",
    ),
    "host-failure": ("Reboot", "Platform", -1, None, 10 * MINUTE, FAILURE_DESCRIPTION),
    "spot-eviction": ("Preempt", "Platform", -1, 30, 10, ""),
    "scale-in": ("Terminate", "User", -1, 3 * MINUTE, 30, VM_OPERATIONS["terminate"].description),
    "availability-set-maintenance": ("Freeze", "Platform", 9, 15 * MINUTE, 10 * MINUTE, MAINTENANCE_DESCRIPTION),
}


@pytest.fixture(scope="module")
def outcomes():
    """Each played when it is first asked for."""
    kept = {}

    def of(name):
        if name not in kept:
            kept[name] = play(scenario_of(name), Stage(), lambda _: None, serve=lambda _: None)
        return kept[name]

    return of


def test_those_that_were_asked_for_are_there():
    assert set(names()) == set(KNOWN)


@pytest.mark.parametrize("name", names())
def test_a_built_in_scenario_meets_all_its_expectations(outcomes, name):
    """Issue: each built-in scenario meets all its expectations."""
    outcome = outcomes(name)

    assert outcome.not_met == []
    assert len(outcome.of(Kind.EXPECTATION)) >= 4


@pytest.mark.parametrize("name", names())
def test_a_built_in_scenario_says_what_the_event_looks_like(name):
    """REFERENCE §3.4: type, source, duration and description."""
    event_type, source, duration_s, *_, description = KNOWN[name]
    first = next(line.says for line in scenario_of(name).lines if isinstance(line.says, Sees))

    assert (first.type, first.source, first.duration_s, first.description) == (
        event_type,
        source,
        duration_s,
        description,
    )


@pytest.mark.parametrize("name", names())
def test_a_built_in_scenario_has_the_timings_of_the_real_service(outcomes, name):
    """REFERENCE §3.4: how long an event is Scheduled, and how long Started."""
    *_, scheduled_s, started_s, _ = KNOWN[name]
    event_type = KNOWN[name][0]
    at = {}
    for told in outcomes(name).of(Kind.HAPPENED):
        for word in ("scheduled", "started", "completed", "cancelled"):
            if told.text.startswith(event_type) and f" {word}" in told.text:
                at.setdefault(word, told.at_s)

    ended = at.get("started", at.get("cancelled"))
    assert (ended - at["scheduled"] if "scheduled" in at else None) == scheduled_s
    assert (at["completed"] - at["started"] if "started" in at else None) == started_s


def test_an_availability_set_has_five_domains_one_after_the_other(outcomes):
    """SPEC §3.4: the next update domain's event becomes visible only when the former has ended, plus recovery_s."""
    scenario = scenario_of("availability-set-maintenance")
    told = [one for one in outcomes("availability-set-maintenance").of(Kind.HAPPENED) if one.text.startswith("Freeze")]
    shown = [one.at_s for one in told if " scheduled " in one.text]
    ended = [one.at_s for one in told if " completed " in one.text]

    assert {vm.update_domain for _, vm in scenario.vms} == set(range(5))
    assert len(shown) == len(ended) == 5
    assert [after - before for before, after in zip(ended, shown[1:], strict=False)] == [60] * 4
