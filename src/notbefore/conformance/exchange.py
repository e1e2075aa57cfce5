"""One request and its answer, byte for byte as they are wanted: the checks send what a proper client would not.

Rule 1: a connection for each request, unless a check is about connections. One that is closed early is an answer too.
Rule 2: 429 is no verdict: it is waited for as told, within limits.
"""

import http.client
import json
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Event
from typing import Any
from urllib.parse import urlsplit

from notbefore.core.errors import Refusal

PATH = "/metadata/scheduledevents"
TIMEOUT_S = 15.0
TRIES_MAX = 12
WAIT_MAX_S = 10.0
BODY_MAX = 4 * 1024 * 1024
TOO_MANY = 429

Headers = Sequence[tuple[str, str]]
METADATA: Headers = (("Metadata", "true"),)


class Unreachable(Refusal):
    """Nobody there, or nobody who speaks HTTP."""

    code = "unreachable"


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        found = [value for header, value in self.headers if header.lower() == name.lower()]
        return ", ".join(found) if found else None

    def json(self) -> Any:
        """The body as JSON; None when it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    def __str__(self) -> str:
        shown = self.body[:120].decode(errors="replace")
        return f"{self.status} {shown}".rstrip()


def request_bytes(method: str, target: str, host: str, headers: Headers, body: bytes | None) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", *(f"{name}: {value}" for name, value in headers)]
    if body is not None and not any(name.lower() == "content-length" for name, _ in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join((*lines, "", "")).encode("latin-1") + (body or b"")


class Endpoint:
    def __init__(self, url: str) -> None:
        parts = urlsplit(url if "//" in url else f"http://{url}")
        try:
            port = parts.port
        except ValueError:
            port = 0
        if parts.scheme != "http" or not parts.hostname or port == 0:
            raise Unreachable(f"{url!r} is no endpoint.", "Write http://HOST:PORT, or http://169.254.169.254.")
        self.host = parts.hostname
        self.port = port or 80
        self.path = parts.path.rstrip("/") or PATH
        self._pause = Event()

    def send(self, method: str, target: str, headers: Headers = METADATA, body: bytes | None = None) -> Answer:
        sent = request_bytes(method, target, self.authority, headers, body)
        for _ in range(TRIES_MAX):
            answer = self.exchange(sent, method)
            if answer.status != TOO_MANY:
                break
            self._pause.wait(seconds_in(answer.header("Retry-After")))
        return answer

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == http.client.HTTP_PORT else f"{host}:{self.port}"

    def exchange(self, sent: bytes, method: str = "GET") -> Answer:
        with self.connected() as line:
            # Refused before all of it was read: perhaps the answer is there.
            with suppress(OSError):
                line.sendall(sent)
            return received(line, method)

    def connected(self) -> socket.socket:
        try:
            return socket.create_connection((self.host, self.port), TIMEOUT_S)
        except OSError as error:
            raise Unreachable(f"Nobody answers at {self.authority}: {error}.", "Is the endpoint there?") from None


def received(line: socket.socket, method: str) -> Answer:
    """What the endpoint says; status 0 when it is no HTTP, or nothing."""
    response = http.client.HTTPResponse(line, method=method)
    try:
        response.begin()
        body = response.read(BODY_MAX)
    except (http.client.HTTPException, OSError, ValueError) as error:
        return Answer(0, (), f"no HTTP answer: {type(error).__name__}".encode())
    finally:
        response.close()
    return Answer(response.status, tuple(response.getheaders()), body)


def seconds_in(text: str | None) -> float:
    return min(float(text), WAIT_MAX_S) if text and text.isdecimal() else 1.0
