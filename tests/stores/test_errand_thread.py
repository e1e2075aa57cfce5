"""The thread that does one thing after the other for a loop (stores/sqlite/errands.py)."""

import asyncio
import threading

import pytest

from notbefore import event_loop
from notbefore.stores.sqlite.errands import ErrandThread


@pytest.fixture
def errands():
    thread = ErrandThread("errands-of-a-test")
    yield thread
    thread.end()


async def test_one_after_the_other_each_with_its_own_outcome(errands):
    done = []

    def fails():
        raise ValueError("so it is")

    first = asyncio.ensure_future(errands.run(lambda: done.append(1) or "first"))
    second = asyncio.ensure_future(errands.run(fails))
    third = asyncio.ensure_future(errands.run(lambda: done.append(3) or "third"))

    assert (await first, await third) == ("first", "third")
    with pytest.raises(ValueError, match="so it is"):
        await second
    assert done == [1, 3]


async def test_what_has_begun_is_done_and_what_has_not_is_left_out_when_nobody_waits(errands):
    begun, may_end, done = threading.Event(), threading.Event(), []

    def long():
        begun.set()
        assert may_end.wait(10)
        done.append("long")

    runs = asyncio.ensure_future(errands.run(long))
    waits = asyncio.ensure_future(errands.run(lambda: done.append("never")))
    await asyncio.to_thread(begun.wait, 10)
    runs.cancel()
    waits.cancel()
    await asyncio.gather(runs, waits, return_exceptions=True)
    may_end.set()
    await errands.run(lambda: done.append("last"))

    assert done == ["long", "last"]


def test_a_loop_that_is_gone_does_not_end_the_thread(errands):
    begun, may_end = threading.Event(), threading.Event()

    async def leaves():
        waits = asyncio.ensure_future(errands.run(lambda: begun.set() or may_end.wait(10)))
        await asyncio.to_thread(begun.wait, 10)
        waits.cancel()

    event_loop.run(leaves())
    may_end.set()

    assert event_loop.run(errands.run(lambda: "goes on")) == "goes on"


async def test_it_ends_when_it_is_told_and_what_it_was_given_is_done():
    thread = ErrandThread("ends")
    last = asyncio.ensure_future(thread.run(threading.current_thread))
    await asyncio.sleep(0)
    thread.end()
    it = await last
    await asyncio.to_thread(it.join, 10)

    assert not it.is_alive()
