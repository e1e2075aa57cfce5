"""A simulated machine's clock has two hands, drifts, is stepped and boots, as a real one (SPEC §4)."""

from random import Random

import pytest

from notbefore.simulation.machine_clock import BEGIN_WALL_MS, MachineClock
from notbefore.simulation.scheduler import SECOND_US, Process, Scheduler
from notbefore.simulation.sim_tasks import SimSignal

HOUR_US = 3600 * SECOND_US


@pytest.fixture
def scheduler():
    return Scheduler(Random(1))


def clock_of(scheduler, drift_ppm=0):
    return MachineClock("m1", scheduler, Random(2), drift_ppm)


def woken_at(scheduler, clock, until_ms):
    """When a sleeper that waits for this wall time wakes, in true time."""
    woken = []

    async def wait():
        await clock.wait(until_ms, SimSignal(scheduler))
        woken.append((scheduler.now_us, clock.wall_ms()))

    scheduler.spawn(Process("p"), "wait", wait())
    return woken


@pytest.mark.parametrize("drift_ppm", [-100, 0, 100])
def test_both_hands_drift_and_a_step_moves_the_wall_alone(scheduler, drift_ppm):
    """SPEC §4: a wall clock can be stepped, a boot clock cannot."""
    clock = clock_of(scheduler, drift_ppm)
    before = clock.now()
    scheduler.run_until(HOUR_US)
    clock.step(600_000)
    after = clock.now()

    elapsed_ms = 3_600_000 + 3_600_000 * drift_ppm // 1_000_000
    assert abs(after.boot_ms - before.boot_ms - elapsed_ms) <= 1
    assert abs(after.wall_ms - before.wall_ms - elapsed_ms - 600_000) <= 1
    assert after.boot_id == before.boot_id


@pytest.mark.parametrize("drift_ppm", [-100, 0, 100])
def test_a_sleeper_wakes_when_the_wall_shows_its_time_and_not_before(scheduler, drift_ppm):
    """ports.Clock.wait: perhaps earlier, never much later; here it is not earlier, because time is cheap that way."""
    clock = clock_of(scheduler, drift_ppm)
    until_ms = BEGIN_WALL_MS + 3_600_000
    woken = woken_at(scheduler, clock, until_ms)
    scheduler.run_until(2 * HOUR_US)

    assert until_ms <= woken[0][1] <= until_ms + 5


@pytest.mark.parametrize("step_ms", [3_600_000, -3_600_000])
def test_after_a_step_every_sleeper_looks_again_within_a_second(scheduler, step_ms):
    """The system clock looks at least every second, because a wall clock can be stepped under a sleeper."""
    clock = clock_of(scheduler)
    woken = woken_at(scheduler, clock, BEGIN_WALL_MS + 7_200_000)
    scheduler.run_until(HOUR_US)
    assert not woken
    clock.step(step_ms)
    scheduler.run_until(HOUR_US + SECOND_US)

    assert len(woken) == 1


def test_another_boot_has_another_id_and_begins_at_zero(scheduler):
    """SPEC §4: the boot-time clock is stored with the boot id."""
    clock = clock_of(scheduler)
    scheduler.run_until(HOUR_US)
    before = clock.now()
    clock.boot_again()

    assert clock.now().boot_id != before.boot_id
    assert clock.now().boot_ms == 0
    assert clock.now().wall_ms == before.wall_ms
