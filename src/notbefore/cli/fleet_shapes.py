"""The keys of a fleet.toml, and what the value of each must be: in words, and as a test."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Shape:
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

FLEET_KEYS: Mapping[str, Shape] = {
    "hosts": Shape("a table of hosts", _table_of(TABLE.fits)),
    "scopes": Shape("a table of scopes", _table_of(TABLE.fits)),
}
HOST_KEYS: Mapping[str, Shape] = {"executor": TEXT}
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
