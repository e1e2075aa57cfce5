"""Whether anybody may have written to a database since one last looked: by its log's size and times, for a microsecond.

Rule 1: asking the database itself is a hop to its thread and back; twenty a second were most of an idle server's work.
A log that is as it was needs no question.
Rule 2: a file's time has a grain, so a log may change and look the same: only one that looked the same at two looks,
with a question after the second, is believed. Every so often the question is asked all the same.
Rule 3: the file is never opened: closing it would drop the locks that SQLite holds on it in this process.
"""

from pathlib import Path
from typing import Final

ASKED_ANYWAY_EVERY: Final = 20

Mark = tuple[int, int, int]


class LogWatch:
    def __init__(self, database: Path) -> None:
        self._log = database.with_name(f"{database.name}-wal")
        self._mark: Mark | None = None
        self._believed = False
        self._passed_over = 0

    def may_have_changed(self) -> bool:
        """Looked at in even steps, longer than any file's grain of time; whoever hears yes asks the database."""
        mark = self._looked()
        same = mark is not None and mark == self._mark
        if same and self._believed and self._passed_over < ASKED_ANYWAY_EVERY:
            self._passed_over += 1
            return False
        self._mark, self._believed, self._passed_over = mark, same, 0
        return True

    def _looked(self) -> Mark | None:
        try:
            found = self._log.stat()
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns
