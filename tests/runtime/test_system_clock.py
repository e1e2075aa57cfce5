"""The system clock: whoever waits is woken in time, also when somebody sets the wall (SPEC §4)."""

import asyncio

import pytest
from nodes import SteppedClock

from notbefore.clock import LOOK_AGAIN_S, SystemClock
from notbefore.tasks import AsyncioTasks

HOUR_MS = 3_600_000


class NotedSignal:
    """Rings at once, and notes for how long somebody would have waited for it."""

    def __init__(self):
        self.waits_s = []

    def ring(self):
        pass

    async def rung(self, timeout_s):
        self.waits_s.append(timeout_s)


async def test_who_waits_for_long_sleeps_for_long():
    """Thousands wait for the ends of their impacts: none of them is woken before there is a reason."""
    clock, signal = SystemClock(), NotedSignal()
    await clock.wait(clock.now().wall_ms + HOUR_MS, signal)
    await clock.wait(None, signal)
    await clock.wait(clock.now().wall_ms - 5, signal)

    assert signal.waits_s == [pytest.approx(3600, abs=5), LOOK_AGAIN_S, 0.0]


@pytest.mark.parametrize("step_ms", [HOUR_MS, -HOUR_MS])
async def test_everybody_who_sleeps_looks_again_when_the_wall_is_stepped(step_ms):
    """SPEC §4: a wall clock can be stepped under a sleeper, either way; more than once."""
    clock, tasks = SteppedClock(), AsyncioTasks()
    until_ms = clock.now().wall_ms + 10 * HOUR_MS
    for turn in (1, 2):
        sleepers = [asyncio.create_task(clock.wait(until_ms, tasks.signal())) for _ in range(3)]
        await asyncio.sleep(0)
        clock.step_ms = turn * step_ms
        await asyncio.gather(*sleepers)
    tasks.failure.cancel()
