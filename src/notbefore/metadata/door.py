"""The door of the data plane: lets connections in, answers at once what can be answered at once, watches the others.

Rule 1: a request that is there with its connection, known, and wants it closed is answered and done: no transport, no
protocol, nothing to remember. The answer and the end of the connection go out in one segment.
Rule 2: everybody else gets a line and the fast path; it is counted from there on.
Rule 3: a pass is bounded, so that whoever else shares the loop has a turn.
Rule 4: a connection that sends nothing is the kernel's for a second (TCP_DEFER_ACCEPT), where it costs least.
"""

import asyncio
import errno
import logging
import socket
from collections.abc import Callable
from select import EPOLLIN, epoll
from socket import MSG_DONTWAIT, MSG_MORE, SocketType
from typing import Any, Protocol

from notbefore.metadata.fast_path import FastPath, Plane
from notbefore.metadata.identity import Listener, Peer, canonical_peer
from notbefore.metadata.line import AT_ONCE, NOT_NOW, READ_MAX_BYTES, Line

EVENTS_MAX = 128
ACCEPTS_MAX = 64
DEFER_ACCEPT_S = 1
# Plain numbers, made once: to join flags takes microseconds.
WITH_THE_END = int(MSG_DONTWAIT | MSG_MORE)
REST_S = 1.0
# Errors of accept that say: no more of anything, for now.
EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

Through = Callable[[asyncio.Protocol], asyncio.Protocol]
"""What stands between a connection and its protocol."""

log = logging.getLogger("notbefore.metadata")


class Watched(Protocol):
    def ready(self, events: int) -> None: ...

    def abort(self) -> None: ...


class Door:
    """All sockets of one data plane, in one epoll set that the loop looks at as one file."""

    def __init__(self, plane: Plane) -> None:
        self.plane = plane
        self._epoll = epoll()
        self._watched: dict[int, Watched] = {}
        self._entrances: list[Entrance] = []
        plane.loop.add_reader(self._epoll.fileno(), self._look)

    def open(self, bound: socket.socket, listener: Listener, through: Through | None = None) -> None:
        """Let in whoever comes to a listening socket."""
        entrance = Entrance(self, bound, listener, through)
        self._entrances.append(entrance)
        self.admit(entrance.number, entrance)

    def shut(self) -> None:
        """Nobody is let in any longer."""
        for entrance in self._entrances:
            entrance.shut()
        self._entrances.clear()

    def close(self) -> None:
        """When every line has ended."""
        self.shut()
        self.plane.loop.remove_reader(self._epoll.fileno())
        self._epoll.close()

    def admit(self, number: int, watched: Watched) -> None:
        self._watched[number] = watched
        self._epoll.register(number, EPOLLIN)

    def dismiss(self, number: int) -> None:
        if self._watched.pop(number, None):
            self._epoll.unregister(number)

    # -- for its lines

    def change(self, line: Line, events: int) -> None:
        self._epoll.modify(line.number, events)

    def forget(self, line: Line) -> None:
        """Its socket is closed next, which takes it out of the set."""
        self._watched.pop(line.number, None)

    def soon(self, call: Callable[[], None]) -> None:
        self.plane.loop.call_soon(call)

    def _look(self) -> None:
        self.plane.tick()
        watched = self._watched
        for number, events in self._epoll.poll(0, EVENTS_MAX):
            one = watched.get(number)
            if one is not None:
                try:
                    one.ready(events)
                except Exception:
                    # As asyncio does: a connection whose protocol breaks down ends, the others do not.
                    log.exception("a connection broke down")
                    one.abort()


class Entrance:
    """One listening socket."""

    def __init__(self, door: Door, bound: socket.socket, listener: Listener, through: Through | None) -> None:
        self.number = bound.fileno()
        self._door = door
        self._plane = door.plane
        self._bound = bound
        self._listener = listener
        self._through = through
        self._is_v4 = bound.family == socket.AF_INET
        self._kind = (bound.family, bound.type, bound.proto)
        self._own_name = bound.getsockname()
        prepare(bound)

    def shut(self) -> None:
        if self._bound.fileno() >= 0:
            self._door.dismiss(self.number)
            self._bound.close()

    def abort(self) -> None:
        """What broke down was one connection: the entrance stays."""

    def ready(self, _events: int) -> None:
        for _ in range(ACCEPTS_MAX):
            try:
                number, name = accepted(self._bound)
            except NOT_NOW:
                return
            except OSError as trouble:
                if trouble.errno in EXHAUSTED:
                    self._rest(trouble)
                return
            self._let_in(SocketType(*self._kind, number), number, name)

    def _let_in(self, opened: SocketType, number: int, name: Any) -> None:
        peer = Peer(self._listener, name[0] if self._is_v4 else canonical_peer(name[0]))
        try:
            data = opened.recv(READ_MAX_BYTES, AT_ONCE)
        except NOT_NOW:
            data = None
        except OSError:
            opened.close()
            return
        if data and self._through is None:
            answer = self._plane.last_answer_to(data, peer)
            if answer is not None:
                self._answer_and_close(opened, number, name, answer, peer)
                return
        self._seated(opened, number, name, peer, data)

    def _answer_and_close(self, opened: SocketType, number: int, name: Any, answer: bytes, peer: Peer) -> None:
        try:
            sent = opened.send(answer, WITH_THE_END)
        except NOT_NOW:
            sent = 0
        except OSError:
            sent = len(answer)  # the client is gone
        if sent == len(answer):
            opened.close()
            return
        line = self._seated(opened, number, name, peer, None)
        line.write(answer[sent:])
        line.close()

    def _seated(self, opened: SocketType, number: int, name: Any, peer: Peer, data: bytes | None) -> Line:
        line = Line(self._door, opened, number, (name, self._own_name))
        fast = FastPath(self._plane, peer)
        protocol = fast if self._through is None else self._through(fast)
        line.set_protocol(protocol)
        self._door.admit(number, line)
        protocol.connection_made(line)
        if data:
            protocol.data_received(data)
        elif data is not None:
            line.close()
        return line

    def _rest(self, trouble: OSError) -> None:
        log.warning("no more connections can be let in for a second: %s", trouble.strerror)
        self._door.dismiss(self.number)
        self._plane.loop.call_later(REST_S, self._go_on)

    def _go_on(self) -> None:
        if self._bound.fileno() >= 0:
            self._door.admit(self.number, self)


def prepare(bound: socket.socket) -> None:
    """What its connections inherit, and when they are shown. A socket that was handed over may come as it likes."""
    bound.setblocking(False)
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, DEFER_ACCEPT_S)


def accepted(bound: socket.socket) -> tuple[int, Any]:
    """The new connection's number and its other end's name."""
    opened, name = bound.accept()
    return opened.detach(), name


if hasattr(socket.socket, "_accept"):
    # What `accept` is made of, without the object around it: two microseconds less for each connection.
    accepted = socket.socket._accept  # noqa: SLF001  guarded, and the public way is above
