"""§2.6: a question that waits is answered when the document changes, else when its time is up, and not much later.

Rule 1: a process that is well, and was before the change, answers within a second of it.
Rule 2: nobody waits longer than it asked for, and a 304 that says so did not come before its time.
Not here: whether the answer is right (isolation.py, streams.py).
"""

from typing import ClassVar

from notbefore.simulation.facts import Facts
from notbefore.simulation.laws.law import Violation
from notbefore.simulation.laws.ledger import Ledger
from notbefore.simulation.laws.ready import ready_since_us
from notbefore.simulation.steps import Committed, Step, VmAnswered

SECOND_US = 1_000_000
WITHIN_US = SECOND_US
SETTLED_US = 2 * SECOND_US
# The clock of a machine may be that much off over a minute.
DRIFT_US = 20_000
NOT_MODIFIED = 304
ANSWERED = frozenset({200, NOT_MODIFIED})


class Waiting:
    code: ClassVar[str] = "§2.6"

    def __init__(self, ledger: Ledger | None = None) -> None:
        self._ledger = ledger or Ledger()

    def see(self, step: Step, facts: Facts) -> None:
        if isinstance(step, Committed):
            self._ledger.read(step)
        elif isinstance(step, VmAnswered) and step.answer.status in ANSWERED:
            applied_us = applied_us_of(step)
            if applied_us is not None and self._ledger.askers.is_certain(step, facts):
                self._judge(step, applied_us, facts)

    def _judge(self, step: VmAnswered, applied_us: int, facts: Facts) -> None:
        waited_us = step.at_us - step.asked_us
        if step.answer.status == NOT_MODIFIED and waited_us < applied_us - DRIFT_US:
            raise self._broken(f"told 304 after {waited_us // 1000} ms", step)
        ready_us = ready_since_us(facts.processes[step.process])
        if ready_us is None:
            return
        if ready_us <= step.asked_us - SETTLED_US and waited_us > applied_us + WITHIN_US:
            raise self._broken(f"told after {waited_us // 1000} ms", step)
        for risen_us, risen in reversed(self._ledger.risen.get(step.vm.scope, ())):
            if risen_us <= max(step.asked_us, ready_us + SETTLED_US):
                return
            if step.at_us - risen_us > WITHIN_US:
                raise self._broken(f"told {(step.at_us - risen_us) // 1000} ms after {risen} was there", step)

    def _broken(self, sentence: str, step: VmAnswered) -> Violation:
        return Violation(self.code, f"{step.vm.vm} waited at {step.process} and was {sentence}", step.vm.scope)


def applied_us_of(step: VmAnswered) -> int | None:
    """How long the answer says that it could have been held."""
    applied = next((value for name, value in step.answer.headers if name == b"preference-applied"), None)
    return int(applied.removeprefix(b"wait=")) * SECOND_US if applied is not None else None
