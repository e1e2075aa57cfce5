"""Turns and the snapshot: read your own writes, unknown outcomes, a store that is away (DESIGN §2)."""

import asyncio

import pytest
from nodes import FaultyStore, running_node

from notbefore.core.errors import StoreUnavailable
from notbefore.core.kinds import Status
from notbefore.stores.sqlite.store import SqliteStore
from notbefore.wire.api_versions import API_VERSIONS


@pytest.fixture
async def faulty(tmp_path):
    store = FaultyStore(await SqliteStore.open(tmp_path / "notbefore.db", "node"))
    async with running_node(tmp_path, store=store, name="node") as node:
        await node.declare("a")
        node.store = store
        yield node


async def test_whoever_answered_a_command_has_applied_it_already(faulty):
    """DESIGN §2: read your own writes: the process that answered has applied it to its own snapshot before answering."""
    event_id = await faulty.operate("a", "restart")

    view = faulty.node.snapshot.view("s")
    assert view.scope.event(event_id).status is Status.SCHEDULED
    assert event_id.encode() in view.document(API_VERSIONS["2020-07-01"])


@pytest.mark.parametrize("fault", ["conflict", "lost", "unknown but there"])
async def test_a_write_that_went_wrong_is_judged_by_its_request_id(faulty, fault):
    """DESIGN §2: a write whose outcome is unknown is re-read and judged by its request id, never blindly retried."""
    faulty.store.faults = [fault]

    event_id = await faulty.operate("a", "restart")

    assert faulty.event(event_id), "whoever was answered reads what it wrote"
    scope = (await faulty.node.store.load("s")).scope
    assert [event.id for event in scope.events] == [event_id]


async def test_a_store_that_is_away_refuses_writes_and_documents_are_still_served(faulty):
    """DESIGN §2: when the store is away the last document is still served."""
    event_id = await faulty.operate("a", "restart")
    faulty.store.away = True

    with pytest.raises(StoreUnavailable):
        await faulty.approve(event_id, "a")
    assert event_id.encode() in faulty.node.snapshot.view("s").document(API_VERSIONS["2020-07-01"])
    faulty.store.away = False
    await faulty.approve(event_id, "a")
    assert faulty.event(event_id) is None or faulty.event(event_id).status is Status.STARTED


async def test_an_event_that_fell_due_while_the_store_was_away_starts_a_second_after_it_is_back(faulty):
    """L1: a turn that could not be taken is taken a second later, and nothing else has to wake the timer for it."""
    event_id = await faulty.operate("a", "restart")
    faulty.store.away = True
    await faulty.advance(15 * 60 + 1)
    assert faulty.event(event_id).status is Status.SCHEDULED

    faulty.store.away = False
    await faulty.advance(1)

    assert faulty.executor.attempts == [f"{event_id}/a#1"]


async def test_many_turns_of_one_scope_at_once_are_all_taken(faulty):
    """DESIGN §2: every command is load, decide, compare-and-set; turns of one scope follow each other."""
    await faulty.declare(*(f"vm-{n}" for n in range(50)), user_operations_max=100)

    events = await asyncio.gather(*(faulty.operate(f"vm-{n}", "restart") for n in range(50)))

    assert len(set(events)) == 50
    assert len(faulty.node.snapshot.view("s").scope.events) == 50


async def test_a_document_is_rendered_once_and_anew_after_a_change(faulty):
    """DESIGN §2: documents are rendered on first ask per scope and version, and dropped on change."""
    version = API_VERSIONS["2020-07-01"]
    view = faulty.node.snapshot.view("s")
    assert view.document(version) is view.document(version)

    await faulty.operate("a", "restart")

    assert faulty.node.snapshot.view("s").document(version) != view.document(version)
