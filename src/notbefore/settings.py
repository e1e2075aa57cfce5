"""The server's settings: flag beats environment beats file beats default (DESIGN §6).

Rule 1: an unknown key is refused by name; a wrong value is refused with the key and what was expected.
Rule 2: every key of the file is also `NOTBEFORE_<SECTION>_<KEY>`, its value written as TOML (a bare word is a string).
Not here: settings of a scope (core/scope_settings.py); acting on any of this (wiring.py).
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from notbefore.core.errors import Invalid
from notbefore.core.kinds import EventType
from notbefore.state_dir import default_state_dir

ENV_PREFIX = "NOTBEFORE_"


class ListenerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    address: str
    vm: str = ""


class MetadataSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    listeners: tuple[ListenerSettings, ...] = (ListenerSettings("127.0.0.1:8254"),)
    rate_limit_per_s: float = 5.0
    fallback_vm: str = ""
    first_call_delay_s: float = 0.0
    headerless_post_2017: bool = False
    allow_routable: bool = False


class ControlSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    address: str = "127.0.0.1:8255"


class StoreSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    url: str = ""


class SimulateSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    duration_s: dict[EventType, float] = {}
    failure_rate: dict[EventType, float] = {}


class ExecutorSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    default: str = "simulate"
    simulate: SimulateSettings = SimulateSettings()


class ClockSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kind: str = "real"


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    state: str = ""
    demo: bool = False
    metadata: MetadataSettings = MetadataSettings()
    control: ControlSettings = ControlSettings()
    store: StoreSettings = StoreSettings()
    executor: ExecutorSettings = ExecutorSettings()
    clock: ClockSettings = ClockSettings()

    @property
    def state_dir(self) -> Path:
        return Path(self.state).expanduser() if self.state else default_state_dir(os.environ)

    @property
    def store_path(self) -> Path:
        scheme, colon, path = (self.store.url or f"sqlite:{self.state_dir / 'notbefore.db'}").partition(":")
        if scheme != "sqlite" or not colon or not path:
            raise Invalid(
                f"Store {self.store.url!r} is not one this program can open.",
                "Write sqlite:PATH.",
                {"store": self.store.url},
            )
        return Path(path).expanduser()


def load_settings(file: Path | None, env: Mapping[str, str], flags: Mapping[str, Any]) -> Settings:
    """`flags` are the words of `notbefore serve`: state, demo, metadata, control, store, clock."""
    tree = _from_file(file) if file else {}
    for path, value in _from_env(env):
        _put(tree, path, value)
    for path, value in _from_flags(flags):
        _put(tree, path, value)
    try:
        settings = msgspec.convert(tree, Settings)
    except msgspec.ValidationError as wrong:
        raise Invalid(f"Settings: {wrong}.", f"Look at {file}." if file else "", {"file": str(file or "")}) from None
    _check(settings)
    return settings


def _check(settings: Settings) -> None:
    if settings.clock.kind not in ("real", "manual"):
        raise Invalid(f"clock is real or manual, not {settings.clock.kind!r}.", facts={"clock": settings.clock.kind})
    if settings.executor.default != "simulate":
        raise Invalid(f"There is no executor {settings.executor.default!r}.", "Use simulate.")
    for event_type, rate in settings.executor.simulate.failure_rate.items():
        if not 0 <= rate <= 1:
            raise Invalid(f"failure_rate of {event_type} is 0 to 1, not {rate}.", facts={"type": event_type})
    if not settings.metadata.listeners:
        raise Invalid("The metadata service needs at least one listener.")


def _from_file(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text())
    except OSError as error:
        raise Invalid(f"Cannot read settings from {file}: {error.strerror}.", facts={"file": str(file)}) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Invalid(f"{file} is not TOML: {error}.", facts={"file": str(file)}) from None


def _from_env(env: Mapping[str, str]) -> list[tuple[tuple[str, ...], Any]]:
    known = {ENV_PREFIX + "_".join(path).upper(): path for path in _paths(Settings)}
    return [(path, _toml_value(env[name])) for name, path in known.items() if name in env]


def _from_flags(flags: Mapping[str, Any]) -> list[tuple[tuple[str, ...], Any]]:
    paths = {
        "state": ("state",),
        "demo": ("demo",),
        "control": ("control", "address"),
        "store": ("store", "url"),
        "clock": ("clock", "kind"),
    }
    given = [(paths[name], value) for name, value in flags.items() if name in paths]
    if "metadata" in flags:
        listeners = [{"address": address} for address in flags["metadata"]]
        given.append((("metadata", "listeners"), listeners))
    return given


def _paths(struct: type[msgspec.Struct]) -> list[tuple[str, ...]]:
    """The path of every key, sections opened."""
    paths: list[tuple[str, ...]] = []
    for field in msgspec.structs.fields(struct):
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            paths += [(field.name, *deeper) for deeper in _paths(field.type)]
        else:
            paths.append((field.name,))
    return paths


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _put(tree: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for section in path[:-1]:
        inner = tree.setdefault(section, {})
        if not isinstance(inner, dict):
            raise Invalid(f"Settings: {section} must be a section, not {inner!r}.")
        tree = inner
    tree[path[-1]] = value
