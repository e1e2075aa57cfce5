"""One end of the line between parent and worker: frames in, frames out, never waiting.

Rule 1: everything is bounded: a frame, and what the other end has not read yet.
Rule 2: who breaks the protocol, or does not read, is cut off; `breach` says why.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

import msgspec

from notbefore.workers.frames import FRAME_MAX_BYTES, Frame, encoded

UNREAD_MAX_BYTES = 4 * FRAME_MAX_BYTES
LENGTH_BYTES = 4

Told = TypeVar("Told")


class Breach(Exception):
    """The other end said what it must not say."""


class Line(asyncio.Protocol, Generic[Told]):
    def __init__(
        self, decoder: "msgspec.msgpack.Decoder[Told]", take: Callable[[Told], None], ended: Callable[[], None]
    ) -> None:
        """`ended` is called once, when nothing comes any more."""
        self._decoder = decoder
        self._take = take
        self._ended = ended
        self._unparsed = bytearray()
        self._transport: asyncio.Transport | None = None
        self.breach = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  asyncio says why; it is all one here
        self._transport = None
        self._ended()

    def send(self, frame: Frame) -> None:
        """Nobody hears it when the line has ended."""
        if self._transport is None or self._transport.is_closing():
            return
        self._transport.write(encoded(frame))
        if self._transport.get_write_buffer_size() > UNREAD_MAX_BYTES:
            self.cut("it does not read what it is told")

    def cut(self, why: str = "") -> None:
        self.breach = self.breach or why
        if self._transport:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._unparsed += data
        try:
            while not self.breach and (frame := self._next_frame()) is not None:
                self._take(frame)
        except Breach as breach:
            self.cut(str(breach))
        except msgspec.MsgspecError as error:
            self.cut(f"what it says is no frame: {error}")

    def _next_frame(self) -> Any:
        length = int.from_bytes(self._unparsed[:LENGTH_BYTES], "big")
        if length > FRAME_MAX_BYTES:
            raise Breach(f"a frame of {length} bytes is too long")
        end = LENGTH_BYTES + length
        if len(self._unparsed) < max(end, LENGTH_BYTES):
            return None
        body = bytes(memoryview(self._unparsed)[LENGTH_BYTES:end])
        del self._unparsed[:end]
        return self._decoder.decode(body)
