"""The timer and the two hands of the clock (SPEC §4, L1, S1, S2)."""

import asyncio

from nodes import SteppedClock, running_node

from notbefore.core.kinds import EventType, Status
from notbefore.runtime.wheel import Wheel

HOUR_MS = 3_600_000


async def started(node, event_id):
    while node.event(event_id).status is not Status.STARTED:
        await asyncio.sleep(0.01)


async def test_a_wall_clock_stepped_forward_shortens_no_promise(tmp_path):
    """SPEC §4: an event starts when the wall clock has reached `NotBefore` and the notice has really elapsed."""
    clock = SteppedClock()
    async with running_node(tmp_path, clock=clock) as node:
        await node.declare("a", notice_s={EventType.REBOOT: 2})
        event_id = await node.operate("a", "restart")
        promise = node.event(event_id).notice
        clock.step_ms = HOUR_MS
        node.executor.gates["a"] = asyncio.Event()
        await started(node, event_id)

        elapsed_ms = clock.now().boot_ms - promise.since.boot_ms
        assert elapsed_ms >= promise.until_ms - promise.since.wall_ms - 1


async def test_a_wall_clock_stepped_back_and_forth_loses_nothing(tmp_path):
    """L1: a step makes every earlier answer stale, so all scopes are asked anew; the event still starts."""
    clock = SteppedClock()
    async with running_node(tmp_path, clock=clock) as node:
        await node.declare("a", notice_s={EventType.REBOOT: 2})
        event_id = await node.operate("a", "restart")
        node.executor.gates["a"] = asyncio.Event()
        clock.step_ms = HOUR_MS
        await asyncio.sleep(1.2)
        clock.step_ms = 0
        await started(node, event_id)

        assert clock.now().wall_ms >= node.event(event_id).not_before_ms


async def test_an_event_due_while_the_server_was_down_starts_when_it_comes_back(tmp_path):
    """L1: … while a server runs; L2: silence stops nothing, and neither does a restart."""
    async with running_node(tmp_path, name="one") as node:
        await node.declare("a")
        event_id = await node.operate("a", "restart")
    later = SteppedClock()
    later.step_ms = HOUR_MS
    later._boot_id = "another boot"
    async with running_node(tmp_path, clock=later, name="two") as node:
        await node.gone(event_id)


async def test_advance_goes_from_due_time_to_due_time_and_settles_at_each(tmp_path):
    """SPEC §4: `advance` moves from due time to due time, settles everything at each."""
    async with running_node(tmp_path) as node:
        for scope, notice_s in (("late", 300), ("early", 100), ("middle", 200)):
            await node.declare("a", scope=scope, notice_s={EventType.REBOOT: notice_s})
            await node.operate("a", "restart", scope=scope)
        began = node.clock.now().wall_ms
        await node.advance(1000)

        records = await node.node.store.history(query())
        ends = [
            (stored.record.scope, stored.record.at_ms - began)
            for stored in records
            for change in stored.record.changes
            if change.what == "completed"
        ]
        assert ends == [("early", 100_000), ("middle", 200_000), ("late", 300_000)]
        assert node.clock.now().wall_ms == began + 1_000_000


def query():
    from notbefore.ports import HistoryQuery

    return HistoryQuery(limit=1000)


def test_the_wheel_fires_in_due_order_never_early_and_each_key_once():
    """DESIGN §3: timers are a dict wheel of our own."""
    wheel = Wheel()
    wheel.set("b", 1001)
    wheel.set("a", 2000)
    wheel.set("c", 995)
    wheel.set("gone", 995)
    wheel.set("gone", None)
    wheel.set("moved", 10)
    wheel.set("moved", 5000)

    assert wheel.next_due_ms() == 1000
    assert wheel.pop_due(999) == []
    assert wheel.pop_due(1000) == ["c"]
    assert wheel.pop_due(2000) == ["b", "a"]
    assert wheel.pop_due(9999) == ["moved"]
    assert wheel.next_due_ms() is None
