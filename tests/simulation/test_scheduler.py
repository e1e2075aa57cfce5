"""The simulated scheduler: one order per seed, processes that die and stall, locks and bells as the runtime needs them."""

from random import Random

import pytest

from notbefore.simulation.scheduler import SECOND_US, Process, Scheduler
from notbefore.simulation.sim_tasks import SimTasks


def scheduled(seed=1):
    return Scheduler(Random(seed))


def order_of(seed):
    scheduler, process, seen = scheduled(seed), Process("p"), []

    async def note(name):
        for _ in range(3):
            seen.append(name)
            await scheduler.sleep(0)

    for name in "abcd":
        scheduler.spawn(process, name, note(name))
    scheduler.run_until(SECOND_US)
    return "".join(seen)


def test_one_seed_is_one_order_and_seeds_differ():
    """No real randomness: what is ready at one instant runs in an order drawn from the seed."""
    orders = [order_of(seed) for seed in range(20)]

    assert orders == [order_of(seed) for seed in range(20)]
    assert len(set(orders)) > 10


def test_time_jumps_from_alarm_to_alarm_and_never_back():
    """No real sleep: a day passes as fast as its alarms can be rung."""
    scheduler, rung = scheduled(), []
    scheduler.at(86_400 * SECOND_US, lambda: rung.append(scheduler.now_us))
    scheduler.at(SECOND_US, lambda: rung.append(scheduler.now_us))
    scheduler.at(5, lambda: rung.append(-1)).cancel()

    scheduler.run_until(86_400 * SECOND_US)

    assert rung == [SECOND_US, 86_400 * SECOND_US]


def test_a_killed_process_never_runs_again():
    """As kill -9: nothing after the instant of death, also not what was to be cleaned up later."""
    scheduler, process, seen = scheduled(), Process("p"), []

    async def work():
        await scheduler.sleep(10)
        seen.append("before")
        await scheduler.sleep(10)
        seen.append("after")

    scheduler.spawn(process, "work", work())
    scheduler.run_until(15)
    scheduler.kill(process)
    scheduler.spawn(process, "too late", work())
    scheduler.run_until(100)

    assert seen == ["before"]


def test_a_stalled_process_goes_on_where_it_was():
    """A process that was not given the processor for a while knows nothing of it."""
    scheduler, process, seen = scheduled(), Process("p"), []

    async def work():
        await scheduler.sleep(10)
        seen.append(scheduler.now_us)

    process.stalled_until_us = 1000
    scheduler.spawn(process, "work", work())
    scheduler.run_until(2000)

    assert seen == [1010]


def test_a_task_that_breaks_down_ends_the_run():
    """A server stops rather than limp, so a run does."""
    scheduler = scheduled()

    async def work():
        await scheduler.sleep(10)
        raise LookupError("broke down")

    scheduler.spawn(Process("p"), "work", work())

    with pytest.raises(LookupError, match="broke down"):
        scheduler.run_until(100)


def test_a_lock_is_held_by_one_and_given_on_in_the_order_of_asking():
    """ports.Tasks.lock: turns of one scope take place one after the other."""
    scheduler, process, seen = scheduled(), Process("p"), []
    lock = SimTasks(scheduler, process).lock()

    async def work(name, after_us):
        await scheduler.sleep(after_us)
        async with lock:
            seen.append(f"{name} in")
            await scheduler.sleep(100)
            seen.append(f"{name} out")

    for number, name in enumerate("abc"):
        scheduler.spawn(process, name, work(name, number))
    scheduler.run_until(1000)

    assert seen == ["a in", "a out", "b in", "b out", "c in", "c out"]


@pytest.mark.parametrize(
    ("rings", "timeout_s", "woken_us"), [((30,), None, 30), ((), 1.0, SECOND_US + 20), ((0, 0), 1.0, 20)]
)
def test_a_bell_wakes_its_waiter_at_the_ring_or_the_timeout(rings, timeout_s, woken_us):
    """ports.Signal: rings between two waits are one ring."""
    scheduler, process, seen = scheduled(), Process("p"), []
    bell = SimTasks(scheduler, process).signal()

    async def wait():
        await scheduler.sleep(20)
        await bell.rung(timeout_s)
        seen.append(scheduler.now_us)
        await bell.rung(None)
        seen.append("woken without a ring")

    for at_us in rings:
        scheduler.at(at_us, bell.ring)
    scheduler.spawn(process, "wait", wait())
    scheduler.run_until(2 * SECOND_US)

    assert seen == [woken_us]
