"""One connection of the data plane: the transport its protocol writes to, on a socket that the door watches.

Rule 1: what asyncio promises of a transport holds: a protocol hears of its data, the end of it, of writing that has to
pause, and once, at last, that the connection is lost; never from inside a call of its own.
Rule 2: one `send` for what is written while nothing waits; what the socket does not take is kept and sent in order.
Rule 3: nothing raises because a client is gone.
Why not the loop's own transport: it costs three microseconds for each answer and ten for each connection (decision 19).
"""

import asyncio
from collections.abc import Callable
from select import EPOLLIN, EPOLLOUT
from socket import MSG_DONTWAIT, SHUT_WR
from typing import Any, Protocol

from notbefore.system_calls import Opened

READ_MAX_BYTES = 16 * 1024
UNSENT_HIGH_BYTES = 64 * 1024
UNSENT_LOW_BYTES = 16 * 1024
AT_ONCE = int(MSG_DONTWAIT)
NOT_NOW = (BlockingIOError, InterruptedError)
# Whose a line is when it has ended: it and its protocol, which knows it, are then no cycle for the collector to find.
NOBODY = asyncio.Protocol()


class Watch(Protocol):
    """Who tells a line that its socket is ready."""

    def change(self, number: int, events: int) -> None: ...

    def forget(self, number: int) -> None: ...

    def soon(self, call: Callable[[], None]) -> object: ...


class Line(asyncio.Transport):
    # Most lines never need another value of these, and every microsecond of a new one counts.
    _events = EPOLLIN
    _unsent: bytearray | None = None
    _closing = False
    _lost = False
    _input_ended = False
    _input_paused = False
    _writing_paused = False
    _ends_output = False

    def __init__(self, watch: Watch, opened: Opened, number: int, names: tuple[Any, Any]) -> None:
        self.number = number
        self._watch = watch
        self._socket = opened
        self._names = names
        self._protocol: asyncio.Protocol

    # -- what the door tells

    def ready(self, events: int) -> None:
        if events != EPOLLIN:
            if events & EPOLLOUT:
                self._flush()
            if self._events & EPOLLIN == 0 and events & ~(EPOLLIN | EPOLLOUT):
                # Whoever is not read from can still be seen to be gone.
                self._lose(ConnectionResetError())
            if not events & ~EPOLLOUT or self._events & EPOLLIN == 0:
                return
        if self._closing:
            return
        try:
            data = self._socket.recv(READ_MAX_BYTES, AT_ONCE)
        except NOT_NOW:
            return
        except OSError as gone:
            self._lose(gone)
            return
        if data:
            self._protocol.data_received(data)
        else:
            self._end_of_input()

    def _end_of_input(self) -> None:
        self._input_ended = True
        if self._protocol.eof_received():
            self._watch_what_matters()
            return
        self._closing = True
        if self._unsent is None:
            self._lose(None)
        else:
            self._watch_what_matters()

    def _flush(self) -> None:
        unsent = self._unsent
        if unsent is None:
            return
        try:
            del unsent[: self._socket.send(unsent, AT_ONCE)]
        except NOT_NOW:
            return
        except OSError as gone:
            self._lose(gone)
            return
        if self._writing_paused and len(unsent) <= UNSENT_LOW_BYTES:
            self._writing_paused = False
            self._protocol.resume_writing()
        if not unsent and not self._lost:
            self._all_is_sent()

    def _all_is_sent(self) -> None:
        self._unsent = None
        if self._closing:
            self._lose(None)
            return
        if self._ends_output:
            self._end_output()
        self._watch_what_matters()

    # -- what the protocol wants

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._closing:
            return
        if self._unsent is None:
            try:
                sent = self._socket.send(data, AT_ONCE)
            except NOT_NOW:
                sent = 0
            except OSError as gone:
                self._lose_soon(gone)
                return
            if sent == len(data):
                return
            self._unsent = bytearray(data[sent:])
            self._watch_what_matters()
        else:
            self._unsent += data
        if not self._writing_paused and len(self._unsent) > UNSENT_HIGH_BYTES:
            self._writing_paused = True
            self._protocol.pause_writing()

    def write_eof(self) -> None:
        self._ends_output = True
        if self._unsent is None and not self._closing:
            self._end_output()

    def can_write_eof(self) -> bool:
        return True

    def close(self) -> None:
        """Once all is sent."""
        if self._closing:
            return
        self._closing = True
        if self._unsent is None:
            self._lose_soon(None)
        else:
            self._watch_what_matters()

    def abort(self) -> None:
        self._lose_soon(None)

    def is_closing(self) -> bool:
        return self._closing

    def is_reading(self) -> bool:
        return bool(self._events & EPOLLIN)

    def pause_reading(self) -> None:
        self._input_paused = True
        self._watch_what_matters()

    def resume_reading(self) -> None:
        self._input_paused = False
        self._watch_what_matters()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        assert isinstance(protocol, asyncio.Protocol)
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    def get_write_buffer_size(self) -> int:
        return len(self._unsent or b"")

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        peer, own = self._names
        return {"peername": peer, "sockname": own}.get(name, default)

    def let_go(self) -> bool:
        """Whether its socket is somebody else's from now on: so it is while nothing is kept, paused or ending here."""
        if self._events != EPOLLIN or self._closing:
            return False
        self._lost = self._closing = True
        self._protocol = NOBODY
        return True

    # -- below

    def _watch_what_matters(self) -> None:
        if self._lost:
            return
        reads = not (self._input_paused or self._input_ended or self._closing)
        events = (EPOLLIN if reads else 0) | (EPOLLOUT if self._unsent else 0)
        if events != self._events:
            self._events = events
            self._watch.change(self.number, events)

    def _end_output(self) -> None:
        try:
            self._socket.shutdown(SHUT_WR)
        except OSError as gone:
            self._lose_soon(gone)

    def _lose_soon(self, why: OSError | None) -> None:
        """Not from inside the protocol's own call."""
        self._closing = True
        self._watch.soon(lambda: self._lose(why))

    def _lose(self, why: OSError | None) -> None:
        if self._lost:
            return
        self._lost = self._closing = True
        self._unsent = None
        self._watch.forget(self.number)
        self._socket.close()
        protocol, self._protocol = self._protocol, NOBODY
        protocol.connection_lost(why)
