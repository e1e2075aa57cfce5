"""What a declaration changed: a scope before and after, as the API shows it, in lines for people."""

from notbefore.cli.control_api import Json
from notbefore.core.model import name_key

# Facts that come by themselves; nobody declares them.
UNDECLARED = ("incarnation", "listens", "last_asked", "vms")


def changes_between(before: Json, after: Json) -> list[str]:
    return [*_changed_values("", _declared(before), _declared(after)), *_changed_vms(before["vms"], after["vms"])]


def _declared(table: Json) -> Json:
    return {key: value for key, value in table.items() if key not in UNDECLARED}


def _changed_values(path: str, before: Json, after: Json) -> list[str]:
    """`settings.notice_s.Reboot: 900 -> 60`, tables opened."""
    lines: list[str] = []
    for key in dict.fromkeys((*before, *after)):
        old, new = before.get(key), after.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            lines += _changed_values(f"{path}{key}.", old, new)
        elif old != new:
            lines.append(f"{path}{key}: {_shown(old)} -> {_shown(new)}")
    return lines


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None or value == "" else str(value)


def _changed_vms(before: list[Json], after: list[Json]) -> list[str]:
    old = {name_key(vm["name"]): vm for vm in before}
    new = {name_key(vm["name"]): vm for vm in after}
    added = [f"VM added: {new[key]['name']}" for key in new if key not in old]
    removed = [f"VM removed: {old[key]['name']}" for key in old if key not in new]
    changed = [
        f"VM changed: {old[key]['name']} ({'; '.join(values)})"
        for key in old
        if key in new and (values := _changed_values("", _declared(old[key]), _declared(new[key])))
    ]
    moved = ["VMs reordered"] if set(old) == set(new) and list(old) != list(new) else []
    return [*added, *removed, *changed, *moved]
