"""What every executor must do (ports.Executor): evidence when it is over, ImpactFailure when it could not be."""

import asyncio
from random import Random

import pytest

from notbefore.clock import ManualClock
from notbefore.core.kinds import EventType
from notbefore.core.model import Vm
from notbefore.executors.simulate import DEFAULT_DURATION_S, SimulatedExecutor, Simulation
from notbefore.ports import Impact, ImpactFailure
from notbefore.tasks import AsyncioTasks


@pytest.fixture
async def tasks():
    made = AsyncioTasks()
    yield made
    await made.cancel_all()


@pytest.fixture
def clock(tasks, tmp_path):
    return ManualClock(tasks, tmp_path / "clock")


@pytest.fixture(params=["simulate"])
def executors(request, clock, tasks):
    """(one that succeeds, one that fails) of each kind."""
    always = Simulation(failure_rate=dict.fromkeys(EventType, 1.0))
    return (
        SimulatedExecutor(Simulation(), clock, tasks, Random(1)),
        SimulatedExecutor(always, clock, tasks, Random(1)),
    )


def impact_now(clock, event_type, duration_s=-1, since_ms=None, attempt=1):
    since = clock.now().wall_ms if since_ms is None else since_ms
    return Impact(f"E/vm#{attempt}", "s", "E", Vm("vm"), event_type, duration_s, since, attempt - 1)


async def outcome(executor, impact, clock, tasks, *, after_s):
    """What became of an impact, the clock turned as far as it needs."""
    box = []

    async def carry_out():
        try:
            box.append(await executor.carry_out(impact))
        except ImpactFailure as failure:
            box.append(failure)

    tasks.spawn("impact", carry_out())
    await clock.advance_by(round(after_s * 1000))
    return box[0] if box else None


@pytest.mark.parametrize("event_type", list(EventType))
async def test_an_impact_that_is_over_gives_evidence(executors, clock, tasks, event_type):
    """ports.Executor: returns evidence when the impact is over."""
    evidence = await outcome(executors[0], impact_now(clock, event_type), clock, tasks, after_s=3600)

    assert evidence.sentence


@pytest.mark.parametrize("event_type", list(EventType))
async def test_an_impact_that_cannot_be_carried_out_is_a_failure_with_a_reason(executors, clock, tasks, event_type):
    """ports.Executor: raises ImpactFailure when it could not be carried out."""
    failure = await outcome(executors[1], impact_now(clock, event_type), clock, tasks, after_s=3600)

    assert isinstance(failure, ImpactFailure)
    assert str(failure)


async def test_an_attempt_after_a_crash_is_carried_out_to_the_end(executors, clock, tasks):
    """ports.Executor: `earlier_attempts` > 0 tells that a crashed node may have begun it already."""
    evidence = await outcome(executors[0], impact_now(clock, EventType.REBOOT, attempt=2), clock, tasks, after_s=3600)

    assert evidence.sentence


@pytest.mark.parametrize(("event_type", "seconds"), DEFAULT_DURATION_S.items())
async def test_a_simulated_impact_takes_its_time_on_the_domains_clock(clock, tasks, event_type, seconds):
    """DESIGN §6: duration_s = {Freeze=10, Reboot=30, Redeploy=60, Preempt=30, Terminate=30}; SPEC §4: the clock moves it."""
    assert DEFAULT_DURATION_S == {"Freeze": 10, "Reboot": 30, "Redeploy": 60, "Preempt": 30, "Terminate": 30}
    executor = SimulatedExecutor(Simulation(), clock, tasks, Random(1))
    impact = impact_now(clock, event_type)

    early = asyncio.create_task(outcome(executor, impact, clock, tasks, after_s=seconds - 1))
    assert await early is None
    assert await outcome(executor, impact, clock, tasks, after_s=1) is not None


async def test_a_simulated_impact_goes_on_from_when_it_began(clock, tasks):
    """executors/simulate: an impact that a crash cut short goes on from when it began, not from the restart."""
    executor = SimulatedExecutor(Simulation(), clock, tasks, Random(1))
    began_ms = clock.now().wall_ms - 25_000

    assert await outcome(executor, impact_now(clock, EventType.REBOOT, since_ms=began_ms), clock, tasks, after_s=5)


async def test_a_given_duration_is_what_is_simulated(clock, tasks):
    """SPEC §2.2: DurationInSeconds is the expected duration; the simulation keeps to it when it is given."""
    executor = SimulatedExecutor(Simulation({EventType.FREEZE: 99}), clock, tasks, Random(1))

    assert await outcome(executor, impact_now(clock, EventType.FREEZE, duration_s=0), clock, tasks, after_s=0)
    assert await outcome(executor, impact_now(clock, EventType.FREEZE), clock, tasks, after_s=98) is None


async def test_a_simulated_event_is_over_when_its_checks_are(clock, tasks):
    """REFERENCE §3.4: a live migration pauses for 5 s and is Started for 5 minutes; the platform looks after it."""
    executor = SimulatedExecutor(Simulation(checks_s={EventType.FREEZE: 295}), clock, tasks, Random(1))
    impact = impact_now(clock, EventType.FREEZE, duration_s=5)

    assert await outcome(executor, impact, clock, tasks, after_s=299) is None
    evidence = await outcome(executor, impact, clock, tasks, after_s=1)
    assert evidence.sentence == "simulated Freeze took 5 s, its checks 295 s"


async def test_an_impact_that_fails_is_not_checked(clock, tasks):
    """There is nothing to look after."""
    simulation = Simulation(failure_rate={EventType.FREEZE: 1.0}, checks_s={EventType.FREEZE: 295})
    executor = SimulatedExecutor(simulation, clock, tasks, Random(1))

    failure = await outcome(executor, impact_now(clock, EventType.FREEZE, duration_s=5), clock, tasks, after_s=5)

    assert isinstance(failure, ImpactFailure)


async def test_what_is_expected_of_an_event_has_its_checks_in_it(clock, tasks):
    """core/expected: on top of the duration, whether that is given or the usual one."""
    executor = SimulatedExecutor(
        Simulation({EventType.REBOOT: 40}, {}, {EventType.FREEZE: 295}), clock, tasks, Random(1)
    )
    expected = executor.expected()

    assert expected.started_s(EventType.FREEZE, 5) == 300
    assert expected.started_s(EventType.FREEZE, -1) == 305
    assert expected.started_s(EventType.REBOOT, -1) == 40
    assert expected.started_s(EventType.REBOOT, 0) == 0
