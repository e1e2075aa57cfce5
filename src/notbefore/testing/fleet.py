"""The scopes and VMs of an emulator: declared as they are first spoken of.

Rule 1: the server's own word counts: a declaration is read, changed and put back, so that what became of a VM stays.
Rule 2: names compare in any letter case, as everywhere.
"""

from collections.abc import Mapping
from threading import RLock
from typing import Any, TypedDict

from notbefore.control_client import ControlClient, Json, Scope
from notbefore.core.errors import Invalid, UnknownScope
from notbefore.core.model import name_key
from notbefore.testing.vm import EmulatedVm, OpenLine

DEFAULT_SCOPE = "test"
DEFAULT_KIND = "availability-set"


class GivenSettings(TypedDict, total=False):
    """Settings of a scope; what is left out stays as it is."""

    listening: str
    approval: str | Mapping[str, str]
    auto_approve: list[str]
    notice_s: Mapping[str, int]
    user_events: bool
    user_operations_max: int
    recovery_s: int
    legacy_underscore: bool
    eviction: str


class Fleet:
    def __init__(self, listening: str, open_line: OpenLine) -> None:
        self._listening = listening
        self._open_line = open_line
        self._vms: dict[tuple[str, str], EmulatedVm] = {}
        self._lock = RLock()

    @property
    def vms(self) -> tuple[EmulatedVm, ...]:
        with self._lock:
            return tuple(self._vms.values())

    def found(self, name: str, scope: str | None = None) -> EmulatedVm | None:
        """The VM of that name, if it was declared here; several scopes may have one."""
        if scope is None and "/" in name:
            scope, _, name = name.partition("/")
        named = [
            vm
            for vm in self.vms
            if name_key(vm.name) == name_key(name) and (scope is None or name_key(vm.scope) == name_key(scope))
        ]
        if len(named) > 1:
            raise Invalid(f"Several scopes have a VM '{name}'.", f"Write {named[0].full_name}, or name the scope.")
        return named[0] if named else None

    def vm(self, control: ControlClient, name: str, scope: str | None, wanted: Json) -> EmulatedVm:
        """The VM, declared or changed so that it is as wanted."""
        with self._lock:
            known = self.found(name, scope)
            if known is None:
                in_scope, _, bare = name.rpartition("/")
                known = EmulatedVm(scope or in_scope or DEFAULT_SCOPE, bare, self._open_line)
            elif not wanted:
                return known
            self._declare(control, known, wanted)
            self._vms[name_key(known.scope), name_key(known.name)] = known
            return known

    def scope(self, control: ControlClient, name: str, kind: str | None, settings: Mapping[str, Any]) -> Scope:
        with self._lock:
            declared = self._declared(control, name)
            declared["settings"] |= settings
            declared["kind"] = kind or declared["kind"]
            return control.put_scope(name, declared)

    def _declare(self, control: ControlClient, vm: EmulatedVm, wanted: Json) -> None:
        declared = self._declared(control, vm.scope)
        bodies = {name_key(body["name"]): body for body in declared["vms"]}
        key = name_key(vm.name)
        bodies[key] = {"name": vm.name, **bodies.get(key, {}), **wanted}
        declared["vms"] = list(bodies.values())
        control.put_scope(vm.scope, declared)

    def _declared(self, control: ControlClient, scope: str) -> Json:
        try:
            shown = control.scope(scope).raw
        except UnknownScope:
            return {"kind": DEFAULT_KIND, "settings": {"listening": self._listening}, "vms": []}
        return {name: shown[name] for name in ("kind", "settings", "vms")}
