"""A metadata endpoint that misbehaves to order: raw sockets on loopback, one scripted act per question.

Standard library only: it also runs under Pythons that have nothing else.
Rule 1: acts are played in order; the last is played for ever. An answer is over when its connection asks again: who has not
read it, because the machine was slow, gets it once more.
Rule 2: every question is kept, whole, with the number of the connection it came on.
"""

import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

EVENT = "602D9444-D2CD-49C7-8624-8643E7171297"
OTHER = "F020BA2E-3BC0-4C40-A10B-86575A9EABD5"
THIRD = "28512AF7-C957-4500-9BC4-842D6FB531E4"


@dataclass(frozen=True)
class Question:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Act:
    """What is sent for a question. `hangs`: nothing more until the client hangs up. `lasts`: while this is true.

    `repeats`: sent behind it, until the client hangs up.
    """

    sent: bytes = b""
    closes: bool = False
    hangs: bool = False
    lasts: Callable[[], bool] = field(default=lambda: False)
    repeats: bytes = b""


def answer(status: int = 200, body: bytes | str | dict[str, Any] = b"", **headers: str) -> Act:
    raw = json.dumps(body).encode() if isinstance(body, dict) else body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(raw)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return Act("\r\n".join(lines).encode() + b"\r\n\r\n" + raw)


def event(event_id: str = EVENT, status: str = "Scheduled", **changed: Any) -> dict[str, Any]:
    return {
        "EventId": event_id,
        "EventStatus": status,
        "EventType": "Reboot",
        "ResourceType": "VirtualMachine",
        "Resources": ["web-1"],
        "NotBefore": "Mon, 02 Mar 2026 12:15:00 GMT" if status == "Scheduled" else "",
        **changed,
    }


def document(incarnation: Any, *events: dict[str, Any]) -> dict[str, Any]:
    return {"DocumentIncarnation": incarnation, "Events": list(events)}


class OddServer:
    def __init__(self, *acts: Act) -> None:
        self.acts = list(acts)
        self.questions: list[Question] = []
        self._guard = threading.Condition()
        self._played_on = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lines: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for line in self._lines:
            hang_up(line)
        for thread in self._threads:
            thread.join()

    def was_asked(self, times: int) -> None:
        """Wait until it has been."""
        with self._guard:
            assert self._guard.wait_for(lambda: len(self.questions) >= times, 20)

    def _accept(self) -> None:
        while True:
            try:
                line, _ = self._listener.accept()
            except OSError:
                return
            self._lines.append(line)
            thread = threading.Thread(target=self._serve, args=(line, len(self._lines)))
            self._threads.append(thread)
            thread.start()

    def _serve(self, line: socket.socket, number: int) -> None:
        with line, line.makefile("rb") as lines:
            try:
                while (question := read_question(lines, number)) and self._play(line, question):
                    pass
            except OSError:
                return

    def _play(self, line: socket.socket, question: Question) -> bool:
        with self._guard:
            self.questions.append(question)
            self._guard.notify_all()
            act = self._next_act(question.connection)
        line.sendall(act.sent)
        while act.repeats:
            line.sendall(act.repeats)
        if act.hangs:
            line.recv(1)
        return not (act.closes or act.hangs)

    def _next_act(self, connection: int) -> Act:
        if self._played_on == connection:
            self._end_act()
        act, self._played_on = self.acts[0], connection
        if act.closes or act.hangs:
            self._end_act()
        return act

    def _end_act(self) -> None:
        self._played_on = 0
        if len(self.acts) > 1 and not self.acts[0].lasts():
            self.acts.pop(0)


def read_question(lines: Any, connection: int) -> Question | None:
    first = lines.readline().decode()
    if not first:
        return None
    method, target, _ = first.split()
    headers = {}
    while (header := lines.readline().decode().strip()) != "":
        name, _, value = header.partition(":")
        headers[name.lower()] = value.strip()
    return Question(method, target, headers, lines.read(int(headers.get("content-length", 0))), connection)


def hang_up(line: socket.socket) -> None:
    with suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)
