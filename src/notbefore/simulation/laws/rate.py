"""§2.1: 5 requests/s per VM; every well-formed request of a known VM counts.

Rule 1: a bucket holds a second's worth, and each process has buckets of its own: in any w seconds a VM gets at most
5 + 5·w answers from a process that are not 429. The fastest clock, and one answer that was long in coming, allowed for.
Not here: that a VM is not refused for nothing; a 429 costs it a second.
"""

from typing import ClassVar

from notbefore.runtime.snapshot import VmRef
from notbefore.simulation.facts import Facts
from notbefore.simulation.laws.law import Violation
from notbefore.simulation.laws.ledger import Ledger
from notbefore.simulation.steps import Step, VmAnswered

COUNTED = frozenset({200, 304, 400, 503})
PER_US = 5 * 1.0003 / 1_000_000
AT_ONCE_MAX = 5 + 1.0


class Rate:
    code: ClassVar[str] = "§2.1"

    def __init__(self, ledger: Ledger | None = None) -> None:
        self._ledger = ledger or Ledger()
        # By VM and process: how full the bucket was after the last answer, and when that was.
        self._full: dict[tuple[VmRef, str], tuple[float, int]] = {}

    def see(self, step: Step, facts: Facts) -> None:
        if not isinstance(step, VmAnswered) or step.answer.status not in COUNTED:
            return
        if not is_well_formed(step) or not self._ledger.askers.is_certain(step, facts):
            return
        stream = (step.vm, step.process)
        full, last_us = self._full.get(stream, (0.0, step.at_us))
        full = max(0.0, full - (step.at_us - last_us) * PER_US) + 1
        self._full[stream] = (full, step.at_us)
        if full > AT_ONCE_MAX:
            sentence = f"{step.process} answered {step.vm.scope}/{step.vm.vm} faster than five times a second"
            raise Violation(self.code, sentence, step.vm.scope)


def is_well_formed(step: VmAnswered) -> bool:
    """Whether the rate was asked at all: a 400 may also be for the head, which is judged before."""
    return step.answer.status != 400 or (
        b"api-version=" in step.head.query and (b"metadata", b"true") in step.head.headers
    )
