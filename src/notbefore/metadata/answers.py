"""What goes back to a VM: a status, headers, a body. Every error is one line of JSON a person can act on."""

import json
from dataclasses import dataclass

JSON_TYPE = (b"content-type", b"application/json; charset=utf-8")

Headers = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    status: int
    headers: Headers
    body: bytes


def error(status: int, sentence: str, *headers: tuple[bytes, bytes]) -> HttpAnswer:
    body = json.dumps({"error": sentence}, separators=(",", ":")).encode()
    return HttpAnswer(status, (JSON_TYPE, *headers), body)
