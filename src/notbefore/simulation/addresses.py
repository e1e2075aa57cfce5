"""Who has which address by the store's own word, so that a guest whose address is now another's does not speak from it.

Rule 1: while two VMs claim an address both may ask, and the service must know neither: but only once its process can
have heard of both claims.
"""

from notbefore.core.model import name_key
from notbefore.runtime.snapshot import VmRef
from notbefore.simulation.facts import ProcessFacts
from notbefore.simulation.scheduler import SECOND_US
from notbefore.simulation.steps import Committed

HEARD_OF_US = 5 * SECOND_US


class Addresses:
    def __init__(self) -> None:
        self._claimed_us: dict[str, dict[VmRef, int]] = {}

    def see(self, step: Committed) -> None:
        key = step.after.key
        now = [(a, VmRef(key, name_key(vm.name))) for vm in step.after.vms for a in vm.addresses]
        for address, claims in self._claimed_us.items():
            for ref in [ref for ref in claims if ref.scope == step.after.key and (address, ref) not in now]:
                del claims[ref]
        for address, ref in now:
            self._claimed_us.setdefault(address, {}).setdefault(ref, step.at_us)

    def may_speak(self, ref: VmRef, address: str, to: ProcessFacts, now_us: int) -> bool:
        """Whether a request from this address is this VM's, or nobody's, for all that the process can know."""
        claims = self._claimed_us.get(address, {})
        if set(claims) <= {ref}:
            return True
        well = to.calm_since_us is not None and now_us - max(to.calm_since_us, to.loaded_us or 0) > HEARD_OF_US
        return ref in claims and well and now_us - claims[ref] > HEARD_OF_US
