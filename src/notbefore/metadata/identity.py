"""Who is asking (SPEC §5): by the listener, by the source address, by the loopback fallback; else nobody.

Rule 1: an address claimed by two VMs identifies nobody, and falls back to nobody.
Rule 2: the fallback counts only when peer and listener are both loopback.
Not here (yet): the signed header of a trusted proxy; it comes between listener and address.
"""

import logging
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address

from notbefore.core.declare import canonical_address
from notbefore.core.errors import Invalid
from notbefore.core.model import name_key
from notbefore.runtime.snapshot import Snapshot, VmRef

WARNED_MAX = 1000

log = logging.getLogger("notbefore.identity")


@dataclass(frozen=True, slots=True)
class Listener:
    """One address the data plane listens on; perhaps the private line of one VM."""

    host: str
    port: int
    vm: VmRef | None = None


def vm_ref(text: str) -> VmRef:
    """`scope/vm` as settings write it. Names hold no slash, so there is exactly one."""
    scope, slash, vm = text.partition("/")
    if not (scope and slash and vm) or "/" in vm:
        raise Invalid(f"{text!r} does not name a VM.", "Write scope/vm, such as demo/FrontEnd_IN_0.", {"vm": text})
    return VmRef(name_key(scope), name_key(vm))


class Identity:
    def __init__(self, snapshot: Snapshot, fallback: VmRef | None = None) -> None:
        self._snapshot = snapshot
        self._fallback = fallback
        self._warned: set[str] = set()

    def caller(self, listener: Listener, peer: str) -> VmRef | None:
        if listener.vm is not None:
            return self._if_known(listener.vm)
        address = canonical_peer(peer)
        owners = self._snapshot.owners_of(address)
        if len(owners) == 1:
            return owners[0]
        if owners:
            self._warn_once(address)
            return None
        if self._fallback and is_loopback(address) and is_loopback(listener.host):
            return self._if_known(self._fallback)
        return None

    def _if_known(self, ref: VmRef) -> VmRef | None:
        view = self._snapshot.view(ref.scope)
        return ref if view and view.scope.vm(ref.vm) else None

    def _warn_once(self, address: str) -> None:
        if address not in self._warned and len(self._warned) < WARNED_MAX:
            self._warned.add(address)
            log.warning("refused a caller whose address several VMs claim  address=%s", address)


@lru_cache(maxsize=65536)
def canonical_peer(peer: str) -> str:
    """The address as VMs declare it: no zone, IPv4-mapped as IPv4."""
    return canonical_address(peer.partition("%")[0])


@lru_cache(maxsize=4096)
def is_loopback(host: str) -> bool:
    address = ip_address(host.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback
