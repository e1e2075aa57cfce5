"""A webhook: each news is one signed POST, and a 2xx is the receiver's word that it has it.

Rule 1: the connection is kept for the next one; one that broke meanwhile is made anew, once.
Rule 2: redirects are not followed, proxies of the environment are not asked, of an answer only its head counts.
Rule 3: neither the address nor the secret stands in an error.
Implements: ports.Notifier. How the body looks is handed over by wiring.py.
"""

import http.client
import socket
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from urllib.parse import urlsplit

from notbefore import __version__
from notbefore.core.news import Gap, News
from notbefore.notifiers.errand import Errands
from notbefore.ports import Clock, NotTold
from notbefore.wire.webhook_signature import signed_headers

CONTENT_TYPE = "application/cloudevents+json; charset=utf-8"
ANSWER_READ_MAX_BYTES = 4096
# Answers of the 4xx that are about the moment, not about the request.
COME_BACK = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS)
BROKEN_LINE = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError)

BodyOf = Callable[[News | Gap], bytes]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to, and what the receiver knows the sender by."""

    url: str = field(repr=False)
    secrets: tuple[bytes, ...] = field(repr=False)
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    retry_after: str


class WebhookNotifier:
    def __init__(self, name: str, endpoint: Endpoint, body_of: BodyOf, clock: Clock) -> None:
        self._endpoint = endpoint
        self._body_of = body_of
        self._clock = clock
        parts = urlsplit(endpoint.url)
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._line = connection_to(endpoint)
        self._is_closed = False
        self._errands = Errands[Answer](f"webhook {name}", endpoint.timeout_s, self._break_off)

    async def tell(self, news: News | Gap) -> None:
        body = self._body_of(news)
        headers = {
            "Content-Type": CONTENT_TYPE,
            "User-Agent": f"notbefore/{__version__}",
            **signed_headers(news.id, int(self._clock.real_s()), body, self._endpoint.secrets),
        }
        try:
            answer = await self._errands.run(lambda: self._posted(body, headers))
        except (OSError, http.client.HTTPException) as error:
            raise NotTold(reason_of(error)) from None
        judge(answer, self._clock.real_s())

    def close(self) -> None:
        self._is_closed = True
        self._break_off()
        self._line.close()

    def _posted(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        """In a thread of its own."""
        was_open = self._line.sock is not None
        try:
            return self._exchanged(body, headers)
        except BROKEN_LINE:
            if not was_open:
                raise
            return self._exchanged(body, headers)

    def _exchanged(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        line = self._line
        is_whole = False
        try:
            line.request("POST", self._path, body, dict(headers))
            response = line.getresponse()
            response.read(ANSWER_READ_MAX_BYTES)
            is_whole = response.isclosed()
            return Answer(response.status, response.getheader("Retry-After", ""))
        finally:
            if not is_whole or self._is_closed:
                line.close()

    def _break_off(self) -> None:
        """From another thread: whoever reads or writes there is woken with an error."""
        held = self._line.sock
        if held is not None:
            with suppress(OSError):
                # Past TLS, whose own way of closing is not for two threads at once.
                socket.socket.shutdown(held, socket.SHUT_RDWR)


def connection_to(endpoint: Endpoint) -> http.client.HTTPConnection:
    parts = urlsplit(endpoint.url)
    host = parts.hostname or ""
    if parts.scheme == "https":
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(host, parts.port, timeout=endpoint.timeout_s, context=context)
    return http.client.HTTPConnection(host, parts.port, timeout=endpoint.timeout_s)


def judge(answer: Answer, real_s: float) -> None:
    status = answer.status
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return
    refused = status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in COME_BACK
    raise NotTold(f"it answered {status}", refused=refused, retry_after_s=seconds_in(answer.retry_after, real_s))


def seconds_in(retry_after: str, real_s: float) -> float:
    """As a number of seconds or as a date; what is neither is not there."""
    if retry_after.isascii() and retry_after.isdecimal():
        return float(retry_after[:9])
    try:
        at = parsedate_to_datetime(retry_after)
    except ValueError:
        return 0.0
    return max(0.0, at.replace(tzinfo=at.tzinfo or UTC).timestamp() - real_s)


def reason_of(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not good: {error.verify_message}"
    if isinstance(error, TimeoutError):
        return "it does not answer in time"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__
