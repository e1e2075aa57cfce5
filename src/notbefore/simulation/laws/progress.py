"""L2 for operations and rollouts: whatever is owed is done within seconds, and nothing waits without a reason.

Rule 1: owed is what nobody has to wait for: an event asked for, a gate to open, a wave to end, an event to take back
(S9), a wave's operation to begin, a halt. Ten seconds later it is done, if a process is well that nobody stepped.
Rule 2: an operation that is in no wave, and a rollout without limits but a budget, go on when a scope that they wait
for has had nothing planned for a quarter of an hour, and no rest to take by the wall of whoever is well.
Rule 3: when the run ends every operation has ended, and every rollout has, or is paused or halted.
"""

import heapq
from typing import ClassVar

from notbefore.core.kinds import Status, VmState
from notbefore.core.model import is_on, name_key
from notbefore.core.operation import Operation, OperationStatus, ScopedVm, Stage
from notbefore.core.rollout import Over, Rollout, RolloutStatus
from notbefore.simulation.facts import Facts
from notbefore.simulation.laws.domains import is_planned
from notbefore.simulation.laws.law import Violation
from notbefore.simulation.laws.ready import ready_since_us
from notbefore.simulation.laws.rollouts import failed_of
from notbefore.simulation.laws.wave_book import OPERATION, ROLLOUT, Part, WaveBook
from notbefore.simulation.steps import Committed, DocumentPut, Ended, Step

SECOND_US = 1_000_000
OWED_US = 10 * SECOND_US
# Longer than any rest that is simulated and the longest wait before another try.
IDLE_US = 900 * SECOND_US

Thing = tuple[str, str]


class Progress:
    code: ClassVar[str] = "L2"

    def __init__(self, book: WaveBook) -> None:
        self._book = book
        # Of what is under way: when it last changed, and when to look at it.
        self._changed_us: dict[Thing, int] = {}
        self._looks: list[tuple[int, int, Thing]] = []
        self._number = 0
        # When a scope last had a planned event, or was changed by a declaration.
        self._busy_us: dict[str, int] = {}

    def see(self, step: Step, facts: Facts) -> None:
        self._see(step, facts)
        while self._looks and self._looks[0][0] <= step.at_us:
            self._look_at(heapq.heappop(self._looks)[2], step.at_us, facts)

    def _see(self, step: Step, facts: Facts) -> None:
        if isinstance(step, Committed):
            for part, _ in self._book.moved(step, facts):
                self._note(part.wave[0], step.at_us)
            commit = self._book.ledger.read(step)
            if commit.moves or commit.vms_changed:
                self._busy_us[commit.key] = step.at_us
        elif isinstance(step, DocumentPut):
            turned = self._book.turned(step, facts)
            if turned.operation and turned.operation[1]:
                self._note(turned.operation[1].id, step.at_us)
            elif turned.rollout and turned.rollout[1]:
                self._changed((ROLLOUT, turned.rollout[1].id), step.at_us)
        elif isinstance(step, Ended):
            self._judge_end()

    def _note(self, operation_id: str, at_us: int) -> None:
        operation = self._book.operations.get(operation_id)
        if operation is None:
            return
        if not operation.is_over:
            self._changed((OPERATION, operation.id), at_us)
        if operation.rollout:
            self._changed((ROLLOUT, operation.rollout), at_us)

    def _changed(self, thing: Thing, at_us: int) -> None:
        if thing not in self._changed_us:
            self._look_again(at_us + OWED_US + 1, thing)
        self._changed_us[thing] = at_us

    def _look_again(self, at_us: int, thing: Thing) -> None:
        self._number += 1
        heapq.heappush(self._looks, (at_us, self._number, thing))

    def _look_at(self, thing: Thing, now_us: int, facts: Facts) -> None:
        kind, key = thing
        found = self._book.operations.get(key) if kind == OPERATION else self._book.rollouts.get(key)
        if found is None or found.is_over:
            del self._changed_us[thing]
            return
        changed_us = self._changed_us[thing]
        owed = (
            owed_by_operation(found, self._book) if isinstance(found, Operation) else owed_by_rollout(found, self._book)
        )
        if owed and (process := whose_fault(max(changed_us, now_us - 60 * OWED_US), now_us, OWED_US, facts)):
            late_s = (now_us - changed_us) // SECOND_US
            raise Violation(owed[0], f"{kind} {key}: {process} is well, and for {late_s} s {owed[1]}")
        if not owed and now_us - changed_us > IDLE_US:
            self._judge_idle(found, changed_us, now_us, facts)
        next_us = (
            changed_us + OWED_US + 1 if changed_us + OWED_US >= now_us else now_us + (OWED_US if owed else IDLE_US)
        )
        self._look_again(next_us, thing)

    def _judge_idle(self, found: Operation | Rollout, changed_us: int, now_us: int, facts: Facts) -> None:
        process = whose_fault(max(changed_us, now_us - IDLE_US), now_us, IDLE_US, facts)
        if process is None:
            return
        for of in waited_for(found, facts):
            if self._is_free(of, found, now_us, facts.wall_ms(process), facts):
                sentence = f"{process} is well, and {of.scope}/{of.vm} waits for nothing"
                raise Violation(self.code, f"{type(found).__name__.lower()} {found.id}: {sentence}")

    def _is_free(self, of: ScopedVm, found: Operation | Rollout, now_us: int, wall_ms: int, facts: Facts) -> bool:
        key = name_key(of.scope)
        stored = facts.scopes.get(key)
        vm = stored.scope.vm(of.vm) if stored and not stored.scope.removed else None
        if vm is None or stored is None or vm.state is not VmState.RUNNING:
            return False
        if isinstance(found, Operation) and found.host and not is_on(vm, found.host):
            return False
        rest, live = stored.scope.recovery, any(is_planned(event) for event in stored.scope.events)
        if rest and rest.update_domain != vm.update_domain and rest.span.until_ms > wall_ms:
            return False
        return not live and now_us - self._busy_us.get(key, 0) > IDLE_US

    def _judge_end(self) -> None:
        for operation in self._book.operations.values():
            if not operation.is_over:
                raise Violation(self.code, f"operation {operation.id}: still {operation.status} when the run ended")
        for rollout in self._book.rollouts.values():
            if rollout.status in (RolloutStatus.RUNNING, RolloutStatus.CANCELLING):
                raise Violation(self.code, f"rollout {rollout.id}: still {rollout.status} when the run ended")


def whose_fault(since_us: int, now_us: int, for_us: int, facts: Facts) -> str | None:
    """A process that could have done what is owed: well for so long, with nobody having stepped its wall."""
    for process in facts.processes.values():
        ready_us = ready_since_us(process)
        if ready_us is not None and max(ready_us, process.stepped_us, since_us) <= now_us - for_us:
            return process.name
    return None


def owed_by_operation(operation: Operation, book: WaveBook) -> tuple[str, str] | None:
    """By which law, and what."""
    wave = operation.wave
    if wave is None:
        is_cancelled = operation.status is OperationStatus.CANCELLING
        return ("L2", "it is cancelled and has not ended") if is_cancelled else None
    parts = [book.parts.get(member.event_id) for member in wave.members]
    there = [part for part in parts if part]
    if operation.status is OperationStatus.CANCELLING and (left := still_to_start(there)):
        return "S9", f"it is cancelled, and {left.event.id} is still {left.event.status}"
    if any(member.stage is Stage.ASKED for member in wave.members):
        return "L2", "an event of its wave is asked for and not answered"
    if all(part.is_over for part in there):
        return "L2", "all of its wave are over, and it is not"
    if all(part.may_start for part in there) and (left := still_to_start(there)):
        return "L2", f"every event of its wave is released, and {left.event.id} has not started"
    return None


def still_to_start(parts: list[Part]) -> Part | None:
    return next((part for part in parts if part.event.status is Status.SCHEDULED and not part.is_over), None)


def owed_by_rollout(rollout: Rollout, book: WaveBook) -> tuple[str, str] | None:
    for target in rollout.in_hand:
        operation = book.operations.get(target.wave.operation) if target.wave else None
        if target.wave and operation is None:
            return "L2", f"its wave {target.wave.number} has not begun"
        if operation and operation.is_over:
            return "L2", f"it has not heard that {operation.id} is over"
        withdraws = rollout.status in (RolloutStatus.HALTED, RolloutStatus.CANCELLING)
        if withdraws and operation and operation.status is OperationStatus.RUNNING:
            return "S9", f"it is {rollout.status}, and {operation.id} goes on"
    may_fail = rollout.status in (RolloutStatus.RUNNING, RolloutStatus.PAUSED)
    if may_fail and failed_of(rollout, book) - rollout.forgiven > rollout.limits.failed_max:
        return "§3.4", "more impacts have failed than may, and it has not halted"
    return None


def waited_for(found: Operation | Rollout, facts: Facts) -> list[ScopedVm]:
    """VMs for which nothing but their scopes can be a reason to wait."""
    if isinstance(found, Operation):
        return [] if found.wave else [one.of for one in found.waiting]
    limits = found.limits
    limited = limits.windows or limits.impacts_max is not None or limits.vm_rest_s
    if found.status is not RolloutStatus.RUNNING or limited or any(target.wave for target in found.in_hand):
        return []
    in_hand = [of for target in found.in_hand for of in target.waiting]
    if in_hand:
        return in_hand
    return [of for name in found.waiting for of in vms_of_target(name, found.over, facts)]


def vms_of_target(name: str, over: Over, facts: Facts) -> list[ScopedVm]:
    scopes = [stored.scope for _, stored in sorted(facts.scopes.items()) if not stored.scope.removed]
    if over is Over.SCOPES:
        return [ScopedVm(scope.name, vm.name) for scope in scopes if scope.key == name_key(name) for vm in scope.vms]
    return [ScopedVm(scope.name, vm.name) for scope in scopes for vm in scope.vms if is_on(vm, name)]
