"""§3.4, S9 and S11 for operations: each goes forward, loses no VM, says what is true, and leaves nothing behind.

Rule 1: statuses, stages and waves go forward only; a wave is formed when the former is over, and once ended it stays.
Rule 2: every VM is in one place: waiting, in the wave, done or left; from the beginning to the end.
Rule 3: what an operation says of an event is what its scope says, or said before.
Rule 4: a VM is left for a reason that is true: it was gone, moved, refused, or the operation was cancelled.
Rule 5: an operation that has ended has no live event; the next of its events never comes (waves.py).
"""

from collections import Counter
from typing import ClassVar

from notbefore.core.kinds import Status, VmState
from notbefore.core.model import is_on, name_key
from notbefore.core.operation import Member, Operation, OperationStatus, ScopedVm, Stage, Wave
from notbefore.simulation.facts import Facts
from notbefore.simulation.laws.law import Violation
from notbefore.simulation.laws.ready import ready_since_us
from notbefore.simulation.laws.wave_book import VmKey, WaveBook
from notbefore.simulation.steps import DocumentPut, Step

HEARD_US = 5_000_000
FORWARD = {
    OperationStatus.RUNNING: frozenset(OperationStatus) - {OperationStatus.CANCELLED},
    OperationStatus.CANCELLING: frozenset({OperationStatus.CANCELLING, OperationStatus.CANCELLED}),
}
STAGES = tuple(Stage)
GONE = ("it is not there any more", "it is not running", "it is on ")


class OperationsKept:
    code: ClassVar[str] = "§3.4"

    def __init__(self, book: WaveBook) -> None:
        self._book = book

    def see(self, step: Step, facts: Facts) -> None:
        if not isinstance(step, DocumentPut):
            return
        turned = self._book.turned(step, facts).operation
        if turned is None:
            return
        before, after = turned
        if after is None:
            self._judge_removal(before)
            return
        if before is None:
            self._judge_beginning(after)
        else:
            judge_course(before, after)
            self._judge_let_go(before, after, facts)
        judge_told(step, before, after)
        self._judge_truth(after)
        self._judge_left(step, before, after, facts)
        if after.is_over:
            self._judge_end(after)

    def _judge_removal(self, before: Operation | None) -> None:
        if before and not before.is_over:
            raise broken("it was removed before it had ended", before)
        for rollout in self._book.rollouts.values():
            if before and any(target.wave and target.wave.operation == before.id for target in rollout.in_hand):
                raise broken(f"it was removed, and rollout {rollout.id} has not heard how it ended", before)

    def _judge_beginning(self, after: Operation) -> None:
        if after.status is not OperationStatus.RUNNING or max(vms_of(after).values(), default=1) > 1:
            raise broken("it did not begin with each of its VMs once", after)
        begun = self._book.begun.get(after.id)
        if not after.rollout:
            return
        if begun is None or begun.rollout != after.rollout:
            raise broken(f"rollout {after.rollout} has not said that it is one of its waves", after)
        if set(vms_of(after)) != {of.key for of in begun.wave.vms}:
            raise broken("it has other VMs than its rollout gave to the wave", after)

    def _judge_let_go(self, before: Operation, after: Operation, facts: Facts) -> None:
        """What a wave lets go never came; or went with its scope."""
        there = {member.event_id for member in after.members()}
        for member in before.members():
            part = self._book.parts.get(member.event_id)
            if member.event_id in there or part is None:
                continue
            if not part.is_over or (part.has_started and not facts.scopes[part.key].scope.removed):
                raise Violation(
                    "S9", f"{member.event_id}: its wave let it go, and it had come", part.key, part.event.id
                )

    def _judge_truth(self, after: Operation) -> None:
        for member in after.members():
            part = self._book.parts.get(member.event_id)
            if part is None:
                if member.stage is not Stage.ASKED:
                    raise broken(f"{member.event_id} is said to be {member.stage} and never came", after)
                continue
            is_true = {
                Stage.ASKED: True,
                Stage.ANNOUNCED: True,
                Stage.RELEASED: part.may_start,
                Stage.STARTED: part.has_started,
                Stage.OVER: part.is_over and part.event.status is member.ended,
            }
            if not is_true[member.stage]:
                raise broken(f"{member.event_id} is said to be {member.stage} {member.ended or ''} and is not", after)
            failed = {name_key(one.vm) for one in part.event.outcomes if not one.done}
            if not set(map(name_key, member.failed_vms)) <= failed or (member.stage is Stage.OVER and failed) != (
                member.stage is Stage.OVER and set(map(name_key, member.failed_vms))
            ):
                raise broken(f"of {member.event_id} {member.failed_vms} are said to have failed, not {failed}", after)

    def _judge_left(self, step: DocumentPut, before: Operation | None, after: Operation, facts: Facts) -> None:
        ready_us = ready_since_us(facts.processes[step.process])
        for left in after.left[len(before.left) if before else 0 :]:
            if not left.why:
                raise broken(f"{left.of.vm} is left and nobody says why", after)
            unsettled_us = self._book.unsettled_us.get(left.of.key, 0)
            has_heard = ready_us is not None and ready_us <= unsettled_us + HEARD_US < step.at_us
            if left.why.startswith(GONE) and has_heard and is_there(after, left.of, facts):
                raise broken(f"{left.of.scope}/{left.of.vm} is left because '{left.why}', and that is not so", after)

    def _judge_end(self, after: Operation) -> None:
        for part in self._book.of_operation(after.id):
            if not part.is_over:
                raise Violation(
                    "S9", f"{part.event.id}: it lives, and its operation is {after.status}", part.key, part.event.id
                )
        failed = any(member.ended is Status.FAILED for member in after.done)
        if after.status is not OperationStatus.CANCELLED and failed != (after.status is OperationStatus.FAILED):
            raise broken(f"it is {after.status}, and {'some' if failed else 'none'} of its events failed", after)


def judge_course(before: Operation, after: Operation) -> None:
    if before.is_over:
        raise broken(f"it had ended as {before.status} and was changed", after)
    if after.status not in FORWARD[before.status]:
        raise broken(f"it went from {before.status} to {after.status}", after)
    if vms_of(before) != vms_of(after):
        raise broken("a VM was lost or is in two places", after)
    now = {member.event_id: member for member in after.members()}
    for member in before.members():
        judge_member(after, member, now.get(member.event_id))
    if before.wave and after.wave and after.wave.number == before.wave.number:
        judge_wave(after, before.wave, after.wave)
    elif before.wave and any(
        now[one.event_id].stage is not Stage.OVER for one in before.wave.members if one.event_id in now
    ):
        raise broken(f"wave {before.wave.number} was left before it was over", after)
    if after.status is OperationStatus.CANCELLING and after.waves_formed > before.waves_formed:
        raise Violation("S9", f"{after.id}: a wave was formed after it was cancelled")


def judge_wave(after: Operation, was: Wave, now: Wave) -> None:
    if was.gate_open and not now.gate_open:
        raise broken("its gate was shut again", after)
    if now.not_before_ms != was.not_before_ms:
        raise broken("the NotBefore of its wave was moved", after)


def judge_member(after: Operation, before: Member, now: Member | None) -> None:
    if now is None:
        if before.stage is not Stage.ASKED:
            raise broken(f"{before.event_id} was {before.stage} and is forgotten", after)
    elif STAGES.index(now.stage) < STAGES.index(before.stage):
        raise broken(f"{before.event_id} went back from {before.stage} to {now.stage}", after)


def judge_told(step: DocumentPut, before: Operation | None, after: Operation) -> None:
    """S11: a status that changes, and a beginning that nobody's rollout explains, stand in history."""
    changed = before.status is not after.status if before else not after.rollout
    told = [change for change in step.record.changes if change.operation == after.id] if step.record else []
    if changed and not (told and all(change.why for change in told)):
        raise Violation("S11", f"operation {after.id} became {after.status} and history does not say why")


def is_there(operation: Operation, of: ScopedVm, facts: Facts) -> bool:
    """Running, and where the operation takes place."""
    stored = facts.scopes.get(name_key(of.scope))
    vm = stored.scope.vm(of.vm) if stored and not stored.scope.removed else None
    return vm is not None and vm.state is VmState.RUNNING and (not operation.host or is_on(vm, operation.host))


def vms_of(operation: Operation) -> Counter[VmKey]:
    """In how many places each VM is."""
    return Counter(
        [
            *(one.of.key for one in operation.waiting),
            *(one.of.key for one in operation.left),
            *(vm.key for member in operation.members() for vm in member.scoped_vms),
        ]
    )


def broken(sentence: str, operation: Operation) -> Violation:
    return Violation("§3.4", f"operation {operation.id}: {sentence}")
