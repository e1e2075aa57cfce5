"""S9 and S10: events go forward only, and nothing leaves Started without evidence, a word, or the retry limit.

Rule 1: the moves are those of SPEC §3's drawing; what ended is never live again, by history's word or an answer.
Rule 2: an outcome is done when an executor gave that very evidence for that event and VM, or an operator said so;
it is given up when the executor failed at least five times.
Rule 3: a VM leaves an event only by leaving its scope.
Rule 4: a Terminate that is done has taken its VM, a Preempt took or deallocated it, a Redeploy moved it (§3.5).
"""

from typing import ClassVar

from notbefore.core.draft import Answer
from notbefore.core.history import Change
from notbefore.core.kinds import EventType, Source, Status, VmState
from notbefore.core.model import ActorKind, Event, Outcome, name_key
from notbefore.core.requests import CancelEvent, CompleteEvent
from notbefore.simulation.facts import Facts
from notbefore.simulation.laws.law import Violation
from notbefore.simulation.laws.ledger import Ledger, Move, vm_keys
from notbefore.simulation.steps import Committed, ImpactOver, OperatorAnswered, Step

FAILURES_MIN = 5
ENDS = ("completed", "cancelled", "failed")
WORD = "completed: operator's word"
MOVES = {
    None: {Status.QUEUED, Status.SCHEDULED, Status.STARTED},
    Status.QUEUED: {Status.QUEUED, Status.SCHEDULED, Status.STARTED, Status.CANCELLED},
    Status.SCHEDULED: {Status.SCHEDULED, Status.STARTED, Status.CANCELLED},
    Status.STARTED: {Status.STARTED, Status.COMPLETED, Status.FAILED},
}


class Endings:
    code: ClassVar[str] = "S10"

    def __init__(self, ledger: Ledger | None = None) -> None:
        self._ledger = ledger or Ledger()
        # By event and VM: what executors said, with the new hosts they named; and how often they failed.
        self._evidence: dict[tuple[str, str], dict[str, set[str | None]]] = {}
        self._failures: dict[tuple[str, str], int] = {}
        self._ended: set[str] = set()

    def see(self, step: Step, facts: Facts) -> None:
        if isinstance(step, ImpactOver):
            self._hear(step)
        elif isinstance(step, Committed):
            for move in self._ledger.read(step).moves:
                self._judge(step, move)
            for change in step.record.changes if step.record else ():
                if change.event and change.what.startswith(ENDS) and step.after.event(change.event.id):
                    sentence = f"{change.event.id}: history says '{change.what}' and it lives on"
                    raise Violation("S9", sentence, step.after.key, change.event.id)
        elif isinstance(step, OperatorAnswered):
            self._judge_answer(step, facts)

    @staticmethod
    def _judge_answer(step: OperatorAnswered, facts: Facts) -> None:
        asked, key = step.request, name_key(step.request.scope)
        if isinstance(asked, CancelEvent | CompleteEvent) and isinstance(step.answer, Answer):
            event = facts.scopes[key].scope.event(asked.event_id)
            if event:
                sentence = f"{event.id}: {type(asked).__name__} was granted and it is {event.status}"
                raise Violation("S9", sentence, key, event.id)

    def _hear(self, step: ImpactOver) -> None:
        target = (step.impact.event_id, name_key(step.impact.vm.name))
        if step.evidence is None:
            self._failures[target] = self._failures.get(target, 0) + 1
        else:
            hosts = self._evidence.setdefault(target, {}).setdefault(step.evidence.sentence, set())
            hosts.add(step.evidence.new_host)

    def _judge(self, step: Committed, move: Move) -> None:
        event = move.after or (move.told[-1].event if move.told else None)
        if event is None or event.status is None:
            raise self._broken("S10", "it is gone and history does not say how it ended", step, move)
        if event.status not in MOVES.get(move.was, ()) or (move.after is None) != (event.ended_at_ms is not None):
            raise self._broken("S9", f"it went from {move.was or 'nothing'} to {event.status}", step, move)
        if move.id in self._ended:
            raise self._broken("S9", f"it had ended and is {event.status} again", step, move)
        if move.after is None:
            self._ended.add(move.id)
        if move.before and move.before.vms != event.vms:
            self._judge_leaving(step, move, move.before, event)
        known = len(move.before.outcomes) if move.before else 0
        for outcome in event.outcomes[known:]:
            self._judge_outcome(step, move, event, outcome)
        if move.was is Status.STARTED and move.after is None:
            self._judge_end(step, move, event, move.told[-1])
        if move.becomes_visible and event.source is Source.USER and event.status is Status.SCHEDULED:
            self._judge_number(step, move)

    def _judge_leaving(self, step: Committed, move: Move, before: Event, event: Event) -> None:
        left = set(map(name_key, before.vms)) - set(map(name_key, event.vms))
        stayed = tuple(name for name in before.vms if name_key(name) not in left)
        if stayed != event.vms or left & vm_keys(step.after):
            raise self._broken("S10", f"its VMs became {event.vms} and were {before.vms}", step, move)

    def _judge_outcome(self, step: Committed, move: Move, event: Event, outcome: Outcome) -> None:
        target = (event.id, name_key(outcome.vm))
        if not outcome.done:
            if self._failures.get(target, 0) < FAILURES_MIN:
                raise self._broken("S10", f"{outcome.vm} was given up before its {FAILURES_MIN}th failure", step, move)
            return
        hosts = self._evidence.get(target, {}).get(outcome.evidence)
        if hosts is None and not any(is_word(change) for change in move.told):
            raise self._broken("S10", f"{outcome.vm} is done without evidence: {outcome.evidence!r}", step, move)
        vm = step.after.vm(outcome.vm)
        if vm is None:
            return
        if event.type is EventType.TERMINATE or (event.type is EventType.PREEMPT and vm.state is VmState.RUNNING):
            raise self._broken("§3.5", f"{event.type} of {vm.name} is done and the VM is as before", step, move)
        if event.type is EventType.REDEPLOY and hosts and None not in hosts and vm.host not in hosts:
            raise self._broken("§3.5", f"{vm.name} was moved to one of {hosts} and is on {vm.host!r}", step, move)

    def _judge_end(self, step: Committed, move: Move, event: Event, end: Change) -> None:
        """Every outcome was judged when it was written; here is judged that there are enough of them."""
        done = {name_key(outcome.vm) for outcome in event.outcomes if outcome.done}
        over = {name_key(outcome.vm) for outcome in event.outcomes}
        named = set(map(name_key, event.vms))
        match end.what:
            case "completed":
                enough = done >= named
            case "completed: operator's word":
                enough = is_word(end)
            case "completed: no VM left":
                enough = not (named - done) & vm_keys(step.after)
            case "failed":
                enough = over >= named and bool(over - done) and event.status is Status.FAILED
            case _:
                enough = False
        if not enough:
            raise self._broken("S10", f"it left Started as '{end.what}' without what that takes", step, move)

    def _judge_number(self, step: Committed, move: Move) -> None:
        scheduled = [e for e in step.after.events if e.source is Source.USER and e.status is Status.SCHEDULED]
        limit = step.after.settings.user_operations_max
        if len(scheduled) > limit:
            raise self._broken("§3.3", f"{len(scheduled)} user operations are Scheduled and {limit} may be", step, move)

    @staticmethod
    def _broken(law: str, sentence: str, step: Committed, move: Move) -> Violation:
        return Violation(law, f"{move.id}: {sentence}", step.after.key, move.id)


def is_word(change: Change) -> bool:
    return change.what == WORD and change.by.kind is ActorKind.OPERATOR
