"""The client and the real server together: held questions, approvals, names (SPEC §2.4, §2.6, §2.7)."""

import asyncio
import logging
import queue
import threading

import pytest

from notbefore.client import AsyncScheduledEvents, ScheduledEvents
from notbefore.client.clock import SystemClock

WITHIN_S = 30


class SleepsKept(SystemClock):
    """Real time, and how long the client chose to wait."""

    def __init__(self):
        self.slept = []

    def sleep(self, seconds):
        self.slept.append(seconds)
        super().sleep(seconds)

    async def async_sleep(self, seconds):
        self.slept.append(seconds)
        await super().async_sleep(seconds)


@pytest.fixture
def held():
    """Rings when the client notes that its questions are held."""

    class Bell(logging.Handler):
        def emit(self, record):
            if "holds questions" in record.getMessage():
                rung.set()

    rung, bell, log = threading.Event(), Bell(), logging.getLogger("notbefore.client")
    log.addHandler(bell)
    log.setLevel(logging.INFO)
    yield lambda: rung.wait(WITHIN_S)
    log.removeHandler(bell)
    log.setLevel(logging.NOTSET)


def test_every_change_is_told_by_the_answer_that_was_held_for_it(demo, held):
    """Two VMs, one of them watching: nobody waits for the next second."""
    clock, told = SleepsKept(), queue.Queue()

    def watch():
        with ScheduledEvents(demo.server.metadata_urls[0], source_address="127.0.0.1", clock=clock) as client:
            for change in client.watch():
                told.put(change)
                if change.kind == "ended":
                    return

    watching = threading.Thread(target=watch)
    watching.start()
    assert held()
    before = list(clock.slept)
    event = demo.made("demo", "FrontEnd_IN_1", "restart")
    appeared = told.get(timeout=WITHIN_S)
    demo.approve(event["id"], source="127.0.0.2")
    started = told.get(timeout=WITHIN_S)
    demo.advance(60)
    ended = told.get(timeout=WITHIN_S)
    watching.join(WITHIN_S)

    assert [change.kind for change in (appeared, started, ended)] == ["appeared", "started", "ended"]
    assert {change.event.id for change in (appeared, started, ended)} == {event["id"]}
    assert ended.impact_seen
    assert clock.slept == before


async def test_so_it_is_with_asyncio_and_a_cancelled_watch_leaves_nothing(demo, held):
    async with AsyncScheduledEvents(demo.server.metadata_urls[0]) as client:
        watching = client.watch()
        first = asyncio.create_task(anext(watching))
        assert await asyncio.to_thread(held)
        event = await asyncio.to_thread(demo.made, "demo", "FrontEnd_IN_0", "restart")
        change = await asyncio.wait_for(first, WITHIN_S)
        assert (change.kind, change.event.id) == ("appeared", event["id"])
        assert change.event.is_mine(await client.whoami())
        assert await client.approve(event["id"]) == (event["id"],)
        assert (await asyncio.wait_for(anext(watching), WITHIN_S)).kind == "started"
        waiting = asyncio.create_task(anext(watching))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert (await client.document()).events[0].is_started


def test_an_event_that_is_gone_does_not_hold_up_another(demo):
    """SPEC §2.4: all or nothing at the server; the client drops what is over."""
    gone = demo.made("demo", "FrontEnd_IN_0", "restart")["id"]
    demo.control("POST", f"/v1/events/{gone}/cancel")
    here = demo.made("demo", "BackEnd_IN_0", "restart")["id"]

    with ScheduledEvents(demo.server.metadata_urls[0]) as client:
        assert client.approve(gone, here.lower()) == (here.lower(),)
        assert client.approve(gone) == ()

    assert demo.event(here)["status"] == "Started"


@pytest.mark.parametrize(("address", "name"), [("127.0.0.1", "FrontEnd_IN_0"), ("127.0.0.4", "BackEnd_IN_1")])
def test_each_vm_knows_its_name(demo, address, name):
    """By the address it asks from."""
    with ScheduledEvents(demo.server.metadata_urls[0], source_address=address) as client:
        assert client.whoami() == name
