"""The fast path: answers a request whose exact bytes were seen before, without parsing it.

Rule 1: it parses nothing. What is not in the memo goes to uvicorn's protocol with the whole connection, as
uvicorn itself does for websockets; a known request on that connection brings it back.
Rule 2: it never waits. What needs a commit first is handed over too.
Rule 3: one write per answer; a client that does not read is not read from.
Rule 4: a question that is held comes back here for as long, so that ten thousand of them weigh little; what a client
sends behind it goes to uvicorn's protocol, and the question with it.
"""

import asyncio
from typing import Any, cast

from uvicorn.config import Config
from uvicorn.server import ServerState

from notbefore.metadata.answers import HttpAnswer
from notbefore.metadata.app import MetadataApp
from notbefore.metadata.connections import REFUSED
from notbefore.metadata.holding import Held
from notbefore.metadata.identity import Peer
from notbefore.metadata.protocol import MetadataProtocol


class Plane:
    """What all connections of one data plane share."""

    def __init__(self, config: Config, state: ServerState, app_state: dict[str, Any]) -> None:
        assert isinstance(config.app, MetadataApp)
        self.app = config.app
        self.config = config
        self.state = state
        self.app_state = app_state
        self.loop = asyncio.get_running_loop()
        self.now_s = self.loop.time()

    def tick(self) -> None:
        """Deadlines are counted from the beginning of a pass."""
        self.now_s = self.loop.time()

    def last_answer_to(self, data: bytes, peer: Peer) -> bytes | None:
        """The whole answer to a known request that ends its connection; None: somebody else has to look at it."""
        app = self.app
        remembered = app.memo.get(data)
        if remembered is None or not remembered.close:
            return None
        answer = app.service.answer_now(remembered.verdict, peer)
        if answer is None:
            return None
        remembered.counted[answer.status] += 1
        return answer.bytes_with(app.default_lines(self.state), close=True)


class FastPath(asyncio.Protocol):
    deadline_s: float | None = None
    _admitted = True
    _held: Held | None = None

    def __init__(self, plane: Plane, peer: Peer) -> None:
        self._plane = plane
        self._peer = peer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        plane = self._plane
        self._transport = cast("asyncio.Transport", transport)
        if not plane.app.connections.admit(self._peer.caller_key):
            self._admitted = False
            self._transport.write(REFUSED.bytes_with(plane.app.default_lines(plane.state), close=True))
            self._transport.close()
            return
        plane.state.connections.add(self)  # type: ignore[arg-type]  # a protocol as uvicorn's own are
        self.deadline_s = plane.now_s + plane.app.connections.limits.head_timeout_s

    def data_received(self, data: bytes) -> None:
        plane = self._plane
        app = plane.app
        remembered = app.memo.get(data)
        answer = app.service.answer_now(remembered.verdict, self._peer) if remembered and not self._held else None
        if remembered is None or answer is None:
            self._hand_over(data)
            return
        self._transport.write(answer.bytes_with(app.default_lines(plane.state), close=remembered.close))
        remembered.counted[answer.status] += 1
        if remembered.close:
            self._transport.close()
        self.deadline_s = plane.now_s + app.connections.limits.idle_timeout_s

    def take_back(self, data: bytes) -> None:
        """A connection that was handed over asks something known again."""
        self._return()
        self.data_received(data)

    def _hand_over(self, data: bytes) -> None:
        if not self._admitted:
            return
        plane = self._plane
        plane.state.connections.discard(self)
        slow = MetadataProtocol(plane.config, plane.state, plane.app_state, plane.loop)
        slow.take_over(self._transport, self._peer, self)
        self._transport.set_protocol(slow)
        if self._held:
            slow.adopt(self._held)
            self._held = None
        slow.parse(data)

    def _return(self) -> None:
        self._plane.state.connections.add(self)  # type: ignore[arg-type]
        self._transport.set_protocol(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  asyncio says why; it is all one here
        self._plane.state.connections.discard(self)
        if self._admitted:
            self._plane.app.connections.release(self._peer.caller_key)
        if self._held:
            self._plane.app.polls.leave(self._held.poll)

    def eof_received(self) -> None:
        """Who has stopped sending may still read: what was asked is answered, then the connection ends."""
        self._release()

    def pause_writing(self) -> None:
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._transport.resume_reading()

    def shutdown(self) -> None:
        """uvicorn asks when it stops: nothing is ever half done here, but for a question that is held."""
        self._release()
        self._transport.close()

    def cut_off(self) -> None:
        """At once: closing would wait for a client that does not read."""
        self._transport.abort()

    # -- holding a question

    def _release(self) -> None:
        """It is answered now; the connection ends with it."""
        if self._held:
            self._held.close = True
            self._plane.app.polls.release(self._held.poll)

    def hold(self, held: Held) -> None:
        self._held = held
        self.deadline_s = None
        self._return()

    def tell(self, answer: HttpAnswer) -> None:
        """The held question has its answer."""
        held, self._held = self._held, None
        if held is None or self._transport.is_closing():
            return
        plane = self._plane
        held.counted[answer.status] += 1
        self._transport.write(answer.bytes_with(plane.app.default_lines(plane.state), close=held.close))
        if held.close:
            self._transport.close()
        self.deadline_s = plane.loop.time() + plane.app.connections.limits.idle_timeout_s
