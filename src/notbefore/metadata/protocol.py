"""uvicorn's httptools protocol with what it lacks for this place: JSON on syntax errors, a limit on the head,
a cut-off for clients that never finish one.

Rule 1: parsing by hand nowhere: llhttp, strict, says what is HTTP (SPEC §2.1).
Rule 2: a refusal is sent, then what still comes in is dropped for a while, so that the client sees the answer.
Rule 3: a fast path (a memo from whole requests to verdicts) can stand before it by
`uvicorn.Config(http=...)` and hand a connection over with `transport.set_protocol`.
"""

import asyncio

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from notbefore.metadata.answers import HttpAnswer, error
from notbefore.metadata.app import DRAIN_MAX_BYTES, DRAIN_MAX_S

HEAD_MAX_BYTES = 16 * 1024
HEAD_MAX_S = 10.0

NOT_HTTP = error(400, "Bad request. This is not valid HTTP/1.1")
HEAD_TOO_LONG = error(431, f"Request header fields too large. The head may have at most {HEAD_MAX_BYTES} bytes")


class HeadTooLong(Exception):
    """Raised inside the parser to stop it."""


class MetadataProtocol(HttpToolsProtocol):
    _head_bytes = 0
    _in_head = True
    _dropped_bytes: int | None = None
    _cut_off: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        super().connection_made(transport)
        self._cut_off_in(HEAD_MAX_S)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_cut_off()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._dropped_bytes is not None:
            self._drop(data)
            return
        self._head_bytes += len(data) if self._in_head else 0
        super().data_received(data)
        if self._in_head and self._head_bytes > HEAD_MAX_BYTES and self._dropped_bytes is None:
            self._refuse(HEAD_TOO_LONG)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._cut_off_in(HEAD_MAX_S)

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop_cut_off()
        if self._exact_head_bytes() > HEAD_MAX_BYTES:
            raise HeadTooLong
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._in_head = True
        self._head_bytes = 0

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  uvicorn's sentence; ours says it in JSON
        """uvicorn calls this when the parser gave up, on HTTP that is none or on a head that is too long."""
        too_long = not self._in_head and self._exact_head_bytes() > HEAD_MAX_BYTES
        self._refuse(HEAD_TOO_LONG if too_long else NOT_HTTP)

    def _exact_head_bytes(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _refuse(self, answer: HttpAnswer) -> None:
        headers = (
            *self.server_state.default_headers,
            *answer.headers,
            (b"content-length", str(len(answer.body)).encode()),
            (b"connection", b"close"),
        )
        lines = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
        self.transport.write(STATUS_LINE[answer.status] + lines + b"\r\n" + answer.body)
        self._dropped_bytes = 0
        self._cut_off_in(DRAIN_MAX_S)
        if self.transport.can_write_eof():
            self.transport.write_eof()

    def _drop(self, data: bytes) -> None:
        self._dropped_bytes = (self._dropped_bytes or 0) + len(data)
        if self._dropped_bytes > DRAIN_MAX_BYTES:
            self.transport.close()

    def _cut_off_in(self, seconds: float) -> None:
        self._stop_cut_off()
        self._cut_off = self.loop.call_later(seconds, self.transport.close)

    def _stop_cut_off(self) -> None:
        if self._cut_off is not None:
            self._cut_off.cancel()
            self._cut_off = None
