"""The asyncio client: the same plans, cancellable and bounded (DESIGN §7)."""

import asyncio
import threading

import pytest
from odd_server import EVENT, OTHER, Act, OddServer, answer, document, event
from turned_clock import TurnedClock

from notbefore.client import AsyncScheduledEvents, EndpointError, Patience


async def test_it_reads_approves_and_knows_itself():
    """As the other one does."""
    acts = [answer(200, document(3, event())), answer(200), answer(200, {"compute": {"name": "web-1"}})]
    with OddServer(*acts) as server:
        async with AsyncScheduledEvents(server.url) as client:
            assert (await client.document()).incarnation == 3
            assert await client.approve(EVENT) == (EVENT,)
            assert await client.approve() == ()
            assert await client.whoami() == "web-1"

    assert {question.connection for question in server.questions} == {1}


async def test_errors_are_the_same():
    with OddServer(answer(403, {"error": "Who are you"})) as server:
        async with AsyncScheduledEvents(server.url) as client:
            with pytest.raises(EndpointError, match="403: Who are you"):
                await client.document()


async def test_cancelling_cuts_a_question_off():
    """The thread that waited for the answer is free at once; nothing is left behind."""
    with OddServer(Act(hangs=True)) as server:
        async with AsyncScheduledEvents(server.url, patience=Patience(first_s=600)) as client:
            asking = asyncio.create_task(client.document())
            await asyncio.to_thread(server.was_asked, 1)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            server.acts[:] = [answer(200, document(1))]
            assert (await client.document()).incarnation == 1
    for thread in threading.enumerate():
        if thread.name.startswith("notbefore-client"):
            await asyncio.to_thread(thread.join, 20)
            assert not thread.is_alive()


async def test_an_approval_does_not_wait_for_a_held_question():
    """A watcher's question may be held for a minute; whoever approves meanwhile is answered."""
    acts = [answer(200, document(1, event()), ETag="1"), Act(hangs=True), answer(200)]
    with OddServer(*acts) as server:
        async with AsyncScheduledEvents(server.url, clock=TurnedClock()) as client:
            watching = client.watch()
            assert (await anext(watching)).kind == "appeared"
            next_change = asyncio.create_task(anext(watching))
            await asyncio.to_thread(server.was_asked, 2)
            assert await client.approve(EVENT) == (EVENT,)
            next_change.cancel()
            await asyncio.gather(next_change, return_exceptions=True)

    assert [question.method for question in server.questions] == ["GET", "GET", "POST"]


async def test_a_watch_is_told_in_order():
    acts = [answer(200, document(1, event())), answer(200, document(2, event(OTHER)))]
    with OddServer(*acts) as server:
        async with AsyncScheduledEvents(server.url, clock=TurnedClock()) as client:
            told = []
            async for change in client.watch():
                told.append((change.kind, change.event.id))
                if len(told) == 3:
                    break

    assert told == [("appeared", EVENT), ("ended", EVENT), ("appeared", OTHER)]
