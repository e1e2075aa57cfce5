"""A recording read from its file: line by line, never whole, and refused by file, line and field when it is broken.

Rule 1: it is read once from end to end before anything is served (`looked_through`), and again while it is replayed.
Rule 2: what a field may hold is said in FIELDS; a field that is not there is refused by name, as a slip would be.
Rule 3: times never go back, and nothing stands behind the end.
"""

import json
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from notbefore.core.errors import Invalid
from notbefore.core.times import LATEST_MS
from notbefore.recording.flow import (
    ERRORS,
    FORMAT,
    LINE_MAX_BYTES,
    LINES_MAX,
    STATUSES,
    VM_MAX_CHARS,
    Change,
    End,
    Header,
    Line,
    Shown,
    is_name,
    is_plain,
)
from notbefore.wire.api_versions import API_VERSIONS
from notbefore.wire.times import parse_iso

T_MAX_S = 100 * 366 * 86_400
HINT = "Lines are as `notbefore record` writes them. A last line that is cut short can be deleted."


class Wrong(Exception):
    """What is wrong with a line, without saying which line it is."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a recording holds, seen from end to end."""

    header: Header
    changes: int
    lasts_s: float


def looked_through(file: Path) -> Look:
    lines = flow_lines(file)
    header = next(lines)
    assert isinstance(header, Header)
    changes, lasts_s = 0, 0.0
    for line in lines:
        assert not isinstance(line, Header)
        changes += isinstance(line, Change)
        lasts_s = line.t_s
    if not changes:
        raise Invalid(f"{file} has a header and nothing else: there is nothing to replay.", HINT, {"file": str(file)})
    return Look(header, changes, lasts_s)


def flow_lines(file: Path) -> Iterator[Line]:
    """The header, then the rest in its order."""
    number = 0
    try:
        with _opened(file) as opened:
            before: Line | None = None
            for text in iter(lambda: opened.readline(LINE_MAX_BYTES + 1), b""):
                number += 1
                before = _line_in(text, number, before)
                yield before
    except OSError as error:
        raise Invalid(f"Cannot read {file}: {error.strerror}.", facts={"file": str(file)}) from None
    except Wrong as wrong:
        where = {"file": str(file), "line": number}
        raise Invalid(f"{file}, line {number}: {wrong}.", HINT, where) from None
    if number == 0:
        raise Invalid(f"{file} is empty: a recording begins with a header.", HINT, {"file": str(file)})


def _opened(file: Path) -> IO[bytes]:
    if file.exists() and not file.is_file():
        raise Invalid(f"{file} is no file.", "A recording is read twice, so it has to be one.", {"file": str(file)})
    return file.open("rb")


def _line_in(text: bytes, number: int, before: Line | None) -> Line:
    if len(text) > LINE_MAX_BYTES:
        raise Wrong(f"it is longer than {LINE_MAX_BYTES} bytes")
    if number > LINES_MAX:
        raise Wrong(f"a recording has at most {LINES_MAX} lines")
    if isinstance(before, End):
        raise Wrong("it stands behind the end")
    fields = _fields_in(text)
    if before is None:
        return _header_in(fields)
    line = _end_in(fields) if "end" in fields else _change_in(fields)
    earliest_s = 0.0 if isinstance(before, Header) else before.t_s
    if line.t_s < earliest_s:
        raise Wrong(f"t goes back, from {earliest_s:g} to {line.t_s:g}")
    return line


def _fields_in(text: bytes) -> Mapping[str, Any]:
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        raise Wrong("it is no JSON") from None
    if not isinstance(fields, dict):
        raise Wrong("it is no JSON object")
    return fields


def _header_in(fields: Mapping[str, Any]) -> Header:
    if "flow" not in fields:
        raise Wrong("flow is missing: this is no header of a recording")
    if fields["flow"] != FORMAT or isinstance(fields["flow"], bool):
        raise Wrong(f"flow is {_shown(fields['flow'])}, and this version reads only format {FORMAT}")
    known = _checked(fields, ("flow", "began", "path", "api_version"), ("vm",))
    return Header(parse_iso(known["began"]), known["path"], known["api_version"], known.get("vm", ""))


def _end_in(fields: Mapping[str, Any]) -> End:
    return End(float(_checked(fields, ("t", "end"))["t"]))


def _change_in(fields: Mapping[str, Any]) -> Change:
    if "error" in fields:
        known = _checked(fields, ("t", "error"))
        return Change(float(known["t"]), Shown(error=known["error"]))
    optional = ("body", "body_base64", "etag", "content_type", "retry_after", "shortened")
    known = _checked(fields, ("t", "status"), optional)
    if ("body" in known) == ("body_base64" in known):
        raise Wrong("body is missing" if "body" not in known else "it has both body and body_base64")
    body = known["body"].encode() if "body" in known else b64decode(known["body_base64"])
    headers = {name: known.get(name, "") for name in ("etag", "content_type", "retry_after")}
    shown = Shown(known["status"], body=body, **headers, is_shortened=known.get("shortened", False))
    return Change(float(known["t"]), shown)


def _checked(fields: Mapping[str, Any], needed: tuple[str, ...], optional: tuple[str, ...] = ()) -> Mapping[str, Any]:
    for name in needed:
        if name not in fields:
            raise Wrong(f"{name} is missing")
    for name, value in fields.items():
        if name not in needed and name not in optional:
            raise Wrong(f"{_shown(name)} is no field of such a line")
        may_be, expected = FIELDS[name]
        if not may_be(value):
            raise Wrong(f"{name} is {_shown(value)}, and has to be {expected}")
    return fields


def _shown(value: object) -> str:
    said = json.dumps(value)
    return said if len(said) <= 80 else f"{said[:80]}..."  # noqa: PLR2004  enough to find it by


def _is_time(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value <= T_MAX_S


def _is_date(value: Any) -> bool:
    try:
        return isinstance(value, str) and 0 <= parse_iso(value) <= LATEST_MS
    except (ValueError, OverflowError):
        return False


def _is_text(value: Any) -> bool:
    """A lone surrogate is no text: it has no bytes."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def _is_base64(value: Any) -> bool:
    try:
        return isinstance(value, str) and b64decode(value, validate=True) is not None
    except ValueError:
        return False


def _is_header(value: Any) -> bool:
    return isinstance(value, str) and is_plain(value)


FIELDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "flow": (lambda value: value == FORMAT, f"{FORMAT}"),
    "began": (_is_date, "a time such as 2026-09-19T18:29:47.250Z"),
    "path": (_is_header, "a path"),
    "api_version": (
        lambda value: isinstance(value, str) and value in API_VERSIONS,
        f"one of {', '.join(API_VERSIONS)}",
    ),
    "vm": (
        lambda value: _is_text(value) and is_name(value),
        f"a name of at most {VM_MAX_CHARS} printable characters",
    ),
    "t": (_is_time, "seconds since the beginning"),
    "status": (lambda value: isinstance(value, int) and value in STATUSES, "a status from 200 to 599"),
    "error": (lambda value: value in ERRORS, f"one of {', '.join(ERRORS)}"),
    "body": (_is_text, "text"),
    "body_base64": (_is_base64, "base64"),
    "etag": (_is_header, "one plain line"),
    "content_type": (_is_header, "one plain line"),
    "retry_after": (_is_header, "one plain line"),
    "shortened": (lambda value: isinstance(value, bool), "true or false"),
    "end": (lambda value: value is True, "true"),
}
