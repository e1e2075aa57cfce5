"""The streams that are open: how many there may be, the bell that wakes them, and their common end.

Rule 1: a bell is rung after every look at the store, by whoever it was changed, and says nothing but "look".
Rule 2: a reader that was cut off hears why when it comes back; of so many readers that is remembered, and no more.
Called by: stream.py for each stream, wiring.py, which ends them before the server waits for its last answers.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from notbefore.core.errors import TooManyStreams
from notbefore.runtime.snapshot import Snapshot

ABORT = "notbefore.abort"
CUT_OFF_REMEMBERED_MAX = 256

# A reader as far as it can be known again: token, address, and what it follows.
Reader = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class StreamLimits:
    streams_max: int = 64
    heartbeat_s: float = 15.0
    send_max_s: float = 10.0


class Streams:
    def __init__(self, snapshot: Snapshot, limits: StreamLimits | None = None) -> None:
        self.limits = limits or StreamLimits()
        self.closed = False
        self.cut_off = 0
        self._bells: set[asyncio.Event] = set()
        self._reasons: dict[Reader, str] = {}
        snapshot.subscribe(lambda _: self._ring())
        snapshot.on_any_change(self._looked)

    @property
    def open(self) -> int:
        return len(self._bells)

    def refuse_when_full(self) -> None:
        if self.open >= self.limits.streams_max:
            raise TooManyStreams(
                f"{self.open} streams are open, and no more may be.",
                "Close one, or ask /v1/history?after= now and then.",
                {"limit": self.limits.streams_max},
            )

    @contextmanager
    def joined(self) -> Iterator[asyncio.Event]:
        self.refuse_when_full()
        bell = asyncio.Event()
        self._bells.add(bell)
        try:
            yield bell
        finally:
            self._bells.discard(bell)

    def cut(self, reader: Reader, reason: str) -> None:
        self.cut_off += 1
        self._reasons.pop(reader, None)
        self._reasons[reader] = reason
        if len(self._reasons) > CUT_OFF_REMEMBERED_MAX:
            del self._reasons[next(iter(self._reasons))]

    def reason_for(self, reader: Reader) -> str:
        """Why it was cut off, said once; empty when it was not."""
        return self._reasons.pop(reader, "")

    def close(self) -> None:
        """Every stream ends with its last whole event, and none begins."""
        self.closed = True
        self._ring()

    async def _looked(self) -> None:
        self._ring()

    def _ring(self) -> None:
        for bell in self._bells:
            bell.set()


class AbortableProtocol(HttpToolsProtocol):
    """uvicorn's protocol, which lets an answer end its connection at once, unsent bytes and all."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {ABORT: self.transport.abort}  # type: ignore[dict-item]
