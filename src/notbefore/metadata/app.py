"""The ASGI end of the data plane: reads the body when it is wanted, writes the answer, drops what is left.

Rule 1: an early refusal is sent first; then the rest of the request is read and dropped, within limits,
so that the client sees the answer (SPEC §2.1).
Also here: what all connections of the data plane share.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from uvicorn.server import ServerState

from notbefore.event_loop import give_way
from notbefore.metadata.answers import HttpAnswer, error, lines_of
from notbefore.metadata.connections import Connections
from notbefore.metadata.face import Service
from notbefore.metadata.memo import Memo
from notbefore.metadata.polls import Polls
from notbefore.metadata.service import BODY_MAX_BYTES, BodyRefused, MetadataOptions
from notbefore.metadata.verdict import RequestHead

DRAIN_MAX_BYTES = 1024 * 1024
DRAIN_MAX_S = 2.0

TOO_LONG = error(413, f"Payload too large. The body may have at most {BODY_MAX_BYTES} bytes")
TOO_SLOW = error(400, "Bad request. The body did not arrive in time")
CUT_SHORT = error(400, "Bad request. The connection ended before the body did")


class MetadataApp:
    def __init__(self, service: Service) -> None:
        self.service = service
        self.memo = Memo()
        self.connections = service.counts.connections = Connections(service.options.limits)
        self.polls = Polls(service, lambda call: asyncio.get_running_loop().call_soon(call))
        self.default_lines = b""
        """The headers uvicorn puts first (date and server), which it renews every second."""
        service.follow_options(self._take_options)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        asked = scope["state"]
        body = Body(asked, receive, self.connections.limits.body_timeout_s)
        try:
            answer = await self.service.answer(asked["head"], asked["verdict"], asked["peer"], body.read)
        except Exception:
            asked["counted"][500] += 1  # which uvicorn answers, and logs
            raise
        await send_answer(answer, body, asked, send)

    def _take_options(self, options: MetadataOptions) -> None:
        """Verdicts may depend on a setting, so those made under another are forgotten."""
        self.memo.forget()
        self.connections.limits = options.limits

    def renew_default_lines(self, state: ServerState) -> None:
        """While they say the same they are the same: answers that were made with them are sent again."""
        lines = lines_of(tuple(state.default_headers))
        if lines != self.default_lines:
            self.default_lines = lines


@dataclass(slots=True)
class Body:
    """The body of one request: read whole when asked for, else dropped."""

    asked: Mapping[str, Any]
    receive: Any
    timeout_s: float
    ended: bool = False
    gone: bool = False
    _declared: int = 0

    def __post_init__(self) -> None:
        head: RequestHead = self.asked["head"]
        lengths = head.values(b"content-length")
        self._declared = int(lengths[0]) if lengths else 0
        self.ended = self._declared == 0 and not head.values(b"transfer-encoding")

    async def read(self) -> bytes:
        if self._declared > BODY_MAX_BYTES:
            raise BodyRefused(TOO_LONG)
        body = bytearray()
        try:
            async with asyncio.timeout(self.timeout_s):
                while not self.ended:
                    body += await self._next_part()
                    if self.gone:
                        raise BodyRefused(CUT_SHORT)
                    if len(body) > BODY_MAX_BYTES:
                        raise BodyRefused(TOO_LONG)
        except TimeoutError:
            raise BodyRefused(TOO_SLOW) from None
        give_way()
        return bytes(body)

    async def drop(self) -> None:
        dropped = 0
        try:
            async with asyncio.timeout(DRAIN_MAX_S):
                while not self.ended and dropped < DRAIN_MAX_BYTES:
                    dropped += len(await self._next_part())
        except TimeoutError:
            return

    async def _next_part(self) -> bytes:
        message = await self.receive()
        is_whole = not message.get("more_body", False)
        self.gone = message["type"] == "http.disconnect" or (not is_whole and self.asked["cut_short"])
        self.ended = self.gone or is_whole
        part: bytes = message.get("body", b"")
        return part


async def send_answer(answer: HttpAnswer, body: Body, asked: dict[str, Any], send: Any) -> None:
    """In one piece, and counted, when the request is there whole."""
    if body.ended:
        # Not before the client has read what it was sent: answers that nobody reads do not pile up.
        await asked["writable"]()
        asked.pop("reply")(answer)
        return
    asked["counted"][answer.status] += 1
    headers = list(answer.sent_headers())
    headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body, "more_body": True})
    await body.drop()
    await send({"type": "http.response.body", "body": b""})
