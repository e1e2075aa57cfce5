"""Clients that wait: sockets with a question on them that is held, and what the server says of how many there are."""

import re
import socket
from contextlib import contextmanager

from lab import NEWEST, PATH

ATTEMPTS = 2000


def question(known, wait="wait=60", version=NEWEST, extra=b""):
    prefer = b"" if wait is None else f"Prefer: {wait}\r\n".encode()
    tag = b"" if known is None else f"If-None-Match: {known}\r\n".encode()
    head = f"GET {PATH}?api-version={version} HTTP/1.1\r\nHost: a\r\nMetadata: true\r\n".encode()
    return head + tag + prefer + extra + b"\r\n"


class Line:
    """One connection of a VM, answers read one at a time."""

    def __init__(self, lab, source="127.0.0.1", address=None, opened=None):
        where = (address or lab.metadata, 20, (source, 0))
        self.socket = opened or socket.create_connection(*where)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # what is sent next is there at once
        self._kept = b""

    def ask(self, known, wait="wait=60", **more):
        self.socket.sendall(question(known, wait, **more))

    def answer(self):
        """Status, headers, body of the next whole answer."""
        while b"\r\n\r\n" not in self._kept:
            self._more()
        head, _, rest = self._kept.partition(b"\r\n\r\n")
        status, *lines = head.decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines)
        length = int(headers.get("content-length", 0))
        while len(rest) < length:
            self._more()
            rest = self._kept.partition(b"\r\n\r\n")[2]
        self._kept = rest[length:]
        return int(status.split()[1]), headers, rest[:length]

    def is_ended(self):
        return self.socket.recv(65536) == b""

    def _more(self):
        part = self.socket.recv(65536)
        assert part, f"the connection ended after {self._kept!r}"
        self._kept += part


@contextmanager
def line_of(lab, source="127.0.0.1", address=None, opened=None):
    line = Line(lab, source, address, opened)
    try:
        yield line
    finally:
        line.socket.close()


def metric(lab, name, labels=""):
    page = lab.control("GET", "/metrics").body.decode()
    return float(re.search(rf"^{name}{re.escape(labels)} (\S+)$", page, re.MULTILINE)[1])


def held(lab):
    return metric(lab, "notbefore_metadata_long_polls")


def ended(lab, end):
    return metric(lab, "notbefore_metadata_long_polls_ended_total", f'{{end="{end}"}}')


def until(holds):
    """The server sees what a client does a moment later; it is asked until it has."""
    assert any(holds() for _ in range(ATTEMPTS))
