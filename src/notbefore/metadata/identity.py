"""Who is asking (SPEC §5): by the listener, by a trusted proxy's word, by the source address, by the loopback
fallback; else nobody.

Rule 1: an address claimed by two VMs identifies nobody, and falls back to nobody.
Rule 2: a proxy's header that cannot be verified identifies nobody, and falls back to nobody.
Rule 3: the fallback counts only when peer and listener are both loopback.
"""

import logging
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address

from notbefore.core.declare import canonical_address
from notbefore.core.errors import Invalid
from notbefore.core.model import name_key
from notbefore.metadata.proxy import vm_vouched_for
from notbefore.ports import Clock
from notbefore.runtime.snapshot import Snapshot, VmRef

WARNED_MAX = 1000

log = logging.getLogger("notbefore.identity")


@dataclass(frozen=True, slots=True)
class Listener:
    """One address the data plane listens on; perhaps the private line of one VM."""

    host: str
    port: int
    vm: VmRef | None = None


class Peer:
    """The other end of a connection, as far as the socket tells; and who it was, for whoever looked last."""

    __slots__ = ("address", "caller", "listener", "looked_at", "looked_by")

    def __init__(self, listener: Listener, address: str) -> None:
        self.listener = listener
        self.address = address
        self.looked_by: Identity | None = None
        self.looked_at = 0
        self.caller: VmRef | None = None

    @property
    def caller_key(self) -> object:
        """Whose connection it counts as."""
        return self.listener.vm or self.address


def vm_ref(text: str) -> VmRef:
    """`scope/vm` as settings write it. Names hold no slash, so there is exactly one."""
    scope, slash, vm = text.partition("/")
    if not (scope and slash and vm) or "/" in vm:
        raise Invalid(f"{text!r} does not name a VM.", "Write scope/vm, such as demo/FrontEnd_IN_0.", {"vm": text})
    return VmRef(name_key(scope), name_key(vm))


class Identity:
    def __init__(
        self, snapshot: Snapshot, clock: Clock, fallback: VmRef | None = None, proxy_keys: tuple[bytes, ...] = ()
    ) -> None:
        self._snapshot = snapshot
        self._clock = clock
        self._fallback = fallback
        self._proxy_keys = proxy_keys
        self._warned: set[str] = set()

    def caller(self, peer: Peer, proxy_header: bytes | None = None) -> VmRef | None:
        """What a connection tells of its caller stays true until some VM comes, goes or changes."""
        if proxy_header is not None:
            return self._looked_up(peer, proxy_header)
        if peer.looked_by is not self or peer.looked_at != self._snapshot.census:
            peer.caller = self._looked_up(peer, None)
            peer.looked_by, peer.looked_at = self, self._snapshot.census
        return peer.caller

    def _looked_up(self, peer: Peer, proxy_header: bytes | None) -> VmRef | None:
        if peer.listener.vm is not None:
            return self._if_known(peer.listener.vm)
        if proxy_header is not None:
            return self._if_known(vm_vouched_for(proxy_header, self._proxy_keys, self._clock.real_s()))
        if owner := self._snapshot.owner_of(peer.address):
            return owner
        if self._snapshot.owners_of(peer.address):
            self._warn_once(peer.address)
            return None
        if self._fallback and is_loopback(peer.address) and is_loopback(peer.listener.host):
            return self._if_known(self._fallback)
        return None

    def caller_again(self, caller: VmRef, peer: Peer, *, vouched: bool) -> VmRef | None:
        """Who it is by now that was identified a while ago. A proxy's word ages: it is its VM that is looked for."""
        return self._if_known(caller) if vouched and peer.listener.vm is None else self.caller(peer)

    def _if_known(self, ref: VmRef | None) -> VmRef | None:
        view = self._snapshot.view_by_key(ref.scope) if ref else None
        return ref if ref and view and view.scope.vm(ref.vm) else None

    def _warn_once(self, address: str) -> None:
        if address not in self._warned and len(self._warned) < WARNED_MAX:
            self._warned.add(address)
            log.warning("refused a caller whose address several VMs claim", extra={"address": address})


def canonical_peer(peer: str) -> str:
    """The address as VMs declare it. An IPv4 address, as a socket tells it, is so already."""
    return canonical_ipv6(peer) if ":" in peer else peer


@lru_cache(maxsize=65536)
def canonical_ipv6(peer: str) -> str:
    """No zone, IPv4-mapped as IPv4."""
    return canonical_address(peer.partition("%")[0])


@lru_cache(maxsize=4096)
def is_loopback(host: str) -> bool:
    if not host:
        return False
    address = ip_address(host.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback
