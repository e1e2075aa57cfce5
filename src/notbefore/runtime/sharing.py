"""Equal values held once: of a million VMs most differ in name and address alone.

Rule 1: a part is put in the place of one that equals it, so nobody can tell but by memory and by `is`.
Rule 2: what is shared is never changed by anybody: the core's values are frozen, its mappings are only read.
Rule 3: bounded: strings live as long as someone holds them, and of settings only the last few are remembered.
Called by: snapshot.py, on every state that comes here, whether it was read or committed.
"""

from collections.abc import Iterable, Mapping
from sys import intern
from typing import Any, Final

from notbefore.core.model import Scope, Vm, name_key
from notbefore.core.scope_settings import ScopeSettings

SETTINGS_REMEMBERED: Final = 16
NOTHING: Final[Mapping[Any, Any]] = {}

# What a dataclass does itself when it makes a frozen value.
put = object.__setattr__


class Sharing:
    def __init__(self) -> None:
        self._settings: list[ScopeSettings] = []

    def share(self, scope: Scope, known: Scope | None) -> None:
        """Let a new state of a scope hold what its former state, or another scope, holds already."""
        if known and known.settings == scope.settings:
            put(scope, "settings", known.settings)
        else:
            put(scope, "settings", self._remembered(scope.settings))
        if known and (scope.vms is known.vms or scope.vms == known.vms):
            put(scope, "vms", known.vms)
        else:
            share_parts(scope.vms)
        share_times(scope, known)

    def _remembered(self, settings: ScopeSettings) -> ScopeSettings:
        for place, one in enumerate(self._settings):
            if one == settings:
                self._settings.insert(0, self._settings.pop(place))
                return one
        self._settings.insert(0, settings)
        del self._settings[SETTINGS_REMEMBERED:]
        return settings


def share_parts(vms: Iterable[Vm]) -> None:
    for vm in vms:
        if not vm.tags:
            put(vm, "tags", NOTHING)
        if host := vm.host:
            put(vm, "host", intern(host))


def share_times(scope: Scope, known: Scope | None) -> None:
    """The times by VM: when there are none, one nothing for all; else the VMs' own names as keys."""
    if not scope.hit_ms:
        put(scope, "hit_ms", NOTHING)
    if not scope.asked_ms:
        put(scope, "asked_ms", NOTHING)
    elif known is None:
        own = {key: key for key in map(name_key, (vm.name for vm in scope.vms))}
        put(scope, "asked_ms", {own.get(key, key): at_ms for key, at_ms in scope.asked_ms.items()})
