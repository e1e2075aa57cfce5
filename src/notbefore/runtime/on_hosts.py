"""Which scopes have VMs on which host, so that a question about one host does not walk a million VMs.

Rule 1: kept by the snapshot, at each change of a scope's VMs; hosts and scopes by their keys.
Rule 2: a host that no VM names is not here, whether it is declared or not (hosts.py).
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from notbefore.core.model import Vm, name_key


class OnHosts:
    def __init__(self) -> None:
        # By host: how many VMs of each scope.
        self._scopes: dict[str, dict[str, int]] = {}
        # By host: how many VMs.
        self.counts: dict[str, int] = {}

    def scopes_on(self, host: str) -> Sequence[str]:
        """In order."""
        return sorted(self._scopes.get(host, ()))

    def vms_by_scope(self, host: str) -> dict[str, int]:
        """In order of the scopes' keys."""
        return dict(sorted(self._scopes.get(host, {}).items()))

    def remember(self, scope: str, vms: Iterable[Vm]) -> None:
        for host, count in counted(vms):
            self._scopes.setdefault(host, {})[scope] = count
            self.counts[host] = self.counts.get(host, 0) + count

    def forget(self, scope: str, vms: Iterable[Vm]) -> None:
        """The VMs as they were remembered."""
        for host, count in counted(vms):
            del self._scopes[host][scope]
            self.counts[host] -= count
            if not self.counts[host]:
                del self._scopes[host], self.counts[host]


def counted(vms: Iterable[Vm]) -> Iterable[tuple[str, int]]:
    return Counter([name_key(vm.host) for vm in vms if vm.host]).items()
