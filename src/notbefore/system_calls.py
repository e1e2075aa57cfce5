"""The system calls of the data plane: who comes, what they say, what they are told, and who is ready.

Rule 1: nothing here waits but what `waits_at` gives, and that only as long as it is told to.
Rule 2: compiled (_system_calls.c) where that was built, else the standard library's, which take longer. Nobody else
has to know: both keep one contract (tests/test_system_calls.py).
Rule 3: NOTBEFORE_PURE_PYTHON=1 does without the compiled ones.
Used by: event_loop.py, metadata/door.py.
"""

import os
import socket
from collections.abc import Callable
from select import epoll
from socket import SocketType
from typing import Any, Protocol

PURE_PYTHON = "NOTBEFORE_PURE_PYTHON"
EVENTS_MAX = 128


class Opened(Protocol):
    """A connection. What cannot be had now is BlockingIOError, as with sockets; who drops one open is warned."""

    def recv(self, max_bytes: int, flags: int, /) -> bytes: ...

    def send(self, data: bytes | bytearray | memoryview, flags: int, /) -> int: ...

    def shutdown(self, how: int, /) -> None: ...

    def fileno(self) -> int: ...

    def close(self) -> None: ...


Accept = Callable[[], tuple[Opened, int, Any]]
"""The next one: the connection, its number, its other end's name."""

Wait = Callable[[float], list[tuple[int, int]]]
"""Number and events of at most EVENTS_MAX who are ready; waits so many seconds for the first, for ever if negative."""


class SystemCalls(Protocol):
    def accepts_at(self, listening: int, /) -> Accept: ...

    def waits_at(self, epoll_set: int, /) -> Wait: ...


def compiled() -> SystemCalls | None:
    """None where they were not built, or are not wanted."""
    if os.environ.get(PURE_PYTHON) == "1":
        return None
    try:
        from notbefore import _system_calls  # noqa: PLC0415  they may not have been built
    except ImportError:
        return None
    return _system_calls


COMPILED = compiled()


def accepts_at(bound: socket.socket, calls: SystemCalls | None = COMPILED) -> Accept:
    """Lets in whoever comes to a listening socket that does not wait."""
    if calls:
        return calls.accepts_at(bound.fileno())
    family, kind, protocol = int(bound.family), int(bound.type), bound.proto

    def accept() -> tuple[Opened, int, Any]:
        number, name = number_and_name(bound)
        return SocketType(family, kind, protocol, number), number, name

    return accept


def waits_at(epoll_set: epoll, calls: SystemCalls | None = COMPILED) -> Wait:
    if calls:
        return calls.waits_at(epoll_set.fileno())
    poll = epoll_set.poll
    return lambda wait_s: poll(wait_s, EVENTS_MAX)


def number_and_name(bound: socket.socket) -> tuple[int, Any]:
    opened, name = bound.accept()
    return opened.detach(), name


if hasattr(socket.socket, "_accept"):
    # What `accept` is made of, without the object around it: two microseconds less for each connection.
    number_and_name = socket.socket._accept  # noqa: SLF001  guarded, and the public way is above
