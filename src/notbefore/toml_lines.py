"""On which line of a TOML file a key stands; tomllib does not tell.

Rule 1: the text is TOML that tomllib has read, so this only has to find its way, not to judge.
Rule 2: where it loses its way it stops, and the caller names file and key alone.
A path is the keys from the top, with numbers for the items of lists: ("metadata", "listeners", 0, "vm").
"""

import re
from bisect import bisect_left
from collections.abc import Mapping
from contextlib import suppress

KeyPath = tuple[str | int, ...]

_BLANK = re.compile(r"(?:\s|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_STRING = re.compile(
    r'"""(?:\\.|(?!""").)*"{3,5}' + r"|'''(?:(?!''').)*'{3,5}" + r'|"(?:\\.|[^"\\\n])*"' + r"|'[^'\n]*'", re.DOTALL
)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}\n#]+")


def lines_of_keys(text: str) -> Mapping[KeyPath, int]:
    """Every key and list item with the line it begins on, from 1."""
    walk = _Walk(text)
    with suppress(_Lost):
        walk.document()
    return walk.lines


def line_of(lines: Mapping[KeyPath, int], path: KeyPath) -> int | None:
    """The line of the key, or of the nearest key around it."""
    while path:
        if path in lines:
            return lines[path]
        path = path[:-1]
    return None


class _Lost(Exception):
    """Not the TOML that was expected."""


class _Walk:
    def __init__(self, text: str) -> None:
        self.lines: dict[KeyPath, int] = {}
        self._text = text
        self._at = 0
        self._items: dict[KeyPath, int] = {}
        self._ends = [at for at, character in enumerate(text) if character == "\n"]

    def document(self) -> None:
        table: KeyPath = ()
        while not self._is_at_end():
            if self._take("[["):
                table = self._item_of(self._header("]]"))
            elif self._take("["):
                table = self._inside(self._header("]"))
            else:
                self._assignment(table)

    def _is_at_end(self) -> bool:
        self._skip(_BLANK)
        return self._at >= len(self._text)

    def _header(self, end: str) -> KeyPath:
        line = self._line()
        path = self._key()
        self._expect(end)
        self._note(path, line)
        return path

    def _item_of(self, path: KeyPath) -> KeyPath:
        """`[[a.b]]` begins the next item of the list a.b, which may itself be in the last item of another."""
        line = self.lines[path]
        outer = self._inside(path[:-1])
        path = (*outer, path[-1])
        self._items[path] = self._items.get(path, -1) + 1
        item = (*path, self._items[path])
        self._note(path, line)
        self.lines[item] = self._line()
        return item

    def _inside(self, path: KeyPath) -> KeyPath:
        """The path with the current item put in wherever it goes through a list of tables."""
        found: KeyPath = ()
        for key in path:
            found = (*found, key)
            if found in self._items:
                found = (*found, self._items[found])
        for length in range(1, len(found) + 1):
            self.lines.setdefault(found[:length], self._line())
        return found

    def _assignment(self, table: KeyPath) -> None:
        line = self._line()
        path = (*table, *self._key())
        self._expect("=")
        self._note(path, line)
        self._value(path)

    def _value(self, path: KeyPath) -> None:
        self._skip(_SPACE)
        if self._take("["):
            self._list(path)
        elif self._take("{"):
            self._inline_table(path)
        elif not self._skip(_STRING) and not self._skip(_SCALAR):
            raise _Lost

    def _list(self, path: KeyPath) -> None:
        n = 0
        self._skip(_BLANK)
        while not self._take("]"):
            self.lines[*path, n] = self._line()
            self._value((*path, n))
            self._skip(_BLANK)
            self._take(",")
            self._skip(_BLANK)
            n += 1

    def _inline_table(self, path: KeyPath) -> None:
        self._skip(_BLANK)
        while not self._take("}"):
            self._assignment(path)
            self._skip(_BLANK)
            self._take(",")
            self._skip(_BLANK)

    def _key(self) -> KeyPath:
        """Bare, quoted, or several of them with dots between."""
        path: KeyPath = ()
        while True:
            self._skip(_SPACE)
            quoted = self._skip(_STRING)
            path = (*path, quoted[1:-1] if quoted else self._skip(_BARE_KEY))
            self._skip(_SPACE)
            if not path[-1]:
                raise _Lost
            if not self._take("."):
                return path

    def _note(self, path: KeyPath, line: int) -> None:
        for length in range(1, len(path) + 1):
            self.lines.setdefault(path[:length], line)

    def _line(self) -> int:
        return bisect_left(self._ends, self._at) + 1

    def _skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        if not match:
            return ""
        self._at = match.end()
        return match[0]

    def _take(self, mark: str) -> bool:
        taken = self._text.startswith(mark, self._at)
        self._at += len(mark) if taken else 0
        return taken

    def _expect(self, mark: str) -> None:
        if not self._take(mark):
            raise _Lost
