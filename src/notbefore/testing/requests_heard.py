"""What a VM asked, seen on its line: each request and the status of its answer, whoever gave it.

Rule 1: it stands between a connection and its protocol, and changes no byte and no order.
Rule 2: a request is noted when its head begins a piece that came; that is how clients send it. Whole heads are not
waited for, so one that trickles in is not noted.
Rule 3: bounded: the newest requests are kept, the others counted.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from threading import Lock
from typing import Any, cast

KEPT_MAX = 1000
TARGET_MAX = 300
PARTS = 3
INTERIM = 200


@dataclass(frozen=True, slots=True)
class Request:
    """One request of a VM. `status` is None while nothing was answered; `at` is the emulator's time."""

    method: str
    target: str
    at: datetime
    status: int | None = None

    def __str__(self) -> str:
        return f"{self.method} {self.status or 'unanswered'}"


class RequestLog:
    def __init__(self, now: Callable[[], datetime], ring: Callable[[], None]) -> None:
        self._now = now
        self._ring = ring
        self._lock = Lock()
        self._kept: deque[Request] = deque(maxlen=KEPT_MAX)
        self.count = 0

    @property
    def kept(self) -> tuple[Request, ...]:
        with self._lock:
            return tuple(self._kept)

    def heard(self, first_line: bytes) -> Request | None:
        words = first_line.decode("latin-1").split(" ")
        if len(words) != PARTS or not words[2].startswith("HTTP/1."):
            return None
        request = Request(words[0], words[1][:TARGET_MAX], self._now())
        with self._lock:
            self._kept.append(request)
            self.count += 1
        self._ring()
        return request

    def answered(self, request: Request, status: int) -> None:
        with self._lock:
            for place, kept in enumerate(self._kept):
                if kept is request:
                    self._kept[place] = replace(request, status=status)
        self._ring()


class Tap(asyncio.Protocol):
    """One connection of a VM, with what is said on it noted."""

    def __init__(self, inner: asyncio.Protocol, log: RequestLog) -> None:
        self.inner = inner
        self._log = log
        self._unanswered: deque[Request] = deque(maxlen=KEPT_MAX)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        tapped = TappedTransport(cast("asyncio.Transport", transport), self)
        self.inner.connection_made(cast("asyncio.BaseTransport", tapped))

    def data_received(self, data: bytes) -> None:
        if request := self._log.heard(data.partition(b"\r\n")[0]):
            self._unanswered.append(request)
        self.inner.data_received(data)

    def written(self, data: bytes) -> None:
        if self._unanswered and data[:7] == b"HTTP/1." and (status := int(data[9:12])) >= INTERIM:
            self._log.answered(self._unanswered.popleft(), status)

    def eof_received(self) -> bool | None:
        return self.inner.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self.inner.connection_lost(exc)

    def pause_writing(self) -> None:
        self.inner.pause_writing()

    def resume_writing(self) -> None:
        self.inner.resume_writing()


class TappedTransport:
    """The transport as the protocol behind a tap sees it."""

    def __init__(self, transport: asyncio.Transport, tap: Tap) -> None:
        self._transport = transport
        self._tap = tap

    def write(self, data: bytes) -> None:
        self._tap.written(data)
        self._transport.write(data)

    def set_protocol(self, protocol: asyncio.Protocol) -> None:
        self._tap.inner = protocol

    def get_protocol(self) -> asyncio.Protocol:
        return self._tap.inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
