"""Hosts: what VMs run on, who carries out impacts there, and which VMs are on which.

Rule 1: a host is known when it is declared, or when a VM names it; names compare in any letter case.
Rule 2: a declared host names an executor that there is; one that VMs merely name has the default.
Rule 3: a host that VMs are on is not removed, whether anything is happening to them or not.
Not here: where declarations are kept (runtime/hosts.py), what a failure makes (schedule.py).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from notbefore.core.declare import check_name
from notbefore.core.errors import HostInUse, Invalid
from notbefore.core.model import Scope, Vm, is_on, name_key

EXECUTORS = ("simulate",)
DEFAULT_EXECUTOR = "simulate"
HOSTS_MAX = 10_000
VMS_NAMED_MAX = 10


@dataclass(frozen=True, slots=True)
class Host:
    """A host as declared: its name and who carries out impacts there."""

    name: str
    executor: str = DEFAULT_EXECUTOR

    @property
    def key(self) -> str:
        return name_key(self.name)


@dataclass(frozen=True, slots=True)
class KnownHost:
    """A host with the VMs on it, by scope; `declared` is false when only VMs speak of it."""

    host: Host
    declared: bool
    vms: Mapping[str, Sequence[str]]

    @property
    def vm_count(self) -> int:
        return sum(map(len, self.vms.values()))


@dataclass(frozen=True, slots=True)
class CountedHost:
    """The same in numbers: how many VMs of each scope are on it."""

    host: Host
    declared: bool
    vms: Mapping[str, int]


def checked_host(name: str, executor: str) -> Host:
    check_name("host", name)
    if executor not in EXECUTORS:
        raise Invalid(
            f"executor cannot be {executor!r}.",
            f"There is: {', '.join(EXECUTORS)}.",
            {"field": "executor", "value": executor},
        )
    return Host(name, executor)


def known_hosts(declared: Iterable[Host], scopes: Iterable[Scope]) -> tuple[KnownHost, ...]:
    """Every host by name: those that are declared and those that VMs merely name."""
    hosts = {host.key: host for host in declared}
    keys_declared = set(hosts)
    vms: dict[str, dict[str, list[str]]] = {}
    for scope in sorted(scopes, key=lambda one: one.key):
        for vm in scope.vms:
            if vm.host:
                host = hosts.setdefault(name_key(vm.host), Host(vm.host))
                vms.setdefault(host.key, {}).setdefault(scope.name, []).append(vm.name)
    return tuple(KnownHost(hosts[key], key in keys_declared, vms.get(key, {})) for key in sorted(hosts))


def refuse_while_in_use(known: KnownHost) -> None:
    if not known.vm_count:
        return
    names = [f"{scope}/{vm}" for scope, vms in known.vms.items() for vm in vms]
    more = len(names) - VMS_NAMED_MAX
    named = ", ".join(names[:VMS_NAMED_MAX]) + (f" and {more} more" if more > 0 else "")
    raise HostInUse(
        f"Host '{known.host.name}' cannot be removed: {known.vm_count} "
        f"{'VM is' if known.vm_count == 1 else 'VMs are'} on it: {named}.",
        "Declare them on another host first, or remove them.",
        {"host": known.host.name, "vms": names},
    )


def another_host(vm: Vm, known: Iterable[KnownHost]) -> str | None:
    """Where a VM would be moved to: the emptiest other host, the first by name of those; None when there is none."""
    others = [one for one in known if not is_on(vm, one.host.name)]
    if not vm.host or not others:
        return None
    return min(others, key=lambda one: (one.vm_count, one.host.key)).host.name
