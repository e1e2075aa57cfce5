"""Log lines: text for people or JSON for programs, one line each, on stderr.

Rule 1: a line is a sentence with its ids beside it, given as `extra`: text appends them as `  key=value`, JSON
makes them keys of the object.
Rule 2: every logger of the process comes through here, uvicorn's too; the loud ones only from `warning` on.
Rule 3: a log that cannot be written (a full disk, a closed pipe) disturbs nobody.
"""

import json
import logging
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

LOUD: Final = ("uvicorn", "asyncio")
# What every record has, and what uvicorn adds for terminals; anything else was given as `extra`.
NOT_FIELDS: Final = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime", "taskName", "color_message"})


def configure(form: str, level: str) -> None:
    """Log so from now on; may be called again to change it."""
    root = logging.getLogger()
    ours = next((one for one in root.handlers if isinstance(one, QuietHandler)), None)
    if ours is None:
        ours = QuietHandler()
        root.addHandler(ours)
    # What no line shows is not looked up for each.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    ours.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    number = logging.getLevelNamesMapping()[level.upper()]
    root.setLevel(number)
    for name in LOUD:
        logging.getLogger(name).setLevel(max(number, logging.WARNING))


class QuietHandler(logging.StreamHandler[Any]):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  logging's name for it
        """Not even a complaint: there is nowhere to write it (rule 3)."""


class TextFormatter(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s")
        self._second = -1
        self._second_text = ""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802  logging's name
        """A second is written out once: under load thousands of lines share it."""
        second = int(record.created)
        if second != self._second:
            self._second, self._second_text = second, super().formatTime(record, datefmt or "%Y-%m-%d %H:%M:%S")
        return f"{self._second_text},{int(record.msecs):03d}"

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  logging's name for it
        """The line before any traceback: the sentence, kept to one line, and the fields."""
        line = f"{record.asctime} {record.levelname:<7} {on_one_line(record.message)}"
        fields = " ".join(f"{key}={text_of(value)}" for key, value in fields_of(record).items())
        return f"{line}  {fields}" if fields else line


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {
            "time": at.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = "".join(traceback.format_exception(*record.exc_info)).rstrip()
        return json.dumps({**fields_of(record), **line}, ensure_ascii=False, default=str)


def fields_of(record: logging.LogRecord) -> Mapping[str, object]:
    given = vars(record)
    return {name: given[name] for name in given if name not in NOT_FIELDS}


def text_of(value: object) -> str:
    """Quoted when it would not read as one word."""
    text = str(value)
    plain = text.isprintable() and text and " " not in text and '"' not in text and "=" not in text
    return text if plain else json.dumps(text, ensure_ascii=False)


def on_one_line(text: str) -> str:
    return text if text.isprintable() else "".join(one if one.isprintable() else " " for one in text)
