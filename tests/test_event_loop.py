"""The loop a server runs on (event_loop.py): sockets served while it waits, and asyncio as it always was."""

import asyncio
import os
import socket
import threading
from contextlib import ExitStack, closing, contextmanager
from itertools import count
from pathlib import Path

import pytest

from notbefore import event_loop
from notbefore.event_loop import Lookout, ServingLoop


class Echo:
    """Somebody's end of a pair, who does something whenever anything came."""

    def __init__(self, answer):
        self.there, self.here = socket.socketpair()
        self.here.setblocking(False)
        self.answer = answer
        self.aborted = False

    def ready(self, _events):
        self.answer(self.here.recv(100))

    def abort(self):
        self.aborted = True

    @contextmanager
    def watched(self):
        lookout = asyncio.get_running_loop().lookout
        lookout.admit(self.here.fileno(), self)
        try:
            yield self
        finally:
            lookout.dismiss(self.here.fileno())
            self.there.close()
            self.here.close()


class AlwaysReady(Echo):
    """There is always something, and it is never taken."""

    def __init__(self):
        super().__init__(None)
        self.there.send(b"x")
        self.times = 0

    def ready(self, _events):
        self.times += 1


async def test_a_socket_is_served_while_the_loop_waits_for_something_else():
    heard = asyncio.get_running_loop().create_future()
    with Echo(heard.set_result).watched() as echo:
        echo.there.send(b"hello")

        assert await heard == b"hello"


@pytest.mark.parametrize("way", ["call_soon", "call_later", "create_task", "threadsafe"])
async def test_what_a_served_socket_asks_for_is_done_without_anything_else_to_wake_the_loop(way):
    """Nobody else has a timer or a callback: the loop would wait for ever."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    async def finish():
        done.set()

    asks = {
        "call_soon": lambda _: loop.call_soon(done.set),
        "call_later": lambda _: loop.call_later(0.001, done.set),
        "create_task": lambda _: loop.create_task(finish()),
        "threadsafe": lambda _: loop.call_soon_threadsafe(done.set),
    }
    with Echo(asks[way]).watched() as echo:
        loop.call_soon(lambda: None)
        sender = threading.Timer(0.02, echo.there.send, (b"now",))
        sender.start()
        await done.wait()
        sender.join()


async def test_a_socket_that_is_always_ready_keeps_nobody_from_his_turn():
    """A timer, another thread's word, a stream of asyncio's own and a task that gives way."""
    loop = asyncio.get_running_loop()
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    with AlwaysReady().watched() as greedy:
        await asyncio.sleep(0.01)
        await asyncio.to_thread(lambda: None)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        assert await reader.read() == b""
        for _ in range(10):
            before = greedy.times
            await asyncio.sleep(0)
        assert loop.time() > 0
        writer.close()

    assert greedy.times > before > 10
    server.close()
    await server.wait_closed()


async def test_a_busy_loop_keeps_no_socket_waiting():
    """Everybody has a turn in each round of callbacks."""
    heard = []
    with Echo(heard.append).watched() as echo:
        echo.there.send(b"one")
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    assert heard == [b"one"]


async def test_who_breaks_down_is_ended_and_nobody_else(caplog):
    def broken(_):
        raise RuntimeError("on purpose")

    heard = asyncio.get_running_loop().create_future()
    with Echo(broken).watched() as bad, Echo(heard.set_result).watched() as good:
        bad.there.send(b"x")
        good.there.send(b"y")
        assert await heard == b"y"

    assert bad.aborted
    assert "on purpose" in caplog.text


class Slow(Echo):
    """Puts off what it does, which may fail."""

    def __init__(self, go_on):
        super().__init__(None)
        self.go_on = go_on

    def ready(self, _events):
        self.here.recv(100)
        asyncio.get_running_loop().lookout.put_off(self.here.fileno(), self)


async def test_who_takes_long_is_served_behind_those_who_do_not():
    """Both came in one look; then one who takes long after the other, with a look between two."""
    told = []
    done = asyncio.get_running_loop().create_future()
    lookout = asyncio.get_running_loop().lookout

    def long_work():
        told.append("long")
        quick.there.send(b"again")
        lookout.now_s -= 1  # so long did it take

    with (
        Slow(long_work).watched() as long,
        Slow(lambda: done.set_result(told.append("longer"))).watched() as longer,
        Echo(lambda data: told.append(data.decode())).watched() as quick,
    ):
        for one, word in ((long, b"x"), (longer, b"x"), (quick, b"at once")):
            one.there.send(word)
        await done

    assert told == ["at once", "long", "again", "longer"]


async def test_what_comes_behind_something_put_off_waits_for_it():
    """Nobody else is shown what is sent meanwhile, and nothing of it is lost."""
    heard = []
    done = asyncio.get_running_loop().create_future()
    lookout = asyncio.get_running_loop().lookout

    class Later(Echo):
        def ready(self, _events):
            heard.append(self.here.recv(100))
            done.set_result(None)

    def hand_on():
        heard.append(b"first")
        lookout.hand_on(slow.here.fileno(), later)

    with Slow(hand_on).watched() as slow:
        later = Later(None)
        later.here, unused = slow.here, later.here
        slow.there.send(b"one")
        lookout.serve()
        slow.there.send(b"two")
        lookout.serve()
        await done
        unused.close()
        later.there.close()

    assert heard == [b"first", b"two"]


async def test_what_was_put_off_and_breaks_down_ends_alone(caplog):
    def broken():
        raise RuntimeError("on purpose")

    heard = asyncio.get_running_loop().create_future()
    with Slow(broken).watched() as bad, Slow(lambda: heard.set_result(b"fine")).watched() as good:
        bad.there.send(b"x")
        good.there.send(b"y")
        assert await heard == b"fine"

    assert bad.aborted
    assert not good.aborted
    assert "on purpose" in caplog.text


async def test_who_is_dismissed_hears_nothing_more():
    heard = []
    echo = Echo(heard.append)
    with echo.watched():
        pass
    other = Echo(heard.append)
    with other.watched():
        asyncio.get_running_loop().lookout.dismiss(other.here.fileno())
        other.there.send(b"x")
        await asyncio.sleep(0.01)

    assert heard == []


def test_a_loop_leaves_no_file_open():
    before = set(Path("/proc/self/fd").iterdir())
    for _ in range(3):
        event_loop.run(asyncio.sleep(0))

    assert set(Path("/proc/self/fd").iterdir()) <= before


def test_a_closed_loop_closes_nothing_of_others():
    """Its set has two numbers; each is closed once, by its owner."""
    loop = ServingLoop()
    loop.close()
    fresh = [os.open("/dev/null", os.O_RDONLY) for _ in range(8)]
    loop.lookout.close()
    del loop

    for number in fresh:
        os.fstat(number)
        os.close(number)


def test_what_the_work_comes_to_is_returned_and_what_it_raises_is_raised():
    async def fails():
        raise ValueError("so it is")

    assert event_loop.run(asyncio.sleep(0, "done")) == "done"
    with pytest.raises(ValueError, match="so it is"):
        event_loop.run(fails())


async def test_who_is_looked_at_in_a_moment_is_looked_at_once_and_not_before():
    """Nothing else wakes the loop, which would wait for ever."""
    lookout = asyncio.get_running_loop().lookout
    seen = []
    done = asyncio.Event()

    def look(what):
        seen.append((what, lookout.now_s))
        done.set()

    lookout.serve()
    begun_s = lookout.now_s
    lookout.in_a_moment(look, "soon")
    await done.wait()
    lookout.now_s += 3600
    lookout.in_a_moment(look, "in an hour")
    lookout.serve()

    ((what, at_s),) = seen
    assert what == "soon"
    assert at_s - begun_s >= event_loop.MOMENT_S


async def test_moments_end_at_once_for_who_cannot_wait_for_them_and_one_that_breaks_down_ends_no_other(caplog):
    """As when the server stops."""
    lookout = asyncio.get_running_loop().lookout
    seen = []

    def look(what):
        if what == "bad":
            raise RuntimeError("on purpose")
        seen.append(what)

    for what in ("one", "bad", "other"):
        lookout.in_a_moment(look, what)
    lookout.end_moments()

    assert seen == ["one", "other"]
    assert "on purpose" in caplog.text
    assert not lookout.moments


@pytest.mark.parametrize("watched", [event_loop.RESTS_AMONG - 2, event_loop.RESTS_AMONG + 8])
async def test_a_loop_that_rests_between_looks_misses_nobody(watched):
    """One wakes the next, round and round: each look finds one, as fast as they can come."""
    rounds = 20
    over = asyncio.get_running_loop().create_future()
    line, passed = [], []

    def pass_on(place):
        def answer(said):
            passed.append(place)
            if len(passed) == rounds * watched:
                over.set_result(None)
            else:
                line[(place + 1) % watched].there.send(said)

        return answer

    with ExitStack() as stack:
        line += [stack.enter_context(Echo(pass_on(place)).watched()) for place in range(watched)]
        line[0].there.send(b"x")
        await over
    assert passed == list(range(watched)) * rounds


QUICK_S, SLOW_S = 0.00001, 0.0001


@pytest.mark.parametrize(
    ("watched", "ready", "apart_s", "wait_s", "rests"),
    [
        (event_loop.RESTS_AMONG + 1, 1, QUICK_S, 1.0, 2),
        (event_loop.RESTS_AMONG + 1, event_loop.RESTS_BELOW - 1, SLOW_S, 1.0, 2),
        (event_loop.RESTS_AMONG + 1, 1, SLOW_S, 1.0, 0),  # too seldom for more to come meanwhile
        (event_loop.RESTS_AMONG + 1, event_loop.RESTS_BELOW, QUICK_S, 1.0, 0),  # a look that is worth it
        (event_loop.RESTS_AMONG + 1, 0, QUICK_S, 0.001, 0),
        (event_loop.RESTS_AMONG, 1, QUICK_S, 1.0, 0),  # those who would come wait for it to end
        (event_loop.RESTS_AMONG + 1, 1, QUICK_S, 0.0, 0),  # asyncio waits for nobody
    ],
)
def test_a_loop_rests_only_where_more_will_have_come_when_it_is_over(watched, ready, apart_s, wait_s, rests):
    """A rest costs a timer and a wake-up; one quick look, or a few, may be chance."""
    ticks = count()
    rested = []
    with closing(Lookout(lambda: next(ticks) * apart_s, rested.append)) as lookout, ExitStack() as stack:
        for place in range(watched):
            one = AlwaysReady()
            stack.callback(one.here.close)
            stack.callback(one.there.close)
            if place >= ready:
                one.here.recv(1)
            lookout.admit(one.here.fileno(), one)
        for _ in range(event_loop.RESTS_AFTER):
            lookout.serve(wait_s)
        assert rested == []
        lookout.serve(wait_s)
        assert rested == [event_loop.REST_S] * min(rests, 1)
        lookout.serve(wait_s)
        assert rested == [event_loop.REST_S] * rests
