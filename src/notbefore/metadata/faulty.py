"""The data plane with faults: what is ordered happens to answers here, and only here.

Rule 1: while no fault is at work this is the plain service, step for step, with the same memo and the same fast path.
Rule 2: while one is, the memo knows nothing and no question is held, so that every request comes this way.
Rule 3: what is struck is a well-formed request of a known VM for its events, within its rate; 400 and 403 are not.
Rule 4: a fault that is cleared ends at once: who waits is answered, who hangs is cut off.
Taken by wiring.py only with `serve --allow-faults`.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from notbefore.faults.book import FaultBook
from notbefore.faults.documents import Documents
from notbefore.faults.fault import Fault
from notbefore.metadata.answers import JSON_TYPE, NOT_MODIFIED, HttpAnswer, error
from notbefore.metadata.app import Body, MetadataApp, send_answer
from notbefore.metadata.holding import HoldingProtocol
from notbefore.metadata.identity import Peer
from notbefore.metadata.memo import Memo
from notbefore.metadata.service import (
    FORBIDDEN,
    BodyRefused,
    MetadataOptions,
    MetadataService,
    ReadBody,
    vouching,
)
from notbefore.metadata.standing import BUSY, Standing
from notbefore.metadata.verdict import Approve, ReadDocument, RequestHead, Verdict
from notbefore.runtime.node import Node
from notbefore.runtime.snapshot import View, VmRef
from notbefore.wire.document import render_document

# How often a connection that waits is looked at, whether its client is still there.
LOOK_S = 0.25
DONE = (200, NOT_MODIFIED)
GARBAGE = b'{"DocumentIncarnation":'

REFUSED: Mapping[str, HttpAnswer] = {
    "410": error(410, "Gone. The service is being moved and is back within 70 seconds; ask again"),
    "429": BUSY,
    "500": error(500, "Internal server error. Ask again"),
    "503": error(503, "Service unavailable. Ask again in a second", (b"retry-after", b"1")),
}

Known = tuple[VmRef, View]


@dataclass(frozen=True, slots=True)
class TornAnswer(HttpAnswer):
    """One of which half is sent."""


class FaultyService(MetadataService):
    def __init__(self, node: Node, options: MetadataOptions, book: FaultBook, documents: Documents) -> None:
        self.book = book
        self._documents = documents
        super().__init__(node, options)

    def judge(self, head: RequestHead) -> Verdict:
        verdict = super().judge(head)
        if self.book.at_work and isinstance(verdict, ReadDocument):
            return replace(verdict, wait_s=None)
        return verdict

    def answer_now(
        self, verdict: Verdict, peer: Peer, now_s: float, proxy_header: bytes | None = None
    ) -> HttpAnswer | None:
        """While faults are at work, what they may strike is for the app."""
        struck = self.book.at_work and isinstance(verdict, ReadDocument)
        return None if struck else super().answer_now(verdict, peer, now_s, proxy_header)

    def standing(self, verdict: Verdict, peer: Peer) -> Standing | None:
        return None if self.book.at_work else super().standing(verdict, peer)

    def known(self, head: RequestHead, peer: Peer) -> Known | HttpAnswer:
        return self._known(peer, vouching(head)) or FORBIDDEN

    def allows(self, caller: VmRef) -> bool:
        return self._rate.allows(caller, self.now_s())

    async def carry_out(self, known: Known, verdict: Verdict, read_body: ReadBody) -> HttpAnswer:
        return await self._carried_out(*known, verdict, read_body)

    async def _read_first(self, caller: VmRef, view: View, wanted: ReadDocument) -> HttpAnswer:
        """While faults are at work every question comes here, not only the first."""
        if not self.book.at_work:
            return await super()._read_first(caller, view, wanted)
        now_ms = self._node.clock.now().wall_ms
        if self._node.hearing.enables(view, now_ms):
            await super()._read_first(caller, view, wanted)
        else:
            self._node.hearing.heard(caller, view, now_ms)
        view = self._node.snapshot.view_by_key(caller.scope) or view
        shown = self._documents.for_answer(view.scope, caller.vm)
        tag = str(shown.incarnation)
        if not wanted.known_incarnations.isdisjoint((tag, "*")):
            return HttpAnswer(NOT_MODIFIED, ((b"etag", tag.encode()),), b"")
        return HttpAnswer(200, (JSON_TYPE, (b"etag", tag.encode())), render_document(shown, wanted.version))


class NoMemo(Memo):
    """Knows nothing and learns nothing."""

    def learn(self, *_: object, **__: object) -> None:
        return


class FaultyApp(MetadataApp):
    service: FaultyService

    def __init__(self, service: FaultyService) -> None:
        super().__init__(service)
        service.book.follow(self._book_changed)

    def _book_changed(self) -> None:
        at_work = self.service.book.at_work
        if at_work and not self.polls.aside:
            self.memo = NoMemo()
            self.service.begin_era()
            self.polls.step_aside()
        elif not at_work and self.polls.aside:
            self.memo = Memo()
            self.polls.aside = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        asked = scope["state"]
        if not self.service.book.at_work or not isinstance(asked["verdict"], ReadDocument | Approve):
            await super().__call__(scope, receive, send)
            return
        body, line = Body(asked, receive, self.connections.limits.body_timeout_s), Line(send, self.service)
        try:
            answer = await self._answer(asked, body, line)
        except Exception:
            asked["counted"][500] += 1  # which uvicorn answers, and logs
            raise
        if answer is None:
            line.cut(b"")
            return
        if isinstance(answer, TornAnswer):
            asked["counted"][answer.status] += not body.gone
            line.cut(self._half_of(answer, line))
        else:
            await send_answer(answer, body, asked, send)

    async def _answer(self, asked: Mapping[str, Any], body: Body, line: "Line") -> HttpAnswer | None:
        """None: there is none, and the connection ends."""
        known = self.service.known(asked["head"], asked["peer"])
        if isinstance(known, HttpAnswer):
            return known
        caller, _ = known
        if not self.service.allows(caller):
            return BUSY
        fault = self.service.book.strikes_request(caller.scope, caller.vm, asked["head"].method)
        if fault is None:
            return await self.service.carry_out(known, asked["verdict"], body.read)
        if refused := REFUSED.get(fault.kind.name):
            return await after_body(refused, body)
        if not await line.stays(fault):
            return None
        # It may have waited long: its VM may be no more.
        known = self.service.known(asked["head"], asked["peer"])
        if isinstance(known, HttpAnswer):
            return known
        wanted = whole(asked["verdict"]) if fault.kind.name == "cut-body" else asked["verdict"]
        return spoilt(await self.service.carry_out(known, wanted, body.read), fault)

    def _half_of(self, answer: HttpAnswer, line: "Line") -> bytes:
        sent = answer.bytes_with(self.default_lines, close=not line.keep_alive)
        # What has no body has nothing to be cut in: the connection ends before the answer.
        return sent[: len(sent) - (len(answer.body) + 1) // 2] if answer.body else b""


class Line:
    """The connection of a struck request, by uvicorn's own cycle of it, whose methods `send` and `on_response` are."""

    def __init__(self, send: Any, service: FaultyService) -> None:
        self._cycle = cast(RequestResponseCycle, send.__self__)
        self._protocol = cast(HoldingProtocol, cast(Any, self._cycle.on_response).__self__)
        self._service = service
        self.server_state = self._protocol.server_state

    @property
    def keep_alive(self) -> bool:
        return self._cycle.keep_alive

    async def stays(self, fault: Fault) -> bool:
        """Whether it is still there to be answered, after what the fault has it wait for."""
        if fault.kind.name == "hang":
            await self._wait(fault, None)
            return False
        await self._wait(fault, fault.options.get("delay_s", 0.0))
        return not self._is_gone()

    def cut(self, sent: bytes) -> None:
        """Whatever was sent is all that comes."""
        self._cycle.response_started = self._cycle.response_complete = True
        if sent:
            self._cycle.transport.write(sent)
        self._cycle.transport.close()

    async def _wait(self, fault: Fault, seconds: float | None) -> None:
        """Real time. Until the fault is cleared or the client sends no more, or for so long."""
        cleared = asyncio.Event()
        until_s = None if seconds is None else self._service.now_s() + seconds
        with self._service.book.told_when_cleared(fault, cleared.set):
            # Who sends no more has perhaps gone: that cannot be told, so it is not made to wait.
            while not (cleared.is_set() or self._is_gone() or self._protocol.half_closed):
                # uvicorn stops reading when requests queue up; then a client that goes away would go unnoticed.
                self._cycle.flow.resume_reading()
                left_s = LOOK_S if until_s is None else min(LOOK_S, until_s - self._service.now_s())
                if left_s <= 0:
                    return
                with suppress(TimeoutError):
                    async with asyncio.timeout(left_s):
                        await cleared.wait()

    def _is_gone(self) -> bool:
        return self._cycle.disconnected or self._cycle.transport.is_closing()


async def after_body(answer: HttpAnswer, body: Body) -> HttpAnswer:
    """The answer, once the request is there whole: so the connection can be kept."""
    try:
        await body.read()
    except BodyRefused as refused:
        return refused.answer
    return answer


def whole(verdict: Verdict) -> Verdict:
    """Asked for as if nothing of it were known: a 304 has no body to cut."""
    return replace(verdict, known_incarnations=frozenset()) if isinstance(verdict, ReadDocument) else verdict


def spoilt(answer: HttpAnswer, fault: Fault) -> HttpAnswer:
    """What comes of an answer that says the request was done; any other is left as it is."""
    if answer.status not in DONE:
        return answer
    match fault.kind.name:
        case "garbage":
            return HttpAnswer(200, (JSON_TYPE,), GARBAGE)
        case "empty":
            return HttpAnswer(200, (), b"")
        case "cut-body":
            return TornAnswer(answer.status, answer.headers, answer.body)
    return answer
