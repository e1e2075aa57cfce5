"""Many who wait for one change, in one thread, cheap enough not to be what is measured.

Rule 1: edge-triggered epoll, one buffer for all, a time per batch of what is ready; nothing is made per answer.
Rule 2: the operator's request goes out from the same thread, and its answer is waited for with the others.
Rule 3: an answer is the same as the one before, or is looked at whole (its date goes on).
"""

import json
import select
import socket
from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from measuring.answer import is_whole, parsed
from measuring.load import Address, LoadFailed, connected, refuse_foreign, stopwatch_s
from peers.control import Operator

PATH = "/metadata/scheduledevents?api-version=2020-07-01"
WAIT_S = 60
SILENCE_S = 20.0
BATCH = 64  # as many as get the same time
BUFFER_BYTES = 65536
RESTARTED = "vm-0000"


class Crowd:
    def __init__(self, address: Address, control: Address, token: str) -> None:
        refuse_foreign(address)
        self._address, self._control, self._token = address, control, token
        self._stack = ExitStack()
        self._lines: dict[int, socket.socket] = {}
        self._event = ""
        self._said = b""
        self._incarnation = 1
        self._buffer = bytearray(BUFFER_BYTES)
        self._poll = self._stack.enter_context(select.epoll())
        self._operator = self._stack.enter_context(connected(control))
        self._poll.register(self._operator.fileno(), select.EPOLLIN | select.EPOLLET)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def join(self, sources: Sequence[str], count: int) -> None:
        """As many more, from these addresses in turn."""
        for number in range(count):
            line = self._stack.enter_context(connected(self._address, sources[number % len(sources)]))
            self._lines[line.fileno()] = line
            self._poll.register(line.fileno(), select.EPOLLIN | select.EPOLLET)

    def park(self, operator: Operator) -> None:
        """All ask what comes after the number they know, and all are held."""
        head = f"GET {PATH} HTTP/1.1\r\nHost: a\r\nMetadata: true\r\n"
        head += f"If-None-Match: {self._incarnation}\r\nPrefer: wait={WAIT_S}\r\n\r\n"
        question = head.encode()
        for line in self._lines.values():
            line.sendall(question)
        operator.wait_until_held(len(self._lines))

    def change(self, scope: str) -> tuple[float, list[float]]:
        """An event appears, or the one there goes; when the operator was answered, and when each had heard."""
        path = f"/v1/events/{self._event}/cancel" if self._event else f"/v1/scopes/{scope}/vms/{RESTARTED}/restart"
        began_s = stopwatch_s()
        self._operator.sendall(self._command(path))
        self._incarnation += 1
        answered_s, heard_s = self._heard()
        return answered_s - began_s, [one - began_s for one in heard_s]

    def _command(self, path: str) -> bytes:
        head = f"POST {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {self._token}\r\n"
        return f"{head}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}".encode()

    def _heard(self) -> tuple[float, list[float]]:
        answered_s, heard_s = 0.0, []
        model = b""
        waiting = len(self._lines) + 1
        while waiting:
            ready = self._poll.poll(SILENCE_S, BATCH)
            now_s = stopwatch_s()
            if not ready:
                raise LoadFailed(f"{waiting} heard nothing of a change")
            waiting -= len(ready)
            for number, _ in ready:
                if number != self._operator.fileno():
                    heard_s.append(now_s)
                    model = self._compared(self._lines[number], model)
                elif self._is_answered():
                    answered_s = now_s
                else:
                    waiting += 1
        return answered_s, heard_s

    def _compared(self, line: socket.socket, model: bytes) -> bytes:
        size = line.recv_into(self._buffer)
        if size == len(model) and self._buffer.startswith(model):
            return model
        other = bytes(self._buffer[:size])
        self._look_at(other)
        return other

    def _look_at(self, answer: bytes) -> None:
        is_right = answer.startswith(b"HTTP/1.1 200") and answer.endswith(b"]}")
        tag = f"etag: {self._incarnation}\r".encode()
        if not is_right or f"preference-applied: wait={WAIT_S}".encode() not in answer or tag not in answer:
            raise LoadFailed(f"a wrong answer: {answer!r}")

    def _is_answered(self) -> bool:
        """The operator's answer may come in parts."""
        size = self._operator.recv_into(self._buffer)
        self._said += self._buffer[:size]
        if not size or not is_whole(self._said):
            return False
        answer, self._said = parsed(self._said), b""
        if answer.status >= 300:
            raise LoadFailed(f"the operator was refused: {answer}")
        self._event = "" if self._event else json.loads(answer.body)["id"]
        return True
