"""Blocking work done aside, and what becomes of it when the server stops meanwhile."""

import asyncio
import threading

import pytest

from notbefore.notifiers.errand import Errands


def failing_once(let_go):
    let_go.wait(60)
    raise ConnectionResetError


async def test_whoever_is_told_to_stop_in_the_moment_the_work_ends_stops():
    """A stop closes the receivers' lines first: the work ends with an error, and the stop must not be lost for that."""
    let_go = threading.Event()
    errands = Errands("errand to stop", 60, lambda: None)
    task = asyncio.create_task(errands.run(lambda: failing_once(let_go)))
    await asyncio.sleep(0)
    (thread,) = [one for one in threading.enumerate() if one.name == "errand to stop"]
    let_go.set()
    # The end is handed to the loop, which this blocks; so the loop comes to it and to the stop in one turn.
    thread.join(60)
    asyncio.get_running_loop().call_soon(task.cancel)

    with pytest.raises(asyncio.CancelledError):
        await task
