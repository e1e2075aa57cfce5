"""What came back on one connection, read by llhttp as any client would: the statuses, the bodies, the closing word.

Rule 1: bytes that are no HTTP answer raise; so does a rest that is no whole answer, unless it is the last.
"""

import json
import socket
import threading
from dataclasses import dataclass, field

import httptools

RECV_BYTES = 65536
PATIENCE_S = 15


@dataclass
class Answer:
    status: int
    headers: list = field(default_factory=list)
    body: bytes = b""
    whole: bool = False

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def says_close(self):
        return (b"connection", b"close") in self.headers


class Answers:
    """Feed it bytes; it holds the final answers in order (a `100 Continue` is no answer)."""

    def __init__(self):
        self._parser = httptools.HttpResponseParser(self)
        self._headers = []
        self._all = []

    @property
    def final(self):
        return [one for one in self._all if one.status != 100]

    @property
    def statuses(self):
        return [one.status for one in self.final]

    @property
    def whole(self):
        return all(one.whole for one in self._all)

    def feed(self, received):
        self._parser.feed_data(received)

    def on_message_begin(self):
        self._headers = []

    def on_header(self, name, value):
        self._headers.append((name.lower(), value))

    def on_headers_complete(self):
        self._all.append(Answer(self._parser.get_status_code(), self._headers))

    def on_body(self, body):
        self._all[-1].body += body

    def on_message_complete(self):
        self._all[-1].whole = True


def open_line(address, source="127.0.0.1"):
    line = socket.create_connection(address, timeout=PATIENCE_S, source_address=(source, 0))
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return line


def read_to_the_end(line, answers):
    """Until the server closes; a connection that is reset has ended too."""
    try:
        while received := line.recv(RECV_BYTES):
            answers.feed(received)
    except ConnectionError:
        pass
    return answers


def read_answers(line, answers, count):
    """Until there are so many whole answers; fewer when the server closes before."""
    while len(answers.final) < count or not answers.whole:
        received = line.recv(RECV_BYTES)
        if not received:
            break
        answers.feed(received)
    return answers


def eventually(holds, within_s):
    """Whether it holds before long; looked at every 20 ms."""
    quiet = threading.Event()
    return any(holds() or quiet.wait(0.02) for _ in range(int(within_s / 0.02)))


def told(figures):
    """For people: shown by `pytest -s`, and beside a failure."""
    print(figures)  # noqa: T201  figures are measured to be read, not asserted
