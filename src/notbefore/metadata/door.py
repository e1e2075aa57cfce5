"""The door of the data plane: lets connections in, and answers at once what can be answered at once.

Rule 1: a request that is there with its connection, known, and wants it closed is answered and done: no transport, no
protocol, nothing to remember. The answer and the end of the connection go out in one segment.
Rule 2: everybody else is counted. Who is answered at once, and then is gone within a moment, was never watched; who
stays is on the fast path.
Rule 3: one at a time: who else waits is seen in the loop's next look, after those who are in already.
Rule 4: a connection that sends nothing is the kernel's for a second (TCP_DEFER_ACCEPT), where it costs least.
"""

import asyncio
import errno
import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from socket import MSG_DONTWAIT, MSG_MORE
from typing import Any

from notbefore.event_loop import MOMENTS_MAX
from notbefore.metadata.connections import REFUSED
from notbefore.metadata.fast_path import FastPath
from notbefore.metadata.identity import Listener, Peer, canonical_peer
from notbefore.metadata.line import AT_ONCE, NOT_NOW, READ_MAX_BYTES, Line
from notbefore.metadata.memo import Remembered
from notbefore.metadata.plane import Plane
from notbefore.metadata.protocol import MetadataProtocol
from notbefore.system_calls import Opened, accepts_at

DEFER_ACCEPT_S = 1
# Plain numbers, made once: to join flags takes microseconds.
WITH_THE_END = int(MSG_DONTWAIT | MSG_MORE)
REST_S = 1.0
# Errors of accept that say: no more of anything, for now.
EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

Through = Callable[[asyncio.Protocol], asyncio.Protocol]
"""What stands between a connection and its protocol."""

Arrival = tuple[Opened, int, Any, str]
"""A connection at the door: its socket, that one's number, its other end's name and address."""

log = logging.getLogger("notbefore.metadata")


class Door:
    """All sockets of one data plane, watched where the loop waits."""

    def __init__(self, plane: Plane) -> None:
        self.plane = plane
        self._entrances: list[Entrance] = []

    def open(self, bound: socket.socket, listener: Listener, through: Through | None = None) -> None:
        """Let in whoever comes to a listening socket."""
        entrance = Entrance(self.plane, bound, listener, through)
        self._entrances.append(entrance)
        self.plane.lookout.admit(entrance.number, entrance)

    def shut(self) -> None:
        """Nobody is let in any longer."""
        for entrance in self._entrances:
            entrance.shut()
        self._entrances.clear()
        self.plane.lookout.end_moments()


class Entrance:
    """One listening socket."""

    def __init__(self, plane: Plane, bound: socket.socket, listener: Listener, through: Through | None) -> None:
        self.number = bound.fileno()
        self._plane = plane
        self._bound = bound
        self._listener = listener
        self._through = through
        self._is_v4 = bound.family == socket.AF_INET
        # Whoever asks at this moment: nobody keeps it.
        self._asking = Peer(listener, "")
        self._accept = accepts_at(bound)
        prepare(bound)

    def shut(self) -> None:
        if self._bound.fileno() >= 0:
            self._plane.lookout.dismiss(self.number)
            self._bound.close()

    def abort(self) -> None:
        """What broke down was one connection: the entrance stays."""

    def ready(self, _events: int) -> None:
        """One: who comes next is seen in the next look, which costs less than to ask in vain whether there is one."""
        try:
            opened, number, name = self._accept()
        except NOT_NOW:
            return
        except OSError as trouble:
            if trouble.errno in EXHAUSTED:
                self._rest(trouble)
            return
        try:
            data = opened.recv(READ_MAX_BYTES, AT_ONCE)
        except NOT_NOW:
            data = None
        except OSError:
            data = b""
        plane = self._plane
        app = plane.app
        address = name[0] if self._is_v4 else canonical_peer(name[0])
        arrival = (opened, number, name, address)
        remembered = app.memo.get(data) if data and self._through is None else None
        self._asking.address = address
        if remembered is not None and remembered.close and self._answer_and_close(arrival, remembered):
            return
        if data == b"":
            opened.close()
        elif not app.connections.admit(self._listener.vm or address):
            self._refuse(opened)
        elif remembered is None or not self._answer_and_wait(arrival, remembered):
            self._let_in(arrival, data, plane.head_timeout_s)

    def _answer_and_close(self, arrival: Arrival, remembered: Remembered) -> bool:
        answer = self._plane.answer_to(remembered, self._asking)
        if answer is None:
            return False
        opened, address = arrival[0], arrival[3]
        try:
            sent = opened.send(answer, WITH_THE_END)
        except NOT_NOW:
            sent = 0
        except OSError:
            sent = len(answer)  # the client is gone
        if sent == len(answer):
            opened.close()
        elif self._plane.app.connections.admit(self._listener.vm or address):
            # It stays after all, until it has read its answer.
            self._fast_path(arrival).finish(answer[sent:], close=True)
        else:
            self._refuse(opened)
        return True

    def _answer_and_wait(self, arrival: Arrival, remembered: Remembered) -> bool:
        """Most who come anew ask once, read their answer and are gone: they need not be watched for that."""
        plane = self._plane
        answer = plane.answer_to(remembered, self._asking) if len(plane.lookout.moments) < MOMENTS_MAX else None
        if answer is None:
            return False
        try:
            sent = arrival[0].send(answer, AT_ONCE)
        except OSError:
            sent = 0
        if sent < len(answer):
            self._fast_path(arrival).finish(answer[sent:], close=False)
        else:
            plane.lookout.in_a_moment(self._look_again, arrival)
        return True

    def _look_again(self, arrival: Arrival) -> None:
        opened = arrival[0]
        try:
            data = opened.recv(READ_MAX_BYTES, AT_ONCE)
        except NOT_NOW:
            data = None
        except OSError:
            data = b""
        if data == b"":
            opened.close()
            self._plane.app.connections.release(self._listener.vm or arrival[3])
        else:
            self._let_in(arrival, data, self._plane.idle_timeout_s)

    def _let_in(self, arrival: Arrival, data: bytes | None, timeout_s: float) -> None:
        """Who asks something that is not known, or nothing yet, or stays."""
        if self._through is None:
            self._fast_path(arrival).enter(data, timeout_s)
            return
        opened, number, name, address = arrival
        line = Line(self._plane.lookout, opened, number, (name, (self._listener.host, self._listener.port)))
        self._seat(line, Peer(self._listener, address), data)

    def _fast_path(self, arrival: Arrival) -> FastPath:
        opened, number, name, address = arrival
        return FastPath(self._plane, opened, number, name, self._listener, address)

    def _refuse(self, opened: Opened) -> None:
        """Too many are there; who may not stay is told."""
        with suppress(OSError):
            opened.send(REFUSED.bytes_with(self._plane.app.default_lines, close=True), WITH_THE_END)
        opened.close()

    def _seat(self, line: Line, peer: Peer, data: bytes | None) -> None:
        """With somebody between the connection and its protocol."""
        assert self._through is not None
        protocol = self._through(MetadataProtocol(self._plane, peer))
        line.set_protocol(protocol)
        self._plane.lookout.admit(line.number, line)
        protocol.connection_made(line)
        if data:
            protocol.data_received(data)

    def _rest(self, trouble: OSError) -> None:
        log.warning("no more connections can be let in for a second: %s", trouble.strerror)
        self._plane.lookout.dismiss(self.number)
        self._plane.loop.call_later(REST_S, self._go_on)

    def _go_on(self) -> None:
        if self._bound.fileno() >= 0:
            self._plane.lookout.admit(self.number, self)


def prepare(bound: socket.socket) -> None:
    """What its connections inherit, and when they are shown. A socket that was handed over may come as it likes."""
    bound.setblocking(False)
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, DEFER_ACCEPT_S)
