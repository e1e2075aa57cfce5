"""The VMs of a sandbox: those of a fleet file, or so many with made-up names."""

import ipaddress
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from notbefore.core.errors import Invalid

SCOPE = "sandbox"
MACHINES_MAX = 64
SERVER = "server"
LINK_LOCAL = "169.254.169.254"
_FIRST = ipaddress.IPv4Address("10.77.0.11")

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Machine:
    """One VM, and the address it has in the sandbox."""

    name: str
    scope: str
    address: str

    @property
    def ref(self) -> str:
        return f"{self.scope}/{self.name}"


def made_up(count: int) -> dict[str, Json]:
    """`web-0`, `web-1` and so on in one scope, two update domains, always listened to."""
    if not 1 <= count <= MACHINES_MAX:
        raise Invalid(f"A sandbox has 1 to {MACHINES_MAX} VMs, not {count}.", facts={"vms": count})
    vms = [{"name": f"web-{n}", "update_domain": n % 2} for n in range(count)]
    return {SCOPE: {"kind": "availability-set", "settings": {"listening": "always"}, "vms": vms}}


def with_addresses(scopes: Mapping[str, Json]) -> tuple[dict[str, Json], list[Machine]]:
    """The scopes with an address for each VM: its first IPv4 one that a network has, or one that is free."""
    taken = {address for body in scopes.values() for vm in body["vms"] for address in vm.get("addresses", ())}
    free = _free_addresses(taken)
    machines: list[Machine] = []
    declared: dict[str, Json] = {}
    for scope, body in scopes.items():
        vms = []
        for vm in body["vms"]:
            own = [one for one in vm.get("addresses", ()) if _is_of_a_network(one)]
            address = own[0] if own else next(free)
            machines.append(Machine(vm["name"], scope, address))
            vms.append({**vm, "addresses": [*vm.get("addresses", ()), *([] if own else [address])]})
        declared[scope] = {**body, "vms": vms}
    refuse_unlike(machines)
    return declared, machines


def refuse_unlike(machines: list[Machine]) -> None:
    names = [machine.name.lower() for machine in machines]
    twice = sorted({name for name in names if names.count(name) > 1})
    if not 1 <= len(machines) <= MACHINES_MAX:
        raise Invalid(f"A sandbox has 1 to {MACHINES_MAX} VMs, not {len(machines)}.", facts={"vms": len(machines)})
    if twice or SERVER in names:
        raise Invalid(
            f"A sandbox calls its VMs by their bare names, and {(twice or [SERVER])[0]!r} is taken.",
            f"Names are unique in the whole fleet file, and none is `{SERVER}`.",
            {"names": twice or [SERVER]},
        )


def _free_addresses(taken: set[str]) -> Iterator[str]:
    return (address for n in itertools.count() if (address := str(_FIRST + n)) not in taken)


def _is_of_a_network(text: str) -> bool:
    """Whether a packet from there reaches the server: not from a loopback, nor from the server's own address."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    is_nobodys = address.is_loopback or address.is_unspecified or address.is_multicast or address.is_reserved
    return isinstance(address, ipaddress.IPv4Address) and not is_nobodys and text != LINK_LOCAL
