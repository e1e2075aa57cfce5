"""§3.4: the course of a rollout: what may follow what, that it begins nothing when it should not, and that it halts.

Rule 1: statuses change as operators and failures ask for; once ended it stays.
Rule 2: a new wave is said by a rollout that runs, in the commit that says it; targets are not lost.
Rule 3: when more impacts have failed than may, it goes no further: whoever knows of them says no new wave.
Rule 4: history says who or what changed its status, and a halt has its reason (S11).
"""

from typing import ClassVar

from notbefore.core.model import name_key
from notbefore.core.rollout import Rollout, RolloutStatus
from notbefore.simulation.facts import Facts
from notbefore.simulation.laws.law import Violation
from notbefore.simulation.laws.wave_book import WaveBook
from notbefore.simulation.steps import DocumentPut, Step

RUNNING, PAUSED, HALTED = RolloutStatus.RUNNING, RolloutStatus.PAUSED, RolloutStatus.HALTED
CANCELLING, COMPLETED, CANCELLED = RolloutStatus.CANCELLING, RolloutStatus.COMPLETED, RolloutStatus.CANCELLED
FORWARD = {
    RUNNING: {RUNNING, PAUSED, HALTED, CANCELLING, COMPLETED},
    PAUSED: {PAUSED, RUNNING, HALTED, CANCELLING, COMPLETED},
    HALTED: {HALTED, RUNNING, CANCELLING, COMPLETED},
    CANCELLING: {CANCELLING, CANCELLED},
}


class RolloutCourse:
    code: ClassVar[str] = "§3.4"

    def __init__(self, book: WaveBook) -> None:
        self._book = book

    def see(self, step: Step, facts: Facts) -> None:
        turned = self._book.turned(step, facts).rollout if isinstance(step, DocumentPut) else None
        if turned is None or not isinstance(step, DocumentPut):
            return
        before, after = turned
        if after is None:
            if before and not before.is_over:
                raise broken("it was removed before it had ended", before)
            return
        judge_told(step, before, after)
        if before is None:
            return
        judge_course(before, after)
        if after.waves_begun > before.waves_begun:
            self._judge_beginning(before, after)

    def _judge_beginning(self, before: Rollout, after: Rollout) -> None:
        if before.status is not RUNNING or after.status is not RUNNING:
            raise broken(f"it said a wave while it was {before.status}", after)
        failed = failed_of(after, self._book) - after.forgiven
        if failed > after.limits.failed_max:
            raise broken(f"it said a wave after {failed} failed impacts, and {after.limits.failed_max} may be", after)


def failed_of(rollout: Rollout, book: WaveBook) -> int:
    """By the operations of its waves, as they are committed."""
    waves = [operation for operation, begun in book.begun.items() if begun.rollout == rollout.id]
    found = [book.operations[operation] for operation in waves if operation in book.operations]
    return sum(len(member.failed_vms) for operation in found for member in operation.members())


def judge_course(before: Rollout, after: Rollout) -> None:
    if before.is_over:
        raise broken(f"it had ended as {before.status} and was changed", after)
    if after.status not in FORWARD[before.status]:
        raise broken(f"it went from {before.status} to {after.status}", after)
    if targets_of(before) != targets_of(after):
        raise broken("a target was lost or is there twice", after)
    if after.limits != before.limits or after.touched < before.touched or after.failed < before.failed:
        raise broken("its limits changed, or what was counted is forgotten", after)
    if after.status is HALTED and not after.why:
        raise broken("it halted and does not say why", after)
    if after.is_over and any(target.wave for target in after.in_hand):
        raise broken(f"it is {after.status}, and a wave of it is under way", after)


def judge_told(step: DocumentPut, before: Rollout | None, after: Rollout) -> None:
    told = [change for change in step.record.changes if change.rollout == after.id] if step.record else []
    if (before is None or before.status is not after.status) and not (told and all(change.why for change in told)):
        raise Violation("S11", f"rollout {after.id} became {after.status} and history does not say why")


def targets_of(rollout: Rollout) -> list[str]:
    in_hand, done = [one.name for one in rollout.in_hand], [one.name for one in rollout.done]
    return sorted(map(name_key, [*rollout.waiting, *in_hand, *done]))


def broken(sentence: str, rollout: Rollout) -> Violation:
    return Violation("§3.4", f"rollout {rollout.id}: {sentence}")
