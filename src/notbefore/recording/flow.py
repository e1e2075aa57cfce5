"""A recorded flow as data and as lines: a header, what was shown each time that changed, and perhaps the end.

Rule 1: a line says enough to show the same again: the body byte for byte, and of the headers only those that mean
something to a client of this API. Nothing of the request is kept.
Rule 2: a line has at most LINE_MAX_BYTES. What is no document is kept shortened; so is one that is longer than a line.
Rule 3: no I/O here.
"""

import json
from base64 import b64encode
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from notbefore.core.times import SECOND_MS

FORMAT = 1
LINE_MAX_BYTES = 1024 * 1024
LINES_MAX = 1_000_000
KEPT_OF_GARBAGE_BYTES = 4 * 1024
HEADER_MAX_CHARS = 256
VM_MAX_CHARS = 128
STATUSES = range(200, 600)
OK = 200

TIMEOUT, UNREACHABLE, BROKEN = "timeout", "unreachable", "broken"
ERRORS = (TIMEOUT, UNREACHABLE, BROKEN)


@dataclass(frozen=True, slots=True)
class Header:
    """When it began, and whose flow it is. `vm` is empty where the endpoint did not say."""

    began_ms: int
    path: str
    api_version: str
    vm: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """What the endpoint answered; or, with an `error`, that it did not."""

    status: int = 0
    error: str = ""
    body: bytes = b""
    etag: str = ""
    content_type: str = ""
    retry_after: str = ""
    is_shortened: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """From `t_s` on, in seconds since the flow began, this was shown."""

    t_s: float
    shown: Shown


@dataclass(frozen=True, slots=True)
class End:
    """Until then nothing else was shown."""

    t_s: float


Line = Header | Change | End


def is_plain(value: str) -> bool:
    """Whether it can be said in a header: a folded one, say, could not."""
    return len(value) <= HEADER_MAX_CHARS and value.isascii() and value.isprintable()


def is_name(value: str) -> bool:
    return len(value) <= VM_MAX_CHARS and value.isprintable()


def as_line(line: Line) -> bytes:
    match line:
        case Header():
            began = datetime.fromtimestamp(line.began_ms / SECOND_MS, UTC).isoformat(timespec="milliseconds")
            head = {"flow": FORMAT, "began": began.replace("+00:00", "Z"), "path": line.path}
            return _json_line({**head, "api_version": line.api_version, **_said(vm=line.vm)})
        case Change():
            return _change_line(line)
        case End():
            return _json_line({"t": _seconds(line.t_s), "end": True})


def shortened(shown: Shown) -> Shown:
    if len(shown.body) <= KEPT_OF_GARBAGE_BYTES:
        return shown
    return replace(shown, body=shown.body[:KEPT_OF_GARBAGE_BYTES], is_shortened=True)


def _change_line(change: Change) -> bytes:
    line = _json_line({"t": _seconds(change.t_s), **_shown_fields(change.shown)})
    if len(line) > LINE_MAX_BYTES:
        return _change_line(Change(change.t_s, shortened(change.shown)))
    return line


def _shown_fields(shown: Shown) -> dict[str, Any]:
    if shown.error:
        return {"error": shown.error}
    headers = _said(etag=shown.etag, content_type=shown.content_type, retry_after=shown.retry_after)
    fields = {"status": shown.status, **headers, **_body_field(shown.body)}
    return {**fields, "shortened": True} if shown.is_shortened else fields


def _body_field(body: bytes) -> dict[str, str]:
    """As text, which a person can read; as base64 where it is no text."""
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        return {"body_base64": b64encode(body).decode()}


def _seconds(t_s: float) -> float:
    return float(round(t_s, 3))


def _said(**fields: str) -> dict[str, str]:
    return {name: value for name, value in fields.items() if value}


def _json_line(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
