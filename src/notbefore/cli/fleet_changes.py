"""What a declaration changes: a scope before and after, as the API shows it, in lines for people.

Rule 1: a line begins with what happens: `+` is added, `-` is removed, `~` is changed.
Rule 2: for programs the same is told in the sentences of `--json`.
"""

from dataclasses import dataclass

from notbefore.cli.control_api import Json
from notbefore.core.model import name_key

# Facts that come by themselves; nobody declares them.
UNDECLARED = ("incarnation", "listens", "last_asked", "vms")


@dataclass(frozen=True, slots=True)
class FleetChange:
    mark: str
    thing: str
    how: str = ""
    """The values that differ; for a VM all of them."""

    @property
    def line(self) -> str:
        return f"{self.mark} {self.thing}{f': {self.how}' if self.how else ''}"

    @property
    def sentence(self) -> str:
        noun, _, name = self.thing.partition(" ")
        if noun == "vm":
            word = {"+": "added", "-": "removed", "~": "changed"}[self.mark]
            return f"VM {word}: {name}{f' ({self.how})' if self.mark == '~' else ''}"
        return "VMs reordered" if noun == "vms" else f"{self.thing}: {self.how}"


def changes_between(before: Json, after: Json) -> list[FleetChange]:
    values = [FleetChange("~", name, how) for name, how in _changed_values("", _declared(before), _declared(after))]
    return [*values, *_changed_vms(before["vms"], after["vms"])]


def first_declared(body: Json, after: Json) -> list[FleetChange]:
    """A scope that is new: the settings that were given, and its VMs."""
    given = [(f"settings.{key}", value) for key, value in body.get("settings", {}).items()]
    settings = [FleetChange("+", name, _shown(value)) for name, value in given]
    return [*settings, *(FleetChange("+", f"vm {vm['name']}", _vm_shown(vm)) for vm in after["vms"])]


def _declared(table: Json) -> Json:
    return {key: value for key, value in table.items() if key not in UNDECLARED}


def _changed_values(path: str, before: Json, after: Json) -> list[tuple[str, str]]:
    """`settings.notice_s.Reboot` and `900 -> 60`, tables opened."""
    changes: list[tuple[str, str]] = []
    for key in dict.fromkeys((*before, *after)):
        old, new = before.get(key), after.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            changes += _changed_values(f"{path}{key}.", old, new)
        elif old != new:
            changes.append((f"{path}{key}", f"{_shown(old)} -> {_shown(new)}"))
    return changes


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_shown(one)}" for key, one in value.items()) or "none"
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None or value == "" else str(value)


def _vm_shown(vm: Json) -> str:
    return ", ".join(
        [f"update domain {vm['update_domain']}", *([f"host {vm['host']}"] if vm["host"] else []), *vm["addresses"]]
    )


def _changed_vms(before: list[Json], after: list[Json]) -> list[FleetChange]:
    old = {name_key(vm["name"]): vm for vm in before}
    new = {name_key(vm["name"]): vm for vm in after}
    added = [FleetChange("+", f"vm {new[key]['name']}", _vm_shown(new[key])) for key in new if key not in old]
    removed = [FleetChange("-", f"vm {old[key]['name']}") for key in old if key not in new]
    changed = [
        FleetChange("~", f"vm {old[key]['name']}", "; ".join(f"{name}: {how}" for name, how in values))
        for key in old
        if key in new and (values := _changed_values("", _declared(old[key]), _declared(new[key])))
    ]
    moved = [FleetChange("~", "vms", "in another order")] if set(old) == set(new) and list(old) != list(new) else []
    return [*added, *removed, *changed, *moved]
