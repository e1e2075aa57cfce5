"""Log lines: text for people or JSON for programs, one line each, on stderr.

Rule 1: a line is a sentence with its ids beside it, given as `extra`; text appends them as `  key=value`.
Rule 2: a log that cannot be written disturbs nobody.
The server has its own (notbefore.logs), which does not ship into a VM.
"""

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

NOT_FIELDS: Final = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"})
LINE_MAX: Final = 8192


def configure(form: str, level: str) -> None:
    handler = QuietHandler()
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())


class QuietHandler(logging.StreamHandler[Any]):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  logging's name for it
        """Not even a complaint: there is nowhere to write it."""


class TextFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = " ".join(f"{name}={_word(value)}" for name, value in _fields(record).items())
        line = f"{_at(record)} {record.levelname:<7} {_one_line(record.getMessage())}"
        return f"{line}  {fields}"[:LINE_MAX] if fields else line[:LINE_MAX]


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {"at": _at(record), "level": record.levelname.lower(), "message": record.getMessage()[:LINE_MAX]}
        return json.dumps({**line, **_fields(record)}, ensure_ascii=False, default=str)


def _at(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _fields(record: logging.LogRecord) -> Mapping[str, object]:
    return {name: value for name, value in vars(record).items() if name not in NOT_FIELDS}


def _word(value: object) -> str:
    """Quoted when it would not read as one word."""
    text = str(value)
    is_plain = text.isprintable() and text and not any(mark in text for mark in ' "=')
    return text if is_plain else json.dumps(text, ensure_ascii=False)


def _one_line(text: str) -> str:
    return text if text.isprintable() else "".join(one if one.isprintable() else " " for one in text)
