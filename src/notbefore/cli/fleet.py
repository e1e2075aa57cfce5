"""fleet.toml: the hosts, scopes and VMs someone declares, checked for shape before anything is sent (DESIGN §5).

Rule 1: whatever is wrong is said with file, line and field: also what only the server can find.
Rule 2: an unknown key is refused by name, a value of the wrong type with what it should be.
Rule 3: what is left out is left to the server; so are limits and words, which it knows best.
Not here: what would change (fleet_plan.py), sending it (apply.py).
"""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from notbefore.cli.control_api import Json
from notbefore.cli.fleet_shapes import FLEET_KEYS, HOST_KEYS, SCOPE_KEYS, SETTINGS_KEYS, VM_KEYS, Shape
from notbefore.core.declare import canonical_address
from notbefore.core.errors import Invalid, Refusal
from notbefore.core.hosts import checked_host
from notbefore.core.model import name_key
from notbefore.toml_lines import KeyPath, line_of, lines_of_keys

FLEET_MAX_BYTES = 8 * 1024 * 1024
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PLACE = re.compile(r" \(at line (\d+), column (\d+)\)| \(at end of document\)")
_KEY_OF_LINE = re.compile(r"\s*(?:\[+\s*)?([\w.\"'-]+)")


class BadFleet(Refusal):
    code = "bad_fleet"


@dataclass(frozen=True, slots=True)
class Fleet:
    file: Path
    text: str = field(repr=False)
    hosts: Mapping[str, Json]
    scopes: Mapping[str, Json]

    def refusal(self, path: KeyPath, says: str, hint: str = "", facts: Mapping[str, object] | None = None) -> BadFleet:
        """What is wrong, and where in the file."""
        line = line_of(lines_of_keys(self.text), path)
        where = f"{self.file}, line {line}, {shown_path(path)}" if line else f"{self.file}, {shown_path(path)}"
        return BadFleet(f"{where}: {says}", hint, {**(facts or {}), "file": str(self.file), "line": line})


def read_fleet(file: Path) -> Fleet:
    text = _text_of(file)
    tree = _parsed(file, text)
    fleet = Fleet(file, text, tree.get("hosts", {}), tree.get("scopes", {}))
    _check(fleet, tree, FLEET_KEYS, ())
    for name, body in fleet.hosts.items():
        _check_host(fleet, name, body)
    for name, body in fleet.scopes.items():
        _check_scope(fleet, name, body)
    if not fleet.scopes and not fleet.hosts:
        raise BadFleet(
            f"{file}, line 1, scopes: it declares no scopes.", "Write [scopes.NAME] and [[scopes.NAME.vms]]."
        )
    _check_names(fleet, "hosts", fleet.hosts)
    _check_names(fleet, "scopes", fleet.scopes)
    _check_vms(fleet)
    return fleet


def shown_path(path: KeyPath) -> str:
    """`scopes.shop.vms[0].addresses`, as it would be written."""
    shown = ""
    for key in path:
        if isinstance(key, int):
            shown += f"[{key}]"
        else:
            shown += f".{key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False)}"
    return shown.removeprefix(".")


def _text_of(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            content = opened.read(FLEET_MAX_BYTES + 1)
        if len(content) > FLEET_MAX_BYTES:
            raise BadFleet(f"{file} has more than {FLEET_MAX_BYTES} bytes.", "Divide it into several.")
        return content.decode()
    except OSError as error:
        raise BadFleet(f"Cannot read {file}: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadFleet(f"{file}, line {line}: it is not TOML: {error}.", facts={"line": line}) from None


def _parsed(file: Path, text: str) -> Json:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _not_toml(file, text, str(error)) from None
    except RecursionError:
        raise BadFleet(f"{file} is not TOML: it is nested too deeply.") from None


def _not_toml(file: Path, text: str, error: str) -> BadFleet:
    """tomllib says where it stopped; the key on that line is what to look at."""
    lines = text.splitlines() or [""]
    found = _PLACE.search(error)
    line = int(found[1]) if found and found[1] else len(lines)
    key = _KEY_OF_LINE.match(lines[min(line, len(lines)) - 1])
    where = f"{file}, line {line}, {key[1]}" if key else f"{file}, line {line}"
    column = f", column {found[2]}" if found and found[2] else ""
    return BadFleet(
        f"{where}: it is not TOML: {_PLACE.sub('', error)}{column}.", facts={"file": str(file), "line": line}
    )


def _check_host(fleet: Fleet, name: str, body: Json) -> None:
    path: KeyPath = ("hosts", name)
    _check(fleet, body, HOST_KEYS, path)
    try:
        checked_host(name, body.get("executor", "simulate"))
    except Invalid as wrong:
        at = (*path, "executor") if wrong.facts.get("field") == "executor" else path
        raise fleet.refusal(at, wrong.message, wrong.hint, wrong.facts) from None


def _check_scope(fleet: Fleet, name: str, body: Json) -> None:
    path: KeyPath = ("scopes", name)
    _check(fleet, body, SCOPE_KEYS, path)
    _check(fleet, body.get("settings", {}), SETTINGS_KEYS, (*path, "settings"))
    for place, vm in enumerate(body.get("vms", [])):
        vm_path = (*path, "vms", place)
        _check(fleet, vm, VM_KEYS, vm_path)
        if "name" not in vm:
            raise fleet.refusal((*vm_path, "name"), "the VM has no name.")


def _check(fleet: Fleet, table: Json, keys: Mapping[str, Shape], path: KeyPath) -> None:
    for key, value in table.items():
        if key not in keys:
            raise fleet.refusal((*path, key), f"there is no key '{key}' here.", f"Known here: {', '.join(keys)}.")
        if not keys[key].fits(value):
            raise fleet.refusal((*path, key), f"it must be {keys[key].words}, not {value!r}.")


def _check_names(fleet: Fleet, noun: str, declared: Mapping[str, Json]) -> None:
    seen: dict[str, str] = {}
    for name in declared:
        if other := seen.get(name_key(name)):
            says = f"{noun}.{other} and {noun}.{name} are one: letter case does not count."
            raise fleet.refusal((noun, name), says)
        seen[name_key(name)] = name


def _check_vms(fleet: Fleet) -> None:
    """Names once in their scope, addresses once in the whole file: across scopes only the file shows both."""
    owners: dict[str, str] = {}
    for scope, body in fleet.scopes.items():
        names: set[str] = set()
        for place, vm in enumerate(body.get("vms", [])):
            path: KeyPath = ("scopes", scope, "vms", place)
            if name_key(vm["name"]) in names:
                raise fleet.refusal((*path, "name"), f"VM '{vm['name']}' is named twice (letter case aside).")
            names.add(name_key(vm["name"]))
            for at, address in enumerate(vm.get("addresses", [])):
                _check_address(fleet, (*path, "addresses", at), address, f"{scope}/{vm['name']}", owners)


def _check_address(fleet: Fleet, path: KeyPath, address: str, vm: str, owners: dict[str, str]) -> None:
    try:
        one = canonical_address(address)
    except Invalid as wrong:
        raise fleet.refusal(path, wrong.message) from None
    if owners.setdefault(one, vm) != vm:
        says = f"address {one} is claimed by {owners[one]} and {vm}: it would identify nobody."
        raise fleet.refusal(path, says, "Give each VM its own address.")
