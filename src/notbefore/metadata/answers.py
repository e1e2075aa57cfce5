"""What goes back to a VM: a status, headers, a body. Every error is one line of JSON a person can act on.

Rule 1: an answer knows its own bytes, so that one made once can be sent a million times.
"""

import json
from dataclasses import dataclass, field
from http import HTTPStatus

JSON_TYPE = (b"content-type", b"application/json; charset=utf-8")
CLOSE = b"connection: close\r\n"
NOT_MODIFIED = 304
STATUSES = frozenset(map(int, HTTPStatus))

Headers = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    status: int
    headers: Headers
    body: bytes
    status_line: bytes = field(init=False, compare=False, repr=False)
    header_lines: bytes = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        phrase = HTTPStatus(self.status).phrase if self.status in STATUSES else ""
        object.__setattr__(self, "status_line", f"HTTP/1.1 {self.status} {phrase}\r\n".encode())
        object.__setattr__(self, "header_lines", lines_of(self.sent_headers()))

    def sent_headers(self) -> Headers:
        """A 304 has no body of its own, and so no length."""
        if self.status == NOT_MODIFIED:
            return self.headers
        return (*self.headers, (b"content-length", str(len(self.body)).encode()))

    def bytes_with(self, default_lines: bytes, *, close: bool) -> bytes:
        """The whole answer, as uvicorn would write it: its own headers first, `connection` last."""
        end = CLOSE + b"\r\n" if close else b"\r\n"
        return b"".join((self.status_line, default_lines, self.header_lines, end, self.body))


def lines_of(headers: Headers) -> bytes:
    return b"".join(name + b": " + value + b"\r\n" for name, value in headers)


def error(status: int, sentence: str, *headers: tuple[bytes, bytes]) -> HttpAnswer:
    body = json.dumps({"error": sentence}, separators=(",", ":")).encode()
    return HttpAnswer(status, (JSON_TYPE, *headers), body)
