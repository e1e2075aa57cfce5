"""The fast path: answers a request whose exact bytes were seen before, without parsing it.

Rule 1: it parses nothing. What is not in the memo goes to uvicorn's protocol with the whole connection, as
uvicorn itself does for websockets; a known request on that connection brings it back.
Rule 2: it never waits. What needs a commit first is handed over too.
Rule 3: one write per answer; a client that does not read is not read from.
"""

import asyncio
from typing import Any, cast

from uvicorn.config import Config
from uvicorn.server import ServerState

from notbefore.metadata.app import MetadataApp
from notbefore.metadata.connections import REFUSED
from notbefore.metadata.protocol import MetadataProtocol


class FastPath(asyncio.Protocol):
    deadline_s: float | None = None

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        assert isinstance(config.app, MetadataApp)
        self._app = config.app
        self._config = config
        self._state = server_state
        self._app_state = app_state
        self._loop = _loop or asyncio.get_running_loop()
        self._admitted = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._peer = self._app.peer_of(self._transport)
        self._admitted = self._app.connections.admit(self._peer.caller_key)
        if not self._admitted:
            self._transport.write(REFUSED.bytes_with(self._app.default_lines(self._state), close=True))
            self._transport.close()
            return
        self._state.connections.add(self)  # type: ignore[arg-type]  # a protocol as uvicorn's own are
        self.deadline_s = self._loop.time() + self._app.connections.limits.head_timeout_s

    def data_received(self, data: bytes) -> None:
        remembered = self._app.memo.get(data)
        answer = self._app.service.answer_now(remembered.verdict, self._peer) if remembered else None
        if remembered is None or answer is None:
            self._hand_over(data)
            return
        self._transport.write(answer.bytes_with(self._app.default_lines(self._state), close=remembered.close))
        remembered.counted[answer.status] += 1
        if remembered.close:
            self._transport.close()
        self.deadline_s = self._loop.time() + self._app.connections.limits.idle_timeout_s

    def take_back(self, data: bytes) -> None:
        """A connection that was handed over asks something known again."""
        self._state.connections.add(self)  # type: ignore[arg-type]
        self._transport.set_protocol(self)
        self.data_received(data)

    def _hand_over(self, data: bytes) -> None:
        if not self._admitted:
            return
        self._state.connections.discard(self)
        slow = MetadataProtocol(self._config, self._state, self._app_state, self._loop)
        slow.take_over(self._transport, self._peer, self.take_back)
        self._transport.set_protocol(slow)
        slow.parse(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  asyncio says why; it is all one here
        self._state.connections.discard(self)
        if self._admitted:
            self._app.connections.release(self._peer.caller_key)

    def pause_writing(self) -> None:
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._transport.resume_reading()

    def shutdown(self) -> None:
        """uvicorn asks when it stops: nothing is ever half done here."""
        self._transport.close()

    def cut_off(self) -> None:
        """At once: closing would wait for a client that does not read."""
        self._transport.abort()
