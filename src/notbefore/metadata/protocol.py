"""uvicorn's httptools protocol with what it lacks for this place: JSON on syntax errors, a limit on the head,
deadlines, and a memory of whole requests.

Rule 1: parsing by hand nowhere: llhttp, strict, says what is HTTP (SPEC §2.1).
Rule 2: a refusal is sent after the answers that are still owed; what comes in afterwards is dropped for a
while, so that the client sees the answer.
Rule 3: a request that came as one whole message is learnt; the next like it goes back to the fast path.
Rule 4: trailers are dropped: a request is judged by its head. A broken body breaks its request.
Not here: answering without a task, for questions that are held (holding.py).
"""

import asyncio
import logging
from functools import partial

from notbefore.metadata.answers import HttpAnswer, error
from notbefore.metadata.app import DRAIN_MAX_BYTES, DRAIN_MAX_S
from notbefore.metadata.holding import HoldingProtocol, Light
from notbefore.metadata.identity import Peer
from notbefore.metadata.plane import Plane
from notbefore.metadata.verdict import RequestHead

HEAD_MAX_BYTES = 16 * 1024
PIPELINED_MAX = 64

NOT_HTTP = error(400, "Bad request. This is not valid HTTP/1.1")
HEAD_TOO_LONG = error(431, f"Request header fields too large. The head may have at most {HEAD_MAX_BYTES} bytes")

TOO_MANY_AHEAD = error(400, f"Bad request. More than {PIPELINED_MAX} requests came without waiting for an answer")

# A line for every request that is no HTTP would let any VM fill the log; what breaks down here is still told.
log = logging.getLogger("uvicorn.error.metadata")
log.setLevel(logging.ERROR)


class Unacceptable(Exception):
    """Raised inside the parser to stop it; what to answer is kept beside it."""


class ForgivingTransport(asyncio.Transport):
    """The transport as answers see it: a client that has gone away before its answer is nothing to report."""

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__()
        self.close = transport.close  # type: ignore[method-assign]
        self.is_closing = transport.is_closing  # type: ignore[method-assign]
        self._write = transport.write

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self.is_closing():
            self._write(data)


class MetadataProtocol(HoldingProtocol):
    _head_bytes = 0
    _body_bytes = 0
    _in_head = True
    _between_messages = True
    _begun = 0
    _whole: RequestHead | None = None
    _broken_rule: HttpAnswer = NOT_HTTP

    def __init__(self, plane: Plane, peer: Peer, light: Light | None = None) -> None:
        """`light` takes the connection when it is there for questions that are known or held."""
        super().__init__(plane.config, plane.state, plane.app_state, plane.loop)
        self._metadata = plane.app
        self._peer = peer
        self._light = light
        self.logger = log
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._metadata.connections.release(self._peer.caller_key)
        self.leave()
        # uvicorn leaves its timer, and with it all of this, behind for a minute when the connection was reset.
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_idle() and self._metadata.memo.get(data) and (light := self.step_down()):
            light.take_back(data)
        else:
            self.parse(data)

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio's own signature
        """Who has stopped sending may still read: what was asked whole is answered, then the connection ends."""
        if self.cycle is None or self.cycle.response_complete:
            return False
        if not self._in_head and self._dropped_bytes is not None:
            return False  # its body was no HTTP, which it has been told
        if not self._in_head:
            # A body that was cut: whoever waits for more of it is told, and tells the client what that came to.
            self.scope["state"]["cut_short"] = True
            self.cycle.keep_alive = False
            self.cycle.message_event.set()
            return True
        if self._owed is None:
            self.cycle.keep_alive = False
        self.sends_no_more()
        return True

    def parse(self, data: bytes) -> None:
        if self._dropped_bytes is not None:
            self._drop(data)
            return
        self._in_parser = True
        try:
            self._parse(data)
        finally:
            self._in_parser = False
        self.ask_what_was_read()

    def _parse(self, data: bytes) -> None:
        at_boundary = self._between_messages
        self._begun, self._whole = 0, None
        self._head_bytes += len(data) if self._in_head else 0
        self._body_bytes += 0 if self._in_head else len(data)
        super().data_received(data)
        self.read_behind(len(data))
        if self._dropped_bytes is not None:
            return
        if self._in_head and self._head_bytes > HEAD_MAX_BYTES:
            self._refuse(HEAD_TOO_LONG)
        elif not self._in_head and self._body_bytes > DRAIN_MAX_BYTES:
            # The parser keeps a trailer until it ends, and counts no chunk extension: this is their limit.
            self.cut_off()
        elif at_boundary and self._begun == 1 and self._whole:
            asked = self.scope["state"]
            self._metadata.memo.learn(
                data, self._whole, asked["verdict"], close=not self.cycle.keep_alive, counted=asked["counted"]
            )

    # -- what the parser says

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._begun += 1
        self._between_messages = False
        self._expect_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._exact_head_bytes() > HEAD_MAX_BYTES:
            self._broken_rule = HEAD_TOO_LONG
            raise Unacceptable
        if len(self.pipeline) >= PIPELINED_MAX:
            self._broken_rule = TOO_MANY_AHEAD
            raise Unacceptable
        super().on_headers_complete()
        # uvicorn tells only the newest of several pipelined answers that its client has gone.
        self.cycle.transport = ForgivingTransport(self.transport)
        self._in_head = False
        self._body_bytes = 0
        if not self.flow.write_paused:
            self.deadline_s = None
        head = RequestHead(self.scope["method"], self.scope["raw_path"], self.scope["query_string"], self.headers)
        # The task that answers has not run yet: it finds the verdict and the peer beside the request.
        service = self._metadata.service
        self.scope["state"] = {
            "head": head,
            "verdict": service.judge(head),
            "peer": self._peer,
            "counted": service.counts.row_for(head),
            "cut_short": False,
            "writable": self.flow.drain,
            "reply": partial(self.send, self.cycle),
            "cut_off": self.transport.abort,
        }
        self.begin_judged()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._whole = self.scope["state"]["head"]
        self._in_head = True
        self._head_bytes = 0
        self._between_messages = True

    def _unsupported_upgrade_warning(self) -> None:
        """An upgrade nobody offers: the request is answered, the connection ends; what follows is not HTTP."""
        self._dropped_bytes = 0
        self.cycle.keep_alive = False
        self.cycle.more_body = False
        self.cycle.message_event.set()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  uvicorn's sentence; ours says it in JSON
        self._refuse(self._broken_rule)

    def on_response_complete(self) -> None:
        """As uvicorn's, without a timer for each connection: all deadlines are looked at together."""
        self.server_state.total_requests += 1
        if not self.transport.is_closing():
            self.flow.resume_reading()
            if self.pipeline:
                self._start_asgi_task(*self.pipeline.pop())
        if self.pipeline:
            # uvicorn reads on after every answer; what is waiting comes first, or a client could pile it up.
            self.flow.pause_reading()
        if self._dropped_bytes is not None:
            self._send_owed_refusal()
        else:
            self.deadline_s = self.loop.time() + self._metadata.connections.limits.idle_timeout_s

    # -- refusing what is not HTTP

    def _refuse(self, answer: HttpAnswer) -> None:
        self._dropped_bytes = 0
        if self._in_head:
            self._owed = answer
        elif not self.cycle.response_started:
            # The body of this very request is broken: whoever waits for it goes away, and its answer is the refusal.
            self._owed = answer
            self.cycle.disconnected = True
            self.cycle.waiting_for_100_continue = False
            self.cycle.message_event.set()
        self._send_owed_refusal()
        self.release()

    def _send_owed_refusal(self) -> None:
        """Once every answer before it is out."""
        in_turn = self.cycle is None or self.cycle.response_complete or self.cycle.disconnected
        if self._owed and in_turn and not self.pipeline and not self.transport.is_closing():
            self._send_refusal(self._owed)

    def _send_refusal(self, answer: HttpAnswer) -> None:
        self._owed = None
        self._metadata.service.counts.malformed[answer.status] += 1
        self.transport.write(answer.bytes_with(self._metadata.default_lines, close=True))
        self.deadline_s = self.loop.time() + DRAIN_MAX_S
        if self.transport.can_write_eof():
            self.transport.write_eof()

    def _drop(self, data: bytes) -> None:
        self._dropped_bytes = (self._dropped_bytes or 0) + len(data)
        if self._dropped_bytes > DRAIN_MAX_BYTES:
            self.transport.close()

    # -- where the connection stands

    def _is_idle(self) -> bool:
        return self.is_at_boundary() and (self.cycle is None or self.cycle.response_complete)

    def _exact_head_bytes(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _expect_head(self) -> None:
        self._in_head = True
        self.deadline_s = self.loop.time() + self._metadata.connections.limits.head_timeout_s

    def pause_writing(self) -> None:
        super().pause_writing()
        self.deadline_s = self.loop.time() + self._metadata.connections.limits.idle_timeout_s

    def cut_off(self) -> None:
        """At once: closing would wait for a client that does not read."""
        self.transport.abort()
