"""The fast path: a connection whose questions are known, answered on its own socket, without parsing them.

Rule 1: it parses nothing. What is not in the memo goes to uvicorn's protocol with the whole connection, as
uvicorn itself does for websockets; a known request on that connection brings it back.
Rule 2: it never waits. What needs a commit first is handed over too.
Rule 3: one `send` per answer; a client that does not take it whole is for uvicorn's protocol, which waits for it.
Rule 4: who asks the same again is told from what stands (standing.py), without looking anything up.
Rule 5: a question that is held comes back here for as long, so that ten thousand of them weigh little; what a client
sends behind it goes to uvicorn's protocol, and the question with it.
"""

from collections import defaultdict
from typing import Any

from notbefore.metadata.answers import HttpAnswer
from notbefore.metadata.holding import Held
from notbefore.metadata.identity import Listener, Peer
from notbefore.metadata.line import AT_ONCE, NOT_NOW, READ_MAX_BYTES, Line
from notbefore.metadata.memo import Remembered
from notbefore.metadata.plane import Plane
from notbefore.metadata.protocol import MetadataProtocol
from notbefore.metadata.standing import Standing
from notbefore.system_calls import Opened


class FastPath(Peer):
    """A connection that is let in, and so the peer at its other end."""

    __slots__ = (
        "_counted",
        "_held",
        "_name",
        "_number",
        "_plane",
        "_question",
        "_socket",
        "_standing",
        "_unknown",
        "deadline_s",
    )

    def __init__(self, plane: Plane, opened: Opened, number: int, name: Any, listener: Listener, address: str) -> None:
        # What a Peer has, here instead of by a call of its own: each connection pays for it.
        self.listener = listener
        self.address = address
        self._plane = plane
        self._socket = opened
        self._number = number
        self._name = name
        self._held: Held | None = None
        # What it asked last, if what it is told then stands.
        self._question: bytes | None = None
        self._standing: Standing
        self._counted: defaultdict[int, int]
        # What has to be parsed, from when it comes until it is.
        self._unknown = b""
        self.deadline_s: float | None

    def enter(self, data: bytes | None, timeout_s: float) -> None:
        """With what it has said, if anything, and how long it has for what it says next."""
        plane = self._plane
        plane.state.connections.add(self)  # type: ignore[arg-type]  # shut down as uvicorn's own are
        plane.lookout.admit(self._number, self)
        self.deadline_s = plane.lookout.now_s + timeout_s
        if data:
            self._take(data, plane.app.memo.get(data))

    def finish(self, unsent: bytes, *, close: bool) -> None:
        """It comes for what is left of its answer."""
        plane = self._plane
        plane.lookout.admit(self._number, self)
        self.deadline_s = plane.lookout.now_s + plane.idle_timeout_s
        self._wait_until_sent(unsent, close=close)

    # -- what the loop tells

    def ready(self, _events: int) -> None:
        try:
            data = self._socket.recv(READ_MAX_BYTES, AT_ONCE)
        except NOT_NOW:
            return
        except OSError:
            self._end()
            return
        if not data:
            if self._held is None:
                self._end()
            else:
                # Perhaps it still reads, perhaps it is gone: that cannot be told, so it is not made to wait.
                self.shutdown()
            return
        if data == self._question:
            plane = self._plane
            now_s = plane.lookout.now_s
            answer = self._standing.again(now_s)
            if answer is not None:
                self._counted[answer.status] += 1
                self.deadline_s = now_s + plane.idle_timeout_s
                lines, whole = answer.kept
                if lines is not plane.app.default_lines:
                    whole = answer.bytes_with(plane.app.default_lines, close=False)
                # As `_send` would, without the call.
                try:
                    sent = self._socket.send(whole, AT_ONCE)
                except OSError:
                    sent = 0
                if sent < len(whole):
                    self._wait_until_sent(whole[sent:], close=False)
                return
        self._take_again(data)

    def abort(self) -> None:
        self._end()

    def cut_off(self) -> None:
        self._end()

    def shutdown(self) -> None:
        """uvicorn asks when it stops: nothing is ever half done here, but for what is put off or held."""
        if self._unknown:
            self._handed_over().shutdown()
            return
        if self._held:
            self._held.close = True
            self._plane.app.polls.release(self._held.poll)
        self._end()

    # -- asking and answering

    def _take_again(self, data: bytes) -> None:
        """Not the first question of this connection, so perhaps not the last of its kind."""
        plane = self._plane
        remembered = plane.app.memo.get(data)
        self._question = None
        if remembered is not None and not remembered.close:
            standing = plane.standing(remembered.verdict, self)
            if standing is not None:
                self._question, self._standing, self._counted = data, standing, remembered.counted
        self._take(data, remembered)

    def _take(self, data: bytes, remembered: Remembered | None) -> None:
        plane = self._plane
        whole = None if remembered is None or self._held is not None else plane.answer_to(remembered, self)
        if remembered is None or whole is None:
            self._put_off(data)
            return
        self.deadline_s = plane.lookout.now_s + plane.idle_timeout_s
        self._send(whole, remembered.close)

    def _put_off(self, data: bytes) -> None:
        self._unknown = data
        self._plane.lookout.put_off(self._number, self)

    def _send(self, whole: bytes, close: bool) -> None:  # noqa: FBT001  the name would cost what it tells
        try:
            sent = self._socket.send(whole, AT_ONCE)
        except OSError:
            sent = 0  # who writes the rest finds out whether to wait or to end
        if sent < len(whole):
            self._wait_until_sent(whole[sent:], close=close)
        elif close:
            self._end()

    def _wait_until_sent(self, unsent: bytes, *, close: bool) -> None:
        line, slow = self._seated()
        slow.deadline_s = self.deadline_s
        line.write(unsent)
        if close:
            line.close()

    def _end(self) -> None:
        plane = self._plane
        try:
            plane.state.connections.remove(self)  # type: ignore[arg-type]
        except KeyError:
            return  # it has ended already
        plane.lookout.forget(self._number)
        self._socket.close()
        plane.app.connections.release(self.listener.vm or self.address)
        if self._held is not None:
            plane.app.polls.leave(self._held.poll)
            self._held = None

    # -- to uvicorn's protocol and back

    def _seated(self) -> tuple[Line, MetadataProtocol]:
        """The connection on a transport, which uvicorn's protocol needs."""
        plane = self._plane
        plane.state.connections.discard(self)
        names = (self._name, (self.listener.host, self.listener.port))
        line = Line(plane.lookout, self._socket, self._number, names)
        plane.lookout.hand_on(self._number, line)
        slow = MetadataProtocol(plane, self, self)
        line.set_protocol(slow)
        slow.connection_made(line)
        return line, slow

    def go_on(self) -> None:
        """To parse takes longer than ten known questions, which were answered first."""
        if self._unknown and self._socket.fileno() >= 0:
            self._handed_over()

    def _handed_over(self) -> MetadataProtocol:
        data, self._unknown = self._unknown, b""
        _, slow = self._seated()
        if self._held:
            slow.adopt(self._held)
            self._held = None
        slow.parse(data)
        return slow

    def take_back(self, data: bytes) -> None:
        """A connection that was handed over asks something known again."""
        self._return()
        self._take(data, self._plane.app.memo.get(data))

    def _return(self) -> None:
        self._plane.state.connections.add(self)  # type: ignore[arg-type]
        self._plane.lookout.hand_on(self._number, self)

    # -- holding a question

    def hold(self, held: Held) -> None:
        self._held = held
        self._question = None
        self.deadline_s = None
        self._return()

    def tell(self, answer: HttpAnswer) -> None:
        """The held question has its answer."""
        held, self._held = self._held, None
        if held is None:
            return
        plane = self._plane
        held.counted[answer.status] += 1
        self.deadline_s = plane.loop.time() + plane.idle_timeout_s
        whole = answer.bytes_with(plane.app.default_lines, close=held.close)
        self._send(whole, held.close)
