"""Questions as HTTP: one kept connection to the endpoint, bounded in time and size.

Rule 1: straight to the address: proxies are ignored, redirects not followed.
Rule 2: a time limit holds for the whole answer, however slowly it drips and however fast it flows.
Rule 3: a kept connection that the server has closed meanwhile is opened again at once, without counting as trouble.
Rule 4: whatever goes wrong is an outcome, never an exception.
Rule 5: one connection is kept. Who asks while it is busy gets one of its own, which is closed afterwards.
"""

import http.client
import socket
import threading
from contextlib import suppress
from typing import Any

from notbefore import __version__
from notbefore.client.clock import Clock, SystemClock
from notbefore.client.endpoint import Endpoint
from notbefore.client.steps import Answer, Ask, Loss, Lost, Outcome

ANSWER_MAX_BYTES = 4 * 1024 * 1024
HEADERS = {"Metadata": "true", "User-Agent": f"notbefore-client/{__version__}"}
CLOSED_MEANWHILE = (http.client.RemoteDisconnected, ConnectionResetError, ConnectionAbortedError, BrokenPipeError)


class TooLong(http.client.HTTPException):
    """An answer beyond any document."""


class TimedSocket(socket.socket):
    """A socket whose every read has to be done by one deadline, in real time."""

    deadline_s: float = 0.0
    time = SystemClock()

    def recv_into(self, *args: Any, **named: Any) -> int:
        left_s = self.deadline_s - self.time.steady_s()
        if left_s <= 0:
            raise TimeoutError
        self.settimeout(left_s)
        return super().recv_into(*args, **named)


class Line:
    """One connection, or the will to make one. For one question at a time."""

    def __init__(self, endpoint: Endpoint, clock: Clock, connect_s: float) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._connect_s = connect_s
        self._http: http.client.HTTPConnection | None = None
        self._is_aborted = False

    @property
    def is_open(self) -> bool:
        return self._http is not None and self._http.sock is not None

    def exchange(self, ask: Ask) -> Outcome:
        asked_s = self._clock.steady_s()
        try:
            status, headers, body = self._answered(ask)
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            self.close()
            return Lost(_loss(error), _reason(error, ask), asked_s, self._clock.steady_s())
        return Answer(status, headers, body, asked_s, self._clock.steady_s())

    def abort(self) -> None:
        """End the question under way, from another thread."""
        self._is_aborted = True
        if self._http is not None and (line := self._http.sock) is not None:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        if self._http is not None:
            self._http.close()
        self._http = None

    def _answered(self, ask: Ask) -> tuple[int, dict[str, str], bytes]:
        was_kept = self.is_open
        try:
            return self._once(ask)
        except CLOSED_MEANWHILE:
            self.close()
            if not was_kept or self._is_aborted:
                raise
            return self._once(ask)

    def _once(self, ask: Ask) -> tuple[int, dict[str, str], bytes]:
        deadline_s = TimedSocket.time.steady_s() + ask.timeout_s
        line = self._connected(min(self._connect_s, ask.timeout_s))
        assert isinstance(line.sock, TimedSocket)
        line.sock.deadline_s = deadline_s
        line.request(ask.method, ask.target, ask.body, {**HEADERS, **ask.headers})
        response = line.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        body = _whole_body(response)
        if response.will_close:
            self.close()
        return response.status, headers, body

    def _connected(self, timeout_s: float) -> http.client.HTTPConnection:
        if self._http is not None and self._http.sock is not None:
            return self._http
        where = self._endpoint
        source = (where.source, 0) if where.source else None
        # A str goes through IDNA, whose tables are half a MiB; a plain name needs none of it.
        host: Any = where.host.encode() if where.host.isascii() else where.host
        plain = socket.create_connection((host, where.port), timeout_s, source)
        line = TimedSocket(plain.family, plain.type, plain.proto, plain.detach())
        line.settimeout(timeout_s)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._http = http.client.HTTPConnection(where.host, where.port)
        self._http.sock = line
        if self._is_aborted:
            self.close()
            raise ConnectionAbortedError("given up")
        return self._http


class Lines:
    """The kept connection, and those for whoever asks at the same time."""

    def __init__(self, endpoint: Endpoint, clock: Clock, connect_s: float) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._connect_s = connect_s
        self._kept: Line | None = None
        self._guard = threading.Lock()

    def exchange(self, ask: Ask) -> Outcome:
        line = self.take()
        try:
            return line.exchange(ask)
        finally:
            self.give_back(line)

    def take(self) -> Line:
        with self._guard:
            line, self._kept = self._kept, None
        return line or Line(self._endpoint, self._clock, self._connect_s)

    def give_back(self, line: Line) -> None:
        with self._guard:
            if self._kept is None and line.is_open:
                self._kept = line
                return
        line.close()

    def close(self) -> None:
        with self._guard:
            line, self._kept = self._kept, None
        if line is not None:
            line.close()

    def __del__(self) -> None:
        self.close()


def _whole_body(response: http.client.HTTPResponse) -> bytes:
    declared = response.length
    if declared is not None and declared > ANSWER_MAX_BYTES:
        raise TooLong(f"an answer of {declared} bytes")
    body = response.read(ANSWER_MAX_BYTES + 1)
    if len(body) > ANSWER_MAX_BYTES:
        raise TooLong(f"an answer of more than {ANSWER_MAX_BYTES} bytes")
    if declared is not None and len(body) < declared:
        raise http.client.IncompleteRead(body, declared - len(body))
    return body


def _loss(error: Exception) -> Loss:
    if isinstance(error, TimeoutError):
        return Loss.TIMED_OUT
    if isinstance(error, (http.client.HTTPException, ConnectionResetError, ConnectionAbortedError, BrokenPipeError)):
        return Loss.BROKEN
    return Loss.UNREACHABLE


def _reason(error: Exception, ask: Ask) -> str:
    if isinstance(error, TimeoutError):
        return f"limit {ask.timeout_s:g} s"
    if isinstance(error, http.client.RemoteDisconnected):
        return "it hung up without an answer"
    if isinstance(error, http.client.IncompleteRead):
        return "its answer was cut short"
    if isinstance(error, http.client.BadStatusLine):
        return "its answer is no HTTP"
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()
