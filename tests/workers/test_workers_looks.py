"""One worker as its parent sees it: what it is told to look at, and when (workers/worker.py)."""

import asyncio

import pytest

from notbefore.clock import SystemClock
from notbefore.workers.frames import FROM_PARENT, Loaded, Seen, encoded
from notbefore.workers.line import LENGTH_BYTES
from notbefore.workers.steps import Steps
from notbefore.workers.worker import Worker


class NotedTransport:
    """The parent's end of a line that nobody reads: what was said is kept."""

    def __init__(self):
        self.said = []

    def write(self, data):
        self.said.append(FROM_PARENT.decode(data[LENGTH_BYTES:]))

    def is_closing(self):
        return False

    def get_write_buffer_size(self):
        return 0


class OneTeam:
    """A team of one, on a real clock."""

    errands = None

    def __init__(self):
        self.steps = Steps()

    def time(self):
        return None

    def loaded(self, worker):
        self.steps.join(worker)


class Told:
    """A worker that has loaded, and what it was told to look at."""

    def __init__(self):
        self.team = OneTeam()
        self.worker = Worker(0, None, SystemClock(), self.team)
        self._line = NotedTransport()
        self.worker.line.connection_made(self._line)
        self.says(Loaded())

    def says(self, frame):
        self.worker.line.data_received(encoded(frame))

    @property
    def looks(self):
        return [(frame.number, frame.report) for frame in self._line.said]


@pytest.fixture
async def told():
    return Told()


async def test_a_worker_looks_once_at_a_time(told):
    """What changes meanwhile is the next look."""
    for _ in range(3):
        told.team.steps.take_step()
    await asyncio.sleep(0)
    assert told.looks == [(1, False)]

    told.says(Seen(1))
    assert told.looks == [(1, False), (4, False)]


async def test_a_report_that_is_wanted_when_it_has_just_seen_comes_with_the_next_step(told):
    """Nobody is told twice to look at the same: it would have nothing to say, and be taken for one that hangs."""
    told.worker.want_report()
    told.team.steps.take_step()
    told.says(Seen(1))
    assert told.looks == [(1, False)]

    await asyncio.sleep(0)
    assert told.looks == [(1, False), (2, True)]
    told.says(Seen(2))
    assert told.worker.silent_s() == 0.0
