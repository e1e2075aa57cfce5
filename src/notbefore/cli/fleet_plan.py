"""What applying a fleet would do, found out before anything is done.

Rule 1: the server is asked to plan every scope that the file declares or that is pruned; one refusal, no plan.
Rule 2: a refusal of the server is told with the file, the line and the field that it is about.
Rule 3: hosts before the scopes that name them; a scope that gives an address up before the one that gets it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Any

from notbefore.cli.control_api import Json
from notbefore.cli.fleet import Fleet
from notbefore.cli.fleet_changes import FleetChange, changes_between, first_declared
from notbefore.control_client import ControlClient, Scope
from notbefore.core.declare import canonical_address
from notbefore.core.errors import Invalid, LiveEvent, Refusal, UnknownScope
from notbefore.core.model import name_key
from notbefore.toml_lines import KeyPath

DEFAULT_EXECUTOR = "simulate"
ASKED_ONE_BY_ONE_MAX = 1000
ABOUT_THE_FILE = ("invalid", "live_event", "address_taken", "scope_too_large", "body_too_large")


@dataclass(frozen=True, slots=True)
class Step:
    """One thing of the fleet and what becomes of it: `created`, `changed`, `removed` or `unchanged`."""

    noun: str
    name: str
    outcome: str
    body: Json = field(default_factory=dict)
    """What is sent."""
    shown: Json = field(default_factory=dict)
    """The thing as the API shows it, afterwards or, when it is removed, before."""
    changes: tuple[FleetChange, ...] = ()

    @property
    def is_change(self) -> bool:
        return self.outcome != "unchanged"


def planned(fleet: Fleet, client: ControlClient, *, prune: bool, force: bool) -> list[Step]:
    """Every step in the order it has to be done."""
    named = set(map(name_key, fleet.scopes))
    scopes = {name_key(scope.name): scope for scope in _scopes_there(fleet, client, prune=prune)}
    doomed = [scope for key, scope in scopes.items() if prune and key not in named]
    givers = _givers(fleet, scopes, doomed)
    declared = [
        _scope_step(fleet, client, name, scopes.get(name_key(name)), givers[name_key(name)], force=force)
        for name in fleet.scopes
    ]
    removed = [_removal(fleet, client, scope, force=force) for scope in doomed]
    hosts = client.hosts() if prune or fleet.hosts else ()
    known = {name_key(host.name): host.raw for host in hosts if host.declared}
    return [
        *(_host_step(name, body, known.get(name_key(name))) for name, body in fleet.hosts.items()),
        *_in_order(fleet, [*declared, *removed], givers),
        *(_host_removal(host) for key, host in known.items() if prune and key not in _hosts_named(fleet)),
    ]


def _scopes_there(fleet: Fleet, client: ControlClient, *, prune: bool) -> Iterable[Scope]:
    """Those that the file is about; of the very many others that a server may have only when somebody needs them."""
    if prune or len(fleet.scopes) > ASKED_ONE_BY_ONE_MAX:
        return client.scopes()
    return filter(None, (_scope_there(client, name) for name in fleet.scopes))


def _scope_there(client: ControlClient, name: str) -> Scope | None:
    try:
        return client.scope(name)
    except UnknownScope:
        return None


def _scope_step(
    fleet: Fleet, client: ControlClient, name: str, before: Scope | None, givers: set[str], *, force: bool
) -> Step:
    body = fleet.scopes[name]
    try:
        after = client.put_scope(name, body, force=force, plan=True, releasing=sorted(givers)).raw
    except Refusal as refusal:
        raise told(fleet, name, refusal) from None
    if before is None:
        return Step("scope", name, "created", body, after, tuple(first_declared(body, after)))
    changes = changes_between(before.raw, after)
    return Step("scope", name, "changed" if changes else "unchanged", body, after, tuple(changes))


def _removal(fleet: Fleet, client: ControlClient, scope: Scope, *, force: bool) -> Step:
    try:
        client.remove_scope(scope.name, force=force, plan=True)
    except LiveEvent as refusal:
        says = f"it does not name '{scope.name}', which --prune would remove. {refusal.message}"
        raise fleet.refusal(("scopes",), says, refusal.hint, refusal.facts) from None
    return Step("scope", scope.name, "removed", shown=scope.raw)


def _host_step(name: str, body: Json, before: Json | None) -> Step:
    executor = body.get("executor", DEFAULT_EXECUTOR)
    after = {"name": name, "executor": executor}
    if before is None:
        return Step("host", name, "created", body, after, (FleetChange("+", "executor", executor),))
    changes = tuple(
        FleetChange("~", key, f"{before[key]} -> {after[key]}") for key in after if before.get(key) != after[key]
    )
    return Step("host", name, "changed" if changes else "unchanged", body, after, changes)


def _host_removal(host: Json) -> Step:
    return Step("host", host["name"], "removed", shown=host)


def _hosts_named(fleet: Fleet) -> set[str]:
    """A host is named by its own table or by a VM that is on it."""
    on = (vm.get("host", "") for scope in fleet.scopes.values() for vm in scope.get("vms", []))
    return {name_key(name) for name in (*fleet.hosts, *on)}


def _addresses(body: Json) -> set[str]:
    return {canonical_address(address) for vm in body.get("vms", []) for address in vm.get("addresses", [])}


def _givers(fleet: Fleet, scopes: Mapping[str, Scope], doomed: Sequence[Scope]) -> dict[str, set[str]]:
    """For each scope of the file those that have an address now which it will have then.

    They give it up when the file is applied: in the file an address stands once, and a pruned scope keeps none.
    """
    owner = {address: key for key, scope in scopes.items() for vm in scope.vms for address in vm.addresses}
    giving = {*map(name_key, fleet.scopes), *(name_key(scope.name) for scope in doomed)}
    return {
        name_key(name): {owner[one] for one in _addresses(body) if owner.get(one) in giving} - {name_key(name)}
        for name, body in fleet.scopes.items()
    }


def _in_order(fleet: Fleet, steps: Sequence[Step], givers: Mapping[str, set[str]]) -> list[Step]:
    """As they are, except that whoever gives an address up comes before whoever gets it."""
    by_key = {name_key(step.name): step for step in steps}
    before = {key: givers.get(key, set()) for key in by_key}
    try:
        return [by_key[key] for key in TopologicalSorter(before).static_order()]
    except CycleError as cycle:
        names = [by_key[key].name for key in cycle.args[1][1:]]
        says = f"scopes {' and '.join(names)} take addresses from each other, which cannot be done in one go."
        raise fleet.refusal(
            ("scopes", names[0], "vms"), says, "Take the address away from one of them first."
        ) from None


def told(fleet: Fleet, scope: str, refusal: Refusal) -> Refusal:
    """The server's refusal with the place in the file that it is about; one that is about no file as it came."""
    if refusal.code not in ABOUT_THE_FILE:
        return refusal
    path = _place(fleet, scope, refusal.facts)
    return fleet.refusal(path, refusal.message, refusal.hint, {**refusal.facts, "code": refusal.code})


def _place(fleet: Fleet, scope: str, facts: Mapping[str, Any]) -> KeyPath:
    path: KeyPath = ("scopes", scope)
    named = facts.get("vm", facts.get("VM", facts.get("host")))
    where = str(facts.get("field") or "")
    if where and (named is None or where.startswith(("vms.", "settings."))):
        return (*path, *(int(part) if part.isdecimal() else part for part in where.split(".")))
    if named is None:
        return (*path, "vms") if "address" in facts else path
    for place, vm in enumerate(fleet.scopes[scope].get("vms", [])):
        if name_key(str(named)) in (name_key(vm["name"]), name_key(vm.get("host", ""))):
            return (*path, "vms", place, *_inside_vm(vm, where, facts))
    # It is about a VM that the file does not have any more.
    return (*path, "vms")


def _inside_vm(vm: Json, where: str, facts: Mapping[str, Any]) -> KeyPath:
    if where:
        return (where,)
    if "address" in facts:
        same = [at for at, one in enumerate(vm.get("addresses", [])) if _is(one, str(facts["address"]))]
        return ("addresses", *same[:1])
    if "event" in facts:
        return ("update_domain",) if "update_domain" in vm else ("host",)
    return ("host",) if "host" in facts else ("name",)


def _is(address: str, canonical: str) -> bool:
    try:
        return canonical_address(address) == canonical
    except Invalid:
        return False
