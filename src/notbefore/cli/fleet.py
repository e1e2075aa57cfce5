"""fleet.toml: the scopes and VMs someone declares, checked for shape before anything is sent (DESIGN §5).

Rule 1: an unknown key is refused by name, a value of the wrong type with what it should be.
Rule 2: what is left out is left to the server; so are limits and words, which it knows best.
Not here: sending it (apply.py), what changed (fleet_changes.py).
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from notbefore.cli.control_api import Json
from notbefore.core.errors import Refusal
from notbefore.core.model import name_key


class BadFleet(Refusal):
    code = "bad_fleet"


@dataclass(frozen=True, slots=True)
class DeclaredScope:
    name: str
    body: Json


@dataclass(frozen=True, slots=True)
class Shape:
    """What a value must be, in words and as a test."""

    words: str
    fits: Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _list_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(fits, value))


def _table_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(map(fits, value.values()))


TEXT = Shape("a text", _is_text)
NUMBER = Shape("a whole number", _is_number)
YES_OR_NO = Shape("true or false", lambda value: isinstance(value, bool))
TEXTS = Shape("a list of texts", _list_of(_is_text))
TABLE_OF_TEXTS = Shape("a table of texts", _table_of(_is_text))
TABLE_OF_NUMBERS = Shape("a table of whole numbers", _table_of(_is_number))
POLICY = Shape("a text or a table of texts", lambda value: _is_text(value) or TABLE_OF_TEXTS.fits(value))
TABLE = Shape("a table", lambda value: isinstance(value, dict))
TABLES = Shape("a list of tables", _list_of(TABLE.fits))

FLEET_KEYS: Mapping[str, Shape] = {"scopes": Shape("a table of scopes", _table_of(TABLE.fits))}
SCOPE_KEYS: Mapping[str, Shape] = {"kind": TEXT, "settings": TABLE, "vms": TABLES}
SETTINGS_KEYS: Mapping[str, Shape] = {
    "listening": TEXT,
    "approval": POLICY,
    "auto_approve": TEXTS,
    "notice_s": TABLE_OF_NUMBERS,
    "user_events": YES_OR_NO,
    "user_operations_max": NUMBER,
    "recovery_s": NUMBER,
    "legacy_underscore": YES_OR_NO,
    "eviction": TEXT,
}
VM_KEYS: Mapping[str, Shape] = {
    "name": TEXT,
    "update_domain": NUMBER,
    "fault_domain": NUMBER,
    "host": TEXT,
    "addresses": TEXTS,
    "tags": TABLE_OF_TEXTS,
    "spot": YES_OR_NO,
    "state": TEXT,
}


def read_fleet(file: Path) -> list[DeclaredScope]:
    fleet = _parsed(file)
    try:
        _check(fleet, FLEET_KEYS, "")
        scopes = [_declared(name, body) for name, body in fleet.get("scopes", {}).items()]
        _check_names(scopes)
    except BadFleet as wrong:
        raise BadFleet(f"{file}: {wrong.message}", wrong.hint, {"file": str(file)}) from None
    return scopes


def _parsed(file: Path) -> Json:
    try:
        return tomllib.loads(file.read_text())
    except OSError as error:
        raise BadFleet(f"Cannot read {file}: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadFleet(f"{file} is not TOML: {error}.") from None


def _declared(name: str, body: Json) -> DeclaredScope:
    path = f"scopes.{name}"
    _check(body, SCOPE_KEYS, path)
    _check(body.get("settings", {}), SETTINGS_KEYS, f"{path}.settings")
    for place, vm in enumerate(body.get("vms", [])):
        vm_path = f"{path}.vms[{place}]"
        _check(vm, VM_KEYS, vm_path)
        if "name" not in vm:
            raise BadFleet(f"{vm_path} has no name.")
    return DeclaredScope(name, body)


def _check(table: Json, keys: Mapping[str, Shape], path: str) -> None:
    for key, value in table.items():
        here = f"{path}.{key}".removeprefix(".")
        if key not in keys:
            raise BadFleet(f"there is no key '{here}'.", f"Known here: {', '.join(keys)}.")
        if not keys[key].fits(value):
            raise BadFleet(f"{here} must be {keys[key].words}, not {value!r}.")


def _check_names(scopes: list[DeclaredScope]) -> None:
    if not scopes:
        raise BadFleet("it declares no scopes.", "Write [scopes.NAME] and [[scopes.NAME.vms]].")
    seen: dict[str, str] = {}
    for scope in scopes:
        if other := seen.get(name_key(scope.name)):
            raise BadFleet(f"scopes.{other} and scopes.{scope.name} are one scope: letter case does not count.")
        seen[name_key(scope.name)] = scope.name
