"""uvicorn's protocol, able to hold a question without a task of its own until polls.py has an answer (SPEC §2.6).

Rule 1: a held question has no deadline of its own connection. Its client is still read from, so that its going away is
noticed at once; what comes behind it waits its turn.
Rule 2: who stops sending, or sends no HTTP behind it, is answered at once; so is everybody when the server stops.
Rule 3: while nothing comes behind it, a held question and its connection are with somebody lighter (fast_path.py).
Rule 4: what needs no body and no commit is answered without a task; looking, parking and answering are single steps.
Only the question that enables a scope waits for its commit.
Used by: protocol.py, which says what is HTTP and judges it.
"""

import asyncio
import logging
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from notbefore.metadata.answers import HttpAnswer, error
from notbefore.metadata.app import MetadataApp
from notbefore.metadata.identity import Peer
from notbefore.metadata.line import Line
from notbefore.metadata.polls import Poll
from notbefore.metadata.service import vouching
from notbefore.metadata.verdict import ReadDocument, RequestHead, Verdict

# What may come behind a held question before the client is no longer read from.
BEHIND_MAX_BYTES = 64 * 1024
ANSWERED = (200, 304)
BROKEN = error(500, "Internal server error. The question could not be recorded; ask again")

log = logging.getLogger("notbefore.metadata")


class Keeper(Protocol):
    """Who has the connection of a held question."""

    def tell(self, answer: HttpAnswer) -> None: ...


class Light(Keeper, Protocol):
    """Who takes a connection that nothing is owed on but the answer to a held question."""

    def take_back(self, data: bytes) -> None: ...

    def hold(self, held: "Held") -> None: ...


@dataclass(slots=True, eq=False)
class Held:
    """A held question as its connection knows it."""

    keeper: Keeper
    counted: defaultdict[int, int]
    close: bool
    poll: Poll = field(init=False)

    def tell(self, answer: HttpAnswer) -> None:
        self.keeper.tell(answer)


class HoldingProtocol(HttpToolsProtocol):
    deadline_s: float | None = None
    _metadata: MetadataApp
    _peer: Peer
    _owed: HttpAnswer | None = None
    _between_messages = True
    _dropped_bytes: int | None = None
    _unjudged: tuple[RequestResponseCycle, Any] | None = None
    _in_parser = False
    _to_ask: tuple[RequestResponseCycle, Any] | None = None
    _light: Light | None
    _held: Held | None = None
    _asking: RequestResponseCycle
    _behind_bytes = 0
    half_closed = False

    @property
    def is_held(self) -> bool:
        """Whether a question waits on it for its answer."""
        return self._held is not None

    # -- what the connection tells

    def begin_judged(self) -> None:
        """The request whose head is complete has its verdict."""
        if self._unjudged:
            begun, self._unjudged = self._unjudged, None
            self._start_asgi_task(*begun)

    def read_behind(self, count: int) -> None:
        """uvicorn stops reading when requests queue up; then a client that goes away would go unnoticed."""
        if self._held:
            self._behind_bytes += count
            if self._behind_bytes <= BEHIND_MAX_BYTES:
                self.flow.resume_reading()

    def sends_no_more(self) -> None:
        """Perhaps it still reads, perhaps it is gone: that cannot be told, so it is not made to wait."""
        self.half_closed = True
        self.release()

    def release(self) -> None:
        if self._held:
            self._metadata.polls.release(self._held.poll)

    def leave(self) -> None:
        if self._held:
            self._metadata.polls.leave(self._held.poll)
            self._held = None

    def shutdown(self) -> None:
        super().shutdown()
        self.release()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._held and self._between_messages:
            self.deadline_s = None

    # -- asking and answering

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        """uvicorn begins as soon as it has the head; here the verdict has to be there as well."""
        asked = cycle.scope["state"]
        if "verdict" not in asked:
            self._unjudged = (cycle, app)
        elif has_a_body(asked["head"]) or self.flow.write_paused:
            super()._start_asgi_task(cycle, app)
        elif self._in_parser:
            # The end of this request, and perhaps others, are still to be read; those wait for its answer.
            self._to_ask = (cycle, app)
        else:
            self.loop.call_soon(self._ask, cycle, app)

    def ask_what_was_read(self) -> None:
        """When the parser is done with what came: at once, without a turn of the loop."""
        if self._to_ask:
            asked, self._to_ask = self._to_ask, None
            self._ask(*asked)

    def _ask(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Most questions need no task: their answer is there, or will be told."""
        asked, service = cycle.scope["state"], self._metadata.service
        try:
            answer = service.answer_now(asked["verdict"], self._peer, service.now_s(), vouching(asked["head"]))
        except Exception:
            log.exception("a question could not be answered")
            answer = BROKEN
        if not waits(asked["verdict"]):
            if answer is None:
                super()._start_asgi_task(cycle, app)
            else:
                self.send(cycle, answer)
        elif answer is not None:
            self._hold_or_send(cycle, answer)
        else:
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
            held = Held(self, asked["counted"], not cycle.keep_alive)
            held.poll = Poll(caller, self._peer, proxy_header is not None, asked["verdict"], held.tell)
            answer = self._metadata.polls.hold(held.poll, at_once)
        if answer is not None:
            self.send(cycle, answer)
        elif self.is_at_boundary() and (light := self.step_down()):
            held.keeper = light
            light.hold(held)
        else:
            self._keep(held, cycle)

    def adopt(self, held: Held) -> None:
        """A question that was held elsewhere, because something comes behind it."""
        held.keeper = self
        cycle = RequestResponseCycle(
            scope={"type": "http", "state": {"counted": held.counted}},  # type: ignore[typeddict-item]
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=False,
            keep_alive=not held.close,
            on_response=self.on_response_complete,
        )
        cycle.more_body = False
        self.cycle = cycle
        self._keep(held, cycle)

    def _keep(self, held: Held, cycle: RequestResponseCycle) -> None:
        self._held, self._asking = held, cycle
        self._behind_bytes = 0
        self.read_behind(0)

    def step_down(self) -> Light | None:
        """Who has the connection from now on, if it can be let go; what is left here must not keep itself alive."""
        if self._light is None or not cast("Line", self.transport).let_go():
            return None
        self._unset_keepalive_if_required()
        self.connections.discard(self)
        if self.scope:
            self.scope["state"].clear()
        self.scope = self.cycle = self.parser = None  # type: ignore[assignment]
        return self._light

    def is_at_boundary(self) -> bool:
        """Nothing is half read, dropped, or waits its turn."""
        return self._between_messages and self._dropped_bytes is None and not self.pipeline

    def tell(self, answer: HttpAnswer) -> None:
        self.send(self._asking, answer)

    def send(self, cycle: RequestResponseCycle, answer: HttpAnswer) -> None:
        """In one write, and then all that uvicorn does after an answer."""
        self._held = None
        cycle.response_started = cycle.response_complete = True
        # It knows the cycle, which knows it: nothing is left for the collector.
        cycle.scope["state"].pop("reply", None)
        if self.transport.is_closing() or cycle.disconnected:
            return
        cycle.scope["state"]["counted"][answer.status] += 1
        close = not cycle.keep_alive
        whole = answer.bytes_with(self._metadata.default_lines, close=close)
        if cycle.scope.get("method") == "HEAD":
            whole = whole[: len(whole) - len(answer.body)]
        self.transport.write(whole)
        if close:
            self.transport.close()
        self.on_response_complete()


def has_a_body(head: RequestHead) -> bool:
    return any(name in (b"content-length", b"transfer-encoding") for name, _ in head.headers)


def waits(verdict: Verdict) -> bool:
    return isinstance(verdict, ReadDocument) and verdict.wait_s is not None


async def no_body() -> bytes:
    return b""
