"""The outbox: at least once, at most once per attempt id, per VM in order (SPEC §3.5, S6, S10)."""

import asyncio

from nodes import NotingExecutor, running_node

from notbefore.core.impacts import FAILURES_MAX
from notbefore.core.kinds import EventType, Status
from notbefore.ports import HistoryQuery


async def test_an_impact_is_carried_out_once_and_the_event_is_gone(tmp_path):
    """SPEC §3.5: an event ends when the executor reports every VM done, with evidence."""
    async with running_node(tmp_path) as node:
        await node.declare("a", "b")
        (event_id,) = await node.maintain(EventType.FREEZE)
        await node.approve(event_id, "a")
        await node.tasks.settled()

        assert node.event(event_id) is None
        assert node.executor.attempts == [f"{event_id}/a#1", f"{event_id}/b#1"]
        records = await node.node.store.history(HistoryQuery(event_id=event_id))
        last = records[-1].record.changes[-1]
        assert last.event.status is Status.COMPLETED
        assert [outcome.evidence for outcome in last.event.outcomes] == [f"noted {event_id}/{vm}#1" for vm in "ab"]


async def test_an_approval_and_the_end_of_its_impact_are_two_commits(tmp_path):
    """DESIGN §3: each commit is an fsync; whoever is approved is carried out by the node that was told, claimed with it."""
    async with running_node(tmp_path) as node:
        await node.declare("a")
        event_id = await node.operate("a", "restart")
        before = node.node.snapshot.view("s").version
        await node.approve(event_id, "a")
        await node.gone(event_id)

        assert node.node.snapshot.view("s").version == before + 2
        assert node.executor.attempts == [f"{event_id}/a#1"]


async def test_impacts_on_one_vm_wait_for_each_other_and_other_vms_do_not(tmp_path):
    """Issue: outbox … per-VM order."""
    executor = NotingExecutor()
    gate = executor.gates["a"] = asyncio.Event()
    async with running_node(tmp_path, executor) as node:
        await node.declare("a", "b")
        first = await node.operate("a", "restart")
        second = await node.operate("a", "redeploy")
        other = await node.operate("b", "restart")
        for event_id in (first, second, other):
            await node.approve(event_id, "b")
        await node.gone(other)

        assert executor.attempts == [f"{first}/a#1", f"{other}/b#1"]
        gate.set()
        await node.gone(second)
        assert executor.attempts[2:] == [f"{second}/a#1"]
        assert executor.overlapped == []


async def test_a_failed_impact_is_tried_again_later_under_a_new_attempt_id(tmp_path):
    """SPEC §3.5: if an executor fails, the event stays Started, is retried with back-off."""
    executor = NotingExecutor()
    executor.failures["a"] = 2
    async with running_node(tmp_path, executor) as node:
        await node.declare("a")
        event_id = await node.operate("a", "restart")
        await node.approve(event_id, "a")
        await node.tasks.settled()

        assert node.event(event_id).status is Status.STARTED
        assert executor.attempts == [f"{event_id}/a#1"]
        await node.advance(4)
        assert len(executor.attempts) == 1
        await node.advance(1)
        assert len(executor.attempts) == 2
        await node.advance(10)
        assert executor.attempts[2:] == [f"{event_id}/a#3"]
        assert node.event(event_id) is None


async def test_after_the_limit_the_event_ends_as_failed(tmp_path):
    """SPEC §3.5: … and after the limit ends as `Failed`."""
    executor = NotingExecutor()
    executor.failures["a"] = 99
    async with running_node(tmp_path, executor) as node:
        await node.declare("a")
        event_id = await node.operate("a", "restart")
        await node.approve(event_id, "a")
        await node.advance(3600)

        assert len(executor.attempts) == FAILURES_MAX
        (record,) = await node.node.store.history(HistoryQuery(event_id=event_id, statuses=(Status.FAILED,)))
        assert "could not be carried out on a" in record.record.changes[-1].why


async def test_an_executor_that_breaks_down_counts_as_a_failure(tmp_path):
    """S10: nothing leaves Started without evidence; an exception is no evidence."""

    class Broken(NotingExecutor):
        async def carry_out(self, impact):
            self.attempts.append(impact.attempt_id)
            raise RuntimeError(impact.vm.name)

    async with running_node(tmp_path, Broken()) as node:
        await node.declare("a")
        event_id = await node.operate("a", "restart")
        await node.approve(event_id, "a")
        await node.tasks.settled()

        assert node.event(event_id).status is Status.STARTED


async def test_an_effect_left_by_a_crash_is_taken_up_under_a_new_attempt_id(tmp_path):
    """S6: at most once per attempt id; at least once in all: what was committed is delivered after a restart."""
    hanging = NotingExecutor()
    hanging.gates["a"] = asyncio.Event()
    async with running_node(tmp_path, hanging) as node:
        await node.declare("a")
        event_id = await node.operate("a", "restart")
        await node.approve(event_id, "a")
        while not hanging.attempts:
            await asyncio.sleep(0.01)
    async with running_node(tmp_path) as again:
        await again.gone(event_id)

        assert hanging.attempts == [f"{event_id}/a#1"]
        assert again.executor.attempts == [f"{event_id}/a#2"]


async def test_what_the_clock_starts_is_carried_out_by_the_node_that_started_it_without_another_commit(tmp_path):
    """S6: the start is the claim. A node that comes later takes up what was left, under a new attempt id, once."""
    hanging = NotingExecutor()
    hanging.gates["a"] = asyncio.Event()
    async with running_node(tmp_path, hanging, name="node-a") as node:
        await node.declare("a", "b")
        event_id = await node.operate("a", "restart")
        before = node.node.snapshot.view("s").version
        moving = asyncio.create_task(node.advance(15 * 60))
        while not hanging.attempts:
            await asyncio.sleep(0.01)

        assert node.node.snapshot.view("s").version == before + 1
        moving.cancel()
    async with running_node(tmp_path, name="node-a") as again:
        await again.gone(event_id)

        assert hanging.attempts == [f"{event_id}/a#1"]
        assert again.executor.attempts == [f"{event_id}/a#2"]


async def test_an_operators_word_ends_an_impact_and_the_late_report_changes_nothing(tmp_path):
    """S10: … an operator's word; a report of an attempt that is no longer current is refused."""
    executor = NotingExecutor()
    gate = executor.gates["a"] = asyncio.Event()
    async with running_node(tmp_path, executor) as node:
        await node.declare("a")
        event_id = await node.operate("a", "restart")
        await node.approve(event_id, "a")
        while not executor.attempts:
            await asyncio.sleep(0.01)
        from notbefore.core.requests import CompleteEvent

        await node._take(CompleteEvent, "s", event_id=event_id)
        before = node.node.snapshot.view("s").version
        gate.set()
        await node.tasks.settled()

        assert node.node.snapshot.view("s").version == before
