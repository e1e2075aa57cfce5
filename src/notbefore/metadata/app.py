"""The ASGI end of the data plane: reads the body when it is wanted, writes the answer, drops what is left.

Rule 1: an early refusal is sent first; then the rest of the request is read and dropped, within limits,
so that the client sees the answer (SPEC §2.1).
"""

import asyncio
from typing import Any

from notbefore.metadata.answers import HttpAnswer, error
from notbefore.metadata.identity import Listener
from notbefore.metadata.service import BODY_MAX_BYTES, BodyRefused, MetadataService
from notbefore.metadata.verdict import RequestHead

DRAIN_MAX_BYTES = 1024 * 1024
DRAIN_MAX_S = 2.0
BODY_MAX_S = 10.0

TOO_LONG = error(413, f"Payload too large. The body may have at most {BODY_MAX_BYTES} bytes")
TOO_SLOW = error(400, f"Bad request. The body did not arrive within {BODY_MAX_S:.0f} seconds")


class MetadataApp:
    def __init__(self, service: MetadataService, listeners: dict[tuple[str, int], Listener]) -> None:
        self._service = service
        self._listeners = listeners

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        head = RequestHead(scope["method"], scope["raw_path"], scope["query_string"], scope["headers"])
        body = Body(head, receive)
        host, port = scope["server"]
        listener = self._listeners.get((host, port)) or self._listeners[("", port)]
        answer = await self._service.answer(head, listener, scope["client"][0], body.read)
        await send_answer(answer, body, send)


class Body:
    """The body of one request: read whole when asked for, else dropped."""

    def __init__(self, head: RequestHead, receive: Any) -> None:
        self._receive = receive
        lengths = head.values(b"content-length")
        self._declared = int(lengths[0]) if lengths else 0
        self.ended = self._declared == 0 and not head.values(b"transfer-encoding")

    async def read(self) -> bytes:
        if self._declared > BODY_MAX_BYTES:
            raise BodyRefused(TOO_LONG)
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_MAX_S):
                while not self.ended:
                    body += await self._next_part()
                    if len(body) > BODY_MAX_BYTES:
                        raise BodyRefused(TOO_LONG)
        except TimeoutError:
            raise BodyRefused(TOO_SLOW) from None
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
        message = await self._receive()
        self.ended = message["type"] == "http.disconnect" or not message.get("more_body", False)
        part: bytes = message.get("body", b"")
        return part


async def send_answer(answer: HttpAnswer, body: Body, send: Any) -> None:
    headers = list(answer.headers)
    if answer.status != 304:  # noqa: PLR2004  the one answer without a body of its own
        headers.append((b"content-length", str(len(answer.body)).encode()))
    if body.ended:
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})
        return
    headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body, "more_body": True})
    await body.drop()
    await send({"type": "http.response.body", "body": b""})
