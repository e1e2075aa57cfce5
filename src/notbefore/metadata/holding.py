"""uvicorn's protocol, able to hold a question without a task of its own until polls.py has an answer (SPEC §2.6).

Rule 1: a held question has no deadline of its own connection. Its client is still read from, so that its going away is
noticed at once; what comes behind it waits its turn.
Rule 2: who stops sending, or sends no HTTP behind it, is answered at once; so is everybody when the server stops.
Rule 3: looking, parking and answering are single steps; only the question that enables a scope waits for its commit.
Used by: protocol.py, which says what is HTTP and judges it.
"""

import logging
from functools import partial
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from notbefore.metadata.answers import HttpAnswer, error
from notbefore.metadata.app import MetadataApp
from notbefore.metadata.identity import Peer
from notbefore.metadata.polls import Poll
from notbefore.metadata.service import vouching
from notbefore.metadata.verdict import ReadDocument, RequestHead, Verdict

# What may come behind a held question before the client is no longer read from.
BEHIND_MAX_BYTES = 64 * 1024
ANSWERED = (200, 304)
BROKEN = error(500, "Internal server error. The question could not be recorded; ask again")

log = logging.getLogger("notbefore.metadata")


class HoldingProtocol(HttpToolsProtocol):
    deadline_s: float | None = None
    _metadata: MetadataApp
    _peer: Peer
    _owed: HttpAnswer | None = None
    _between_messages = True
    _unjudged: tuple[RequestResponseCycle, Any] | None = None
    _poll: Poll | None = None
    _behind_bytes = 0
    half_closed = False

    @property
    def is_held(self) -> bool:
        """Whether a question waits on it for its answer."""
        return self._poll is not None

    # -- what the connection tells

    def begin_judged(self) -> None:
        """The request whose head is complete has its verdict."""
        if self._unjudged:
            begun, self._unjudged = self._unjudged, None
            self._start_asgi_task(*begun)

    def read_behind(self, count: int) -> None:
        """uvicorn stops reading when requests queue up; then a client that goes away would go unnoticed."""
        if self._poll:
            self._behind_bytes += count
            if self._behind_bytes <= BEHIND_MAX_BYTES:
                self.flow.resume_reading()

    def sends_no_more(self) -> None:
        """Perhaps it still reads, perhaps it is gone: that cannot be told, so it is not made to wait."""
        self.half_closed = True
        self.release()

    def release(self) -> None:
        if self._poll:
            self._metadata.polls.release(self._poll)

    def leave(self) -> None:
        if self._poll:
            self._metadata.polls.leave(self._poll)
            self._poll = None

    def shutdown(self) -> None:
        super().shutdown()
        self.release()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._poll and self._between_messages:
            self.deadline_s = None

    # -- asking and answering

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        """uvicorn begins as soon as it has the head; here the verdict has to be there as well."""
        asked = cycle.scope["state"]
        if "verdict" not in asked:
            self._unjudged = (cycle, app)
        elif may_be_held(asked["verdict"], asked["head"]):
            # Not inside the parser: the end of this request, and perhaps others, are still to be read.
            self.loop.call_soon(self._ask_patiently, cycle)
        else:
            super()._start_asgi_task(cycle, app)

    def _ask_patiently(self, cycle: RequestResponseCycle) -> None:
        asked = cycle.scope["state"]
        service = self._metadata.service
        answer = service.answer_now(asked["verdict"], self._peer, vouching(asked["head"]))
        if answer is not None:
            self._hold_or_send(cycle, answer)
            return
        task = self.loop.create_task(self._enable_first(cycle))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _enable_first(self, cycle: RequestResponseCycle) -> None:
        """The first question in a day is committed before it is held."""
        asked = cycle.scope["state"]
        try:
            answer = await self._metadata.service.answer(asked["head"], asked["verdict"], self._peer, no_body)
        except Exception:
            log.exception("a question could not be answered")
            answer = BROKEN
        self._hold_or_send(cycle, answer)

    def _hold_or_send(self, cycle: RequestResponseCycle, at_once: HttpAnswer) -> None:
        asked = cycle.scope["state"]
        proxy_header = vouching(asked["head"])
        caller = self._metadata.service.caller_of(self._peer, proxy_header)
        if self.transport.is_closing():
            return
        answer: HttpAnswer | None = at_once
        if caller and at_once.status in ANSWERED and not self.half_closed and self._owed is None:
            tell = partial(self._send, cycle)
            poll = Poll(caller, self._peer, proxy_header is not None, asked["verdict"], tell)
            answer = self._metadata.polls.hold(poll, at_once)
        if answer is not None:
            self._send(cycle, answer)
            return
        self._poll = poll
        self._behind_bytes = 0
        self.read_behind(0)

    def _send(self, cycle: RequestResponseCycle, answer: HttpAnswer) -> None:
        """In one write, and then all that uvicorn does after an answer."""
        self._poll = None
        if self.transport.is_closing():
            return
        cycle.scope["state"]["counted"][answer.status] += 1
        cycle.response_started = cycle.response_complete = True
        close = not cycle.keep_alive
        self.transport.write(answer.bytes_with(self._metadata.default_lines(self.server_state), close=close))
        if close:
            self.transport.close()
        self.on_response_complete()


def may_be_held(verdict: Verdict, head: RequestHead) -> bool:
    """A wait is asked for, and nothing but the head has to come."""
    if not isinstance(verdict, ReadDocument) or verdict.wait_s is None:
        return False
    return not any(name in (b"content-length", b"transfer-encoding") for name, _ in head.headers)


async def no_body() -> bytes:
    return b""
