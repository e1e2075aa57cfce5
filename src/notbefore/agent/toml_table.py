"""A table of agent.toml, read key by key.

Rule 1: whatever cannot be taken is a Wrong with the path of its key; reading.py says file and line.
Rule 2: a key that nobody asked for is refused by name.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

from notbefore.toml_lines import KeyPath

UNITS_S: Mapping[str, float] = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
DAY_S = 24 * 3600.0

Word = TypeVar("Word", bound=StrEnum)


class Wrong(Exception):
    def __init__(self, path: KeyPath, sentence: str) -> None:
        super().__init__(sentence)
        self.path = path
        self.sentence = sentence


class TomlTable:
    def __init__(self, given: Any, path: KeyPath) -> None:
        if not isinstance(given, dict):
            raise Wrong(path, "is a table")
        self.given: Mapping[str, Any] = given
        self.path = path
        self._asked: set[str] = set()

    def refuse_the_rest(self) -> None:
        for key in self.given:
            if key not in self._asked:
                known = ", ".join(sorted(self._asked))
                raise self.wrong(key, f"there is no such key; there are {known}")

    def wrong(self, key: str, sentence: str) -> Wrong:
        return Wrong((*self.path, key) if key else self.path, sentence)

    def raw(self, key: str) -> Any:
        self._asked.add(key)
        return self.given.get(key)

    def text(self, key: str, default: str = "") -> str:
        value = self.raw(key)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.wrong(key, "is a text")
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        value = self.raw(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.wrong(key, "is true or false")
        return value

    def words(self, key: str) -> tuple[str, ...]:
        """One word or a list of them, in lower case."""
        value = self.raw(key)
        listed = [] if value is None else [value] if isinstance(value, str) else value
        if not isinstance(listed, list) or not all(isinstance(one, str) and one for one in listed):
            raise self.wrong(key, "is a word or a list of words")
        return tuple(one.lower() for one in listed)

    def one_of(self, key: str, kind: type[Word], default: Word) -> Word:
        value = self.raw(key)
        if value is None:
            return default
        if not isinstance(value, str) or value not in set(kind):
            raise self.wrong(key, f"is one of {', '.join(kind)}, not {value!r}")
        return kind(value)

    def integer(self, key: str) -> int | None:
        value = self.raw(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.wrong(key, "is a whole number")
        return value

    def number(self, key: str, default: float, low: float, high: float) -> float:
        value = self.raw(key)
        if value is None:
            return default
        if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
            raise self.wrong(key, f"is a number from {low:g} to {high:g}")
        return float(value)

    def share(self, key: str, default: float) -> float:
        share = self.number(key, default, 0, 1)
        if share == 0:
            raise self.wrong(key, "is more than 0 and at most 1")
        return share

    def seconds(self, key: str, default_s: float) -> float:
        """`"90s"`, `"5m"`, or a number of seconds; more than nothing, at most a day."""
        value = self.raw(key)
        if value is None:
            return default_s
        seconds = seconds_in(value)
        if seconds is None or not 0 < seconds <= DAY_S:
            raise self.wrong(key, f'is a time such as "90s" or "5m", up to a day; not {value!r}')
        return seconds

    def tables(self, key: str) -> list["TomlTable"]:
        listed = self.raw(key)
        if listed is None:
            return []
        if not isinstance(listed, list):
            raise self.wrong(key, f"is a list of tables: [[{key}]]")
        return [TomlTable(one, (*self.path, key, n)) for n, one in enumerate(listed)]

    def table(self, key: str) -> "TomlTable":
        return TomlTable(self.raw(key) if self.raw(key) is not None else {}, (*self.path, key))

    def checked(self, key: str, check: Callable[[str], str]) -> str:
        """A text that `check` finds nothing wrong with; it answers with a sentence, or with nothing."""
        value = self.text(key)
        if value and (sentence := check(value)):
            raise self.wrong(key, sentence)
        return value


def seconds_in(value: Any) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    text = value.strip() if isinstance(value, str) else ""
    number = text.rstrip("hms ")
    try:
        return float(number) * UNITS_S[text[len(number) :].strip() or "s"]
    except (ValueError, KeyError):
        return None
