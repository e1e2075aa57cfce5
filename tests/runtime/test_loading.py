"""Loading a store: however long it takes, it is told how far it is; and nothing is served before."""

import logging

from nodes import running_node

from notbefore.clock import SystemClock
from notbefore.runtime.snapshot import Snapshot


class SlowClock(SystemClock):
    """Three seconds pass between two looks at it."""

    def __init__(self):
        super().__init__()
        self._steady_s = 0.0

    def steady_s(self):
        self._steady_s += 3.0
        return self._steady_s


async def test_a_load_that_takes_long_tells_how_far_it_is(tmp_path, caplog):
    """Whoever starts a server with a large fleet sees that it goes on."""
    async with running_node(tmp_path) as one:
        await one.declare("a", "b")
        await one.declare("c", scope="t")
        snapshot = Snapshot(one.node.store, SlowClock())
        with caplog.at_level(logging.INFO, "notbefore.snapshot"):
            await snapshot.load()

    assert snapshot.loaded
    assert [record.getMessage() for record in caplog.records] == [
        "loading: 3 VMs in 2 scopes so far",
        "loaded 3 VMs in 2 scopes in 9.0 s",
    ]


async def test_a_short_load_tells_nothing(tmp_path, caplog):
    """A log line is a decision, not a habit."""
    async with running_node(tmp_path) as one:
        await one.declare("a")
        snapshot = Snapshot(one.node.store, SystemClock())
        with caplog.at_level(logging.INFO, "notbefore.snapshot"):
            await snapshot.load()

    assert caplog.records == []
