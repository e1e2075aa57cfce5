"""A connection as a transport (metadata/line.py): what asyncio promises a protocol, on a real pair of sockets."""

import asyncio
import gc
import select
import socket
import weakref

import pytest

from notbefore.metadata.line import UNSENT_HIGH_BYTES, Line

MUCH = b"x" * (4 * UNSENT_HIGH_BYTES)


class Watching:
    """Who tells the line, one look at a time."""

    def __init__(self):
        self.events = select.EPOLLIN
        self.forgotten = False
        self._calls = []

    def change(self, number, events):
        self.events = events

    def forget(self, number):
        self.forgotten = True

    def soon(self, call):
        self._calls.append(call)

    def look(self, line):
        """What is ready now, and what was put off."""
        if not self.forgotten:
            poll = select.poll()
            poll.register(line.number, self.events)
            for _, events in poll.poll(0):
                line.ready(events)
        calls, self._calls = self._calls, []
        for call in calls:
            call()


class Told(asyncio.Protocol):
    """Remembers what it was told; `stays` when its client has stopped sending."""

    def __init__(self, *, stays=False):
        self.stays = stays
        self.heard = []

    def data_received(self, data):
        self.heard.append(data)

    def eof_received(self):
        self.heard.append("end")
        return self.stays

    def pause_writing(self):
        self.heard.append("pause")

    def resume_writing(self):
        self.heard.append("resume")

    def connection_lost(self, exc):
        self.heard.append(("lost", type(exc)))


class Pair:
    def __init__(self, protocol):
        self.client, opened = socket.socketpair()
        for one in (self.client, opened):
            one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        self.client.settimeout(10)
        self.watching, self.told = Watching(), protocol
        number = opened.fileno()
        self.line = Line(self.watching, socket.SocketType(fileno=opened.detach()), number, ("there", "here"))
        self.line.set_protocol(protocol)

    def look(self):
        self.watching.look(self.line)

    def read_all(self, count):
        """The client reads so much, the line is looked at meanwhile."""
        received = b""
        while len(received) < count:
            received += self.client.recv(65536)
            self.look()
        return received


@pytest.fixture
def pair():
    made = Pair(Told())
    yield made
    made.client.close()
    made.line.abort()
    made.look()


@pytest.fixture
def staying():
    made = Pair(Told(stays=True))
    yield made
    made.client.close()
    made.line.abort()
    made.look()


def test_data_and_its_end_are_told(pair):
    pair.client.sendall(b"one")
    pair.look()
    pair.client.close()
    pair.look()

    assert pair.told.heard == [b"one", "end", ("lost", type(None))]
    assert pair.watching.forgotten


def test_who_stays_at_the_end_can_still_write(staying):
    staying.client.shutdown(socket.SHUT_WR)
    staying.look()
    staying.line.write(b"answer")
    staying.line.close()
    staying.look()

    assert staying.client.recv(100) == b"answer"
    assert staying.client.recv(100) == b""
    assert staying.told.heard == ["end", ("lost", type(None))]


def test_an_end_that_was_told_is_not_told_again(staying):
    staying.client.shutdown(socket.SHUT_WR)
    for _ in range(3):
        staying.look()

    assert staying.told.heard == ["end"]


def test_what_the_socket_does_not_take_is_sent_in_order(pair):
    pair.line.write(b"first")
    pair.line.write(MUCH)
    pair.line.write(b"last")

    assert pair.line.get_write_buffer_size() > 0
    assert pair.read_all(len(MUCH) + 9) == b"first" + MUCH + b"last"
    assert pair.told.heard == ["pause", "resume"]
    assert pair.line.get_write_buffer_size() == 0


def test_closing_waits_for_what_is_unsent_and_hears_nothing_more(pair):
    pair.line.write(MUCH)
    pair.line.close()
    pair.line.write(b"too late")
    pair.client.sendall(b"unheard")

    assert pair.read_all(len(MUCH)) == MUCH
    pair.look()
    assert pair.told.heard == ["pause", "resume", ("lost", type(None))]


def test_the_output_can_end_before_the_input(pair):
    pair.line.write(MUCH)
    pair.line.write_eof()
    pair.read_all(len(MUCH))
    assert pair.client.recv(10) == b""
    pair.client.sendall(b"still heard")
    pair.look()

    assert pair.told.heard[-1] == b"still heard"


def test_aborting_drops_what_is_unsent(pair):
    pair.line.write(MUCH)
    pair.line.abort()
    assert pair.told.heard == ["pause"]
    pair.look()

    assert pair.told.heard[-1] == ("lost", type(None))
    assert pair.line.is_closing()


def test_being_lost_is_never_told_inside_the_protocols_own_call(pair):
    pair.client.close()
    pair.line.write(b"into nothing")
    pair.line.write(b"and again")
    assert ("lost", BrokenPipeError) not in pair.told.heard
    pair.look()
    pair.look()

    assert [one for one in pair.told.heard if isinstance(one, tuple)] == [("lost", BrokenPipeError)]


def test_who_is_not_read_from_is_not_read_from(pair):
    pair.line.pause_reading()
    pair.client.sendall(b"later")
    pair.look()
    assert pair.told.heard == []
    assert not pair.line.is_reading()
    pair.line.resume_reading()
    pair.look()

    assert pair.told.heard == [b"later"]


def test_who_goes_away_while_not_being_read_from_is_noticed(pair):
    pair.line.pause_reading()
    pair.client.close()
    pair.look()

    assert pair.told.heard == [("lost", ConnectionResetError)]


def test_it_knows_both_ends_by_name(pair):
    assert pair.line.get_extra_info("peername") == "there"
    assert pair.line.get_extra_info("sockname") == "here"
    assert pair.line.get_extra_info("socket") is None
    assert pair.line.get_protocol() is pair.told
    assert pair.line.can_write_eof()


def test_a_line_that_has_ended_is_no_cycle_with_its_protocol():
    """Each fresh connection would else leave garbage that only Python's collector finds."""
    pair = Pair(Told())
    pair.told.transport = pair.line
    gone = weakref.ref(pair.line)
    pair.client.close()
    gc.disable()
    try:
        pair.look()
        assert pair.told.heard == ["end", ("lost", type(None))]
        del pair
        assert gone() is None
    finally:
        gc.enable()
