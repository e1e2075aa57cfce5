"""One step's table of agent.toml, read key by key.

Rule 1: a key of the wrong shape is refused by name, with what it should be; so is every key that nobody asked for.
Rule 2: no sentence quotes a value, which may be a secret.
Rule 3: paths are relative to the directory of agent.toml, `~` is the home of whoever runs the agent.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from notbefore.agent.steps.step import WrongSetting

TEXT_MAX = 4096
LIST_MAX = 256


class Table:
    def __init__(self, values: Mapping[str, Any], base: Path) -> None:
        self._values = values
        self._asked: list[str] = []
        self.base = base

    def text(self, key: str, default: str | None = None) -> str:
        """Without a default it must be there, and not be empty."""
        value = self._value(key, default)
        if not isinstance(value, str) or not is_text(value) or (default is None and not value):
            raise WrongSetting(key, "it is a text in one line" if value else "it is missing")
        return value

    def choice(self, key: str, choices: Sequence[str], default: str) -> str:
        value = self._value(key, default)
        if value not in choices:
            raise WrongSetting(key, f"it is one of {', '.join(choices)}")
        return str(value)

    def flag(self, key: str, *, default: bool) -> bool:
        value = self._value(key, default)
        if not isinstance(value, bool):
            raise WrongSetting(key, "it is true or false")
        return value

    def whole(self, key: str, default: int, least: int, most: int) -> int:
        value = self._value(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise WrongSetting(key, f"it is a whole number from {least} to {most}")
        return value

    def words(self, key: str, *, needed: bool = False) -> tuple[str, ...]:
        """A list of texts; empty when it is not there and need not be."""
        value = self._value(key, [])
        if not isinstance(value, list) or len(value) > LIST_MAX or not all(map(is_words, value)):
            raise WrongSetting(key, f"it is a list of texts, at most {LIST_MAX}")
        if (needed or key in self._values) and not value:
            raise WrongSetting(key, "it has at least one item" if key in self._values else "it is missing")
        return tuple(value)

    def texts(self, key: str) -> dict[str, str]:
        """A table of texts."""
        value = self._value(key, {})
        if not isinstance(value, dict) or len(value) > LIST_MAX or not all(map(is_words, value.values())):
            raise WrongSetting(key, f"it is a table of texts, at most {LIST_MAX}")
        return dict(value)

    def path(self, key: str, default: str | None = None) -> Path:
        return self.base / at_home(key, self.text(key, default))

    def has(self, key: str) -> bool:
        self._asked.append(key)
        return key in self._values

    def refuse_the_rest(self) -> None:
        for key in self._values:
            if key not in self._asked:
                known = ", ".join(sorted(set(self._asked)))
                raise WrongSetting(key, f"there is no such key in a step of this kind; there are {known or 'none'}")

    def _value(self, key: str, default: Any) -> Any:
        self._asked.append(key)
        return self._values.get(key, default)


def at_home(key: str, text: str) -> Path:
    """`~` is the home of whoever runs the agent, `~name` another's; a service of its own user may have none."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise WrongSetting(key, f"nobody knows the home that {text!r:.80} begins with; write the whole path") from None


def is_text(value: str) -> bool:
    return len(value) <= TEXT_MAX and value.isprintable()


def is_words(value: Any) -> bool:
    """What a program may be given: anything but a NUL, which would end it."""
    return isinstance(value, str) and len(value) <= TEXT_MAX and "\0" not in value
