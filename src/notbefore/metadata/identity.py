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
THERE_MAX = 4096

log = logging.getLogger("notbefore.identity")


@dataclass(frozen=True, slots=True)
class Listener:
    """One address the data plane listens on; perhaps the private line of one VM."""

    host: str
    port: int
    vm: VmRef | None = None


class Peer:
    """The other end of a connection, as far as the socket tells."""

    __slots__ = ("address", "listener")

    def __init__(self, listener: Listener, address: str) -> None:
        self.listener = listener
        self.address = address

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
        # Named by a listener or a proxy, and there; they still are as long as no VM came, went or changed.
        self._there: set[VmRef] = set()
        self._there_at = snapshot.census

    def caller(self, peer: Peer, proxy_header: bytes | None = None) -> VmRef | None:
        if peer.listener.vm is not None:
            return self._if_known(peer.listener.vm)
        if proxy_header is not None:
            return self._if_known(vm_vouched_for(proxy_header, self._proxy_keys, self._clock.real_s()))
        # Of most the address tells, and this is asked for every question: the rest is a call of its own.
        return self._snapshot.owner_of(peer.address) or self._of_no_owner(peer)

    def _of_no_owner(self, peer: Peer) -> VmRef | None:
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
        if self._there_at != self._snapshot.census:
            self._there.clear()
            self._there_at = self._snapshot.census
        if ref is None or ref in self._there:
            return ref
        view = self._snapshot.view_by_key(ref.scope)
        if view is None or view.scope.vm(ref.vm) is None:
            return None
        if len(self._there) < THERE_MAX:
            self._there.add(ref)
        return ref

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
