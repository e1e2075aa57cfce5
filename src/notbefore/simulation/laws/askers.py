"""Who may speak from an address: SPEC §5 knows a VM by its address, and another scope's VM may claim that too.

Rule 1: an address that two VMs have claimed for a while identifies nobody; one that a single VM has, identifies it.
Rule 2: a while is what a process that is well needs to hear of a commit.
Rule 3: while another VM claims an address, and until the process can have heard that it no longer does, nobody can
tell as whom the asker was answered.
"""

from notbefore.core.model import Scope, name_key
from notbefore.runtime.snapshot import VmRef
from notbefore.simulation.facts import Facts
from notbefore.simulation.laws.ready import ready_since_us
from notbefore.simulation.steps import Committed, VmAnswered

HEARD_WITHIN_US = 5_000_000


class Askers:
    def __init__(self) -> None:
        # By address: since when VMs claim it, and until when others did.
        self._since_us: dict[str, dict[VmRef, int]] = {}
        self._until_us: dict[str, dict[VmRef, int]] = {}

    def note(self, step: Committed) -> None:
        before = claims_of(step.before) if step.before else {}
        after = claims_of(step.after)
        for address, ref in before:
            if (address, ref) not in after:
                self._since_us.get(address, {}).pop(ref, None)
                self._until_us.setdefault(address, {})[ref] = step.at_us
        for address, ref in after:
            self._since_us.setdefault(address, {}).setdefault(ref, step.at_us)

    def ever_claimed(self, address: str, ref: VmRef) -> bool:
        return ref in self._since_us.get(address, ()) or ref in self._until_us.get(address, ())

    def is_certain(self, step: VmAnswered, facts: Facts) -> bool:
        """Whether nobody else can have been meant by the asker's address."""
        if any(ref != step.vm for ref in self._since_us.get(step.address, ())):
            return False
        until_us = max((us for ref, us in self._until_us.get(step.address, {}).items() if ref != step.vm), default=None)
        return until_us is None or surely_heard(step, until_us, facts)

    def is_nobody(self, step: VmAnswered, facts: Facts) -> bool:
        """Whether the process must have known that two VMs claim the asker's address."""
        since_us = sorted(self._since_us.get(step.address, {}).values())
        return len(since_us) > 1 and surely_heard(step, since_us[1], facts)

    def is_known(self, step: VmAnswered, facts: Facts) -> bool:
        """Whether the process must have known that the asker, and nobody else, claims its address."""
        since_us = self._since_us.get(step.address, {}).get(step.vm)
        return since_us is not None and surely_heard(step, since_us, facts) and self.is_certain(step, facts)


def claims_of(scope: Scope) -> dict[tuple[str, VmRef], None]:
    return {(address, VmRef(scope.key, name_key(vm.name))): None for vm in scope.vms for address in vm.addresses}


def surely_heard(step: VmAnswered, at_us: int, facts: Facts) -> bool:
    """Whether the answering process must have heard of a commit of that time when it was asked."""
    since_us = ready_since_us(facts.processes[step.process])
    heard_us = step.asked_us - HEARD_WITHIN_US
    return since_us is not None and since_us <= heard_us and at_us <= heard_us
