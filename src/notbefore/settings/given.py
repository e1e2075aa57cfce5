"""What was given where: the tree of settings from file, environment and flags, and where each key came from."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from notbefore.core.errors import Invalid
from notbefore.settings.checks import Problem
from notbefore.settings.shape import Settings, is_section, leaves_of
from notbefore.toml_lines import KeyPath, line_of, lines_of_keys

ENV_PREFIX = "NOTBEFORE_"
FLAGS: Mapping[str, tuple[str, ...]] = {
    "state": ("state",),
    "demo": ("demo",),
    "allow_faults": ("allow_faults",),
    "workers": ("workers",),
    "control": ("control", "address"),
    "store": ("store", "url"),
    "clock": ("clock", "kind"),
    "metadata": ("metadata", "listeners"),
}


class Given:
    def __init__(self, file: Path | None, env: Mapping[str, str], flags: Mapping[str, Any]) -> None:
        self._file = file
        self._lines: Mapping[KeyPath, int] = {}
        self._origins: dict[KeyPath, str] = {}
        self.tree: dict[str, Any] = {}
        if file:
            text = text_of(file)
            self.tree = tree_of(file, text)
            self._lines = lines_of_keys(text)
        for name, path in variables_in(env):
            self._put(path, toml_value(env[name], path), name)
        for flag, value in flags.items():
            given = [{"address": one} for one in value] if flag == "metadata" else value
            self._put(FLAGS[flag], given, f"--{flag.replace('_', '-')}")

    def told(self, problem: Problem) -> str:
        """The problem as a sentence that says where to look."""
        key = ".".join(str(one) for one in problem.path)
        for length in range(len(problem.path), 0, -1):
            if origin := self._origins.get(problem.path[:length]):
                return f"{origin} ({key}): {problem.says}."
        line = line_of(self._lines, problem.path)
        where = f"{self._file}, line {line}, " if line else f"{self._file}, " if self._file else ""
        return f"{where}{key}: {problem.says}."

    def _put(self, path: tuple[str, ...], value: Any, origin: str) -> None:
        tree = self.tree
        for section in path[:-1]:
            tree = tree.setdefault(section, {})
            if not isinstance(tree, dict):
                # The file has something else in the section's place, and is refused for it.
                return
        tree[path[-1]] = value
        self._origins[path] = origin


def text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise Invalid(f"Cannot read settings from {file}: {error.strerror}.", facts={"file": str(file)}) from None
    except UnicodeDecodeError as error:
        raise Invalid(f"{file} is not TOML: {error}.", facts={"file": str(file)}) from None


def tree_of(file: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Invalid(f"{file} is not TOML: {error}.", facts={"file": str(file)}) from None


def variables_in(env: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The variables that are settings. One that begins like a section and goes on like nothing in it is a slip."""
    known = {ENV_PREFIX + "_".join(path).upper(): path for path in leaves_of(Settings)}
    sections = [field.name for field in msgspec.structs.fields(Settings) if is_section(field.type)]
    beginnings = tuple(f"{ENV_PREFIX}{name.upper()}_" for name in sections)
    for name in sorted(env):
        if name in known:
            yield name, known[name]
        elif name.startswith(beginnings):
            raise Invalid(
                f"The environment variable {name} is no setting.",
                "docs/reference/settings.md lists every key; a variable is NOTBEFORE_<SECTION>_<KEY>.",
                {"variable": name},
            )


def toml_value(text: str, path: tuple[str, ...]) -> Any:
    """As TOML would read it; text that is no TOML is a string, and so is anything where a string is wanted."""
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return value if isinstance(value, str) or type_at(path) is not str else text


def type_at(path: tuple[str, ...]) -> Any:
    kind: Any = Settings
    for name in path:
        kind = next(field.type for field in msgspec.structs.fields(kind) if field.name == name)
    return kind
