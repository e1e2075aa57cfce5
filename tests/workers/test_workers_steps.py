"""Who has seen what: answers wait for workers, a bounded time (workers/steps.py)."""

import asyncio

import pytest

from notbefore.workers.steps import WAIT_MAX_S, Steps, is_late


class Looker:
    """A worker that looks when the test says so."""

    def __init__(self):
        self.seen = 0
        self.late_for = 0
        self.told = []

    def look(self, number):
        self.told.append(number)


@pytest.fixture
def steps():
    return Steps()


def waiting(steps):
    return asyncio.ensure_future(steps.everybody())


async def turned():
    """Whatever is to be called soon has been called."""
    for _ in range(3):
        await asyncio.sleep(0)


async def test_without_workers_nobody_waits(steps):
    """One process is always in step with itself."""
    steps.take_step()
    await steps.everybody()


async def test_an_answer_waits_until_every_worker_has_seen_the_last_step(steps):
    """DESIGN §2: read your own writes, in every worker."""
    first, second = Looker(), Looker()
    for one in (first, second):
        steps.join(one)
        steps.saw(one, steps.number)
    steps.take_step()
    answer = waiting(steps)
    await turned()

    steps.saw(first, steps.number)
    await turned()
    assert not answer.done()

    steps.saw(second, steps.number)
    await answer


async def test_many_changes_are_one_look(steps):
    """Told when everything that is being done now is done."""
    looker = Looker()
    steps.join(looker)
    for _ in range(100):
        steps.take_step()
    await turned()

    assert looker.told == [1, 101]


async def test_who_is_late_is_counted_and_not_waited_for_until_it_has_caught_up(steps):
    """Bounded: a worker that does not answer costs a second, once."""
    steps.wait_max_s = 0.01
    looker = Looker()
    steps.join(looker)
    steps.take_step()

    await asyncio.gather(*(steps.everybody() for _ in range(5)))
    assert (is_late(looker), steps.late) == (True, 1)

    steps.wait_max_s = WAIT_MAX_S
    late_for = steps.number
    steps.take_step()
    await steps.everybody()
    steps.saw(looker, late_for)
    assert not is_late(looker)
    answer = waiting(steps)
    await turned()
    assert not answer.done()
    steps.saw(looker, steps.number)
    await answer


async def test_a_worker_that_is_gone_is_not_waited_for(steps):
    """Its death ends the wait."""
    looker = Looker()
    steps.join(looker)
    steps.take_step()
    answer = waiting(steps)
    await turned()

    steps.leave(looker)

    await answer
    assert steps.late == 0
