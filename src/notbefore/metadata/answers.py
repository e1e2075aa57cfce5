"""What goes back to a VM: a status, headers, a body. Every error is one line of JSON a person can act on.

Rule 1: an answer knows its own bytes, so that one made once can be sent a million times.
"""

import json
from dataclasses import dataclass, field
from functools import lru_cache
from http import HTTPStatus

JSON_TYPE = (b"content-type", b"application/json; charset=utf-8")
CLOSE = b"connection: close\r\n"
NOT_MODIFIED = 304
STATUSES = frozenset(map(int, HTTPStatus))
NOTHING_SENT = (None, b"")

Headers = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    status: int
    headers: Headers
    body: bytes
    status_line: bytes = field(init=False, compare=False, repr=False)
    header_lines: bytes = field(init=False, compare=False, repr=False)
    kept: tuple[bytes | None, bytes] = field(init=False, compare=False, repr=False)
    """The bytes that were sent last and left the connection open, behind the default lines they were made with."""
    closed: tuple[bytes | None, bytes] = field(init=False, compare=False, repr=False)
    """Those that ended it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "status_line", status_line(self.status))
        object.__setattr__(self, "header_lines", lines_of(self.sent_headers()))
        object.__setattr__(self, "kept", NOTHING_SENT)
        object.__setattr__(self, "closed", NOTHING_SENT)

    def sent_headers(self) -> Headers:
        """A 304 has no body of its own, and so no length."""
        if self.status == NOT_MODIFIED:
            return self.headers
        return (*self.headers, (b"content-length", str(len(self.body)).encode()))

    def bytes_with(self, default_lines: bytes, *, close: bool) -> bytes:
        """The whole answer, as uvicorn would write it: its own headers first, `connection` last. Kept for the next."""
        lines, whole = self.closed if close else self.kept
        if lines is not default_lines:
            end = CLOSE + b"\r\n" if close else b"\r\n"
            whole = b"".join((self.status_line, default_lines, self.header_lines, end, self.body))
            object.__setattr__(self, "closed" if close else "kept", (default_lines, whole))
        return whole


@lru_cache(maxsize=len(STATUSES))
def status_line(status: int) -> bytes:
    phrase = HTTPStatus(status).phrase if status in STATUSES else ""
    return f"HTTP/1.1 {status} {phrase}\r\n".encode()


def lines_of(headers: Headers) -> bytes:
    return b"".join(name + b": " + value + b"\r\n" for name, value in headers)


def error(status: int, sentence: str, *headers: tuple[bytes, bytes]) -> HttpAnswer:
    body = json.dumps({"error": sentence}, separators=(",", ":")).encode()
    return HttpAnswer(status, (JSON_TYPE, *headers), body)
