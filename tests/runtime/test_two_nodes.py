"""Two servers on one store (DESIGN §2): safe without locks; each follows what the other commits."""

import asyncio
from contextlib import AsyncExitStack

from nodes import NotingExecutor, running_node

from notbefore.clock import ManualClock
from notbefore.core.kinds import EventType, Status
from notbefore.tasks import AsyncioTasks


async def shows(node, predicate):
    """Wait until the node has followed far enough."""
    while not predicate(node):
        await asyncio.sleep(0.01)


async def test_a_node_follows_what_another_commits(tmp_path):
    """DESIGN §2: other nodes follow; L3: they converge on the same document."""
    async with running_node(tmp_path) as one, running_node(tmp_path) as two:
        await one.declare("a")
        event_id = await one.operate("a", "restart")
        await shows(two, lambda node: node.event(event_id) is not None)

        assert two.node.snapshot.view("s").scope == one.node.snapshot.view("s").scope


async def test_both_nodes_may_approve_and_each_impact_is_carried_out_once(tmp_path):
    """S6: an impact is carried out at most once per attempt id, also with two servers."""
    executor = NotingExecutor()
    both_have_spoken = asyncio.Event()
    executor.gates = {f"vm-{n}": both_have_spoken for n in range(10)}
    async with running_node(tmp_path, executor) as one, running_node(tmp_path, executor) as two:
        await one.declare(*(f"vm-{n}" for n in range(10)), user_operations_max=100)
        events = [await one.operate(f"vm-{n}", "restart") for n in range(10)]
        await shows(two, lambda node: node.event(events[-1]) is not None)
        await asyncio.gather(
            *(node.approve(event_id, "vm-0") for event_id in events for node in (one, two)),
        )
        both_have_spoken.set()
        for node in (one, two):
            for event_id in events:
                await node.gone(event_id)

        assert sorted(executor.attempts) == sorted(f"{event_id}/vm-{n}#1" for n, event_id in enumerate(events))


async def test_a_dead_nodes_claim_is_taken_over_and_a_living_ones_is_not(tmp_path):
    """DESIGN §2: a lease only saves duplicate work; a crashed node's effect is taken up by another."""
    hanging = NotingExecutor()
    hanging.gates["a"] = asyncio.Event()
    async with AsyncExitStack() as life:
        dying = await life.enter_async_context(running_node(tmp_path, hanging))
        await dying.declare("a")
        event_id = await dying.operate("a", "restart")
        await dying.approve(event_id, "a")
        await shows(dying, lambda _: hanging.attempts)
        async with running_node(tmp_path) as survivor:
            await dying.declare("b", scope="later")
            await shows(survivor, lambda node: node.node.snapshot.view("later") is not None)
            assert survivor.executor.attempts == []
            await life.aclose()
            await survivor.gone(event_id)

            assert survivor.executor.attempts == [f"{event_id}/a#2"]


async def test_two_timers_start_an_event_once(tmp_path):
    """L1 with two servers: both give the scope its Tick; the second finds nothing left to do."""
    tasks = AsyncioTasks()
    clock = ManualClock(tasks, tmp_path / "clock")
    executor = NotingExecutor()
    gate = executor.gates["a"] = asyncio.Event()
    async with running_node(tmp_path, executor, clock) as one, running_node(tmp_path, executor, clock) as two:
        await one.declare("a")
        (event_id,) = await one.maintain(EventType.REBOOT)
        await shows(two, lambda node: node.event(event_id) is not None)
        await clock.advance_by(900_000)
        await shows(one, lambda node: node.event(event_id).status is Status.STARTED)
        await shows(two, lambda node: node.event(event_id).status is Status.STARTED)

        assert one.node.snapshot.view("s").scope.incarnation == 3
        gate.set()
        await one.gone(event_id)
        assert executor.attempts == [f"{event_id}/a#1"]
