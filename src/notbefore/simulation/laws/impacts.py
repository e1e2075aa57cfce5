"""S6: an impact is carried out at most once per attempt id, also with two servers; and S9: never uncalled for.

Rule 1: an attempt begins once in the whole run, and only when its very process claimed it by a commit.
Rule 2: a claim is left alone while its process lives.
Rule 3: a VM has one impact at a time for each living claim. A process that ended, or whose attempt was taken over,
is told nothing any more; what it began is the executor's to end.
Rule 4: no impact begins for an event that never Started.
"""

from typing import ClassVar

from notbefore.core.kinds import Status
from notbefore.core.model import name_key
from notbefore.simulation.facts import Facts
from notbefore.simulation.laws.law import Violation
from notbefore.simulation.laws.ledger import Ledger
from notbefore.simulation.steps import Committed, ImpactBegan, ImpactOver, Step


class Impacts:
    code: ClassVar[str] = "S6"

    def __init__(self, ledger: Ledger | None = None) -> None:
        self._ledger = ledger or Ledger()
        self._begun: set[str] = set()
        self._claims: set[tuple[str, str]] = set()
        self._started: set[str] = set()
        # Per scope and VM: the attempts that run, and in which process.
        self._running: dict[tuple[str, str], dict[str, str]] = {}

    def see(self, step: Step, facts: Facts) -> None:
        if isinstance(step, Committed):
            self._note(step, facts)
        elif isinstance(step, ImpactBegan):
            self._judge_beginning(step, facts)
        elif isinstance(step, ImpactOver):
            self._running.get(target_of(step), {}).pop(step.impact.attempt_id, None)

    def _note(self, step: Committed, facts: Facts) -> None:
        before = {pending.key: pending.claimed_by for pending in step.before.pending} if step.before else {}
        for pending in step.after.pending:
            if pending.claimed_by == step.process:
                self._claims.add((step.process, pending.attempt_id))
            former = before.get(pending.key)
            if former and pending.claimed_by not in {"", former} and lives(former, step.decided_us, facts):
                sentence = f"{pending.attempt_id}: {pending.claimed_by} took it from {former}, which lives"
                raise Violation(self.code, sentence, step.after.key, pending.effect.event_id)
        for move in self._ledger.read(step).moves:
            if move.after and move.after.status is Status.STARTED:
                self._started.add(move.id)

    def _judge_beginning(self, step: ImpactBegan, facts: Facts) -> None:
        impact = step.impact
        if impact.event_id not in self._started:
            raise self._broken("S9", "an impact began for an event that never Started", step)
        if impact.attempt_id in self._begun:
            raise self._broken(self.code, f"attempt {impact.attempt_id} began a second time", step)
        if (step.process, impact.attempt_id) not in self._claims:
            raise self._broken(self.code, f"{impact.attempt_id} began and {step.process} had not claimed it", step)
        self._begun.add(impact.attempt_id)
        target = target_of(step)
        running = self._running.setdefault(target, {})
        living = living_claims(target[0], facts)
        if living.get(impact.attempt_id) == step.process:
            for attempt_id, process in running.items():
                if living.get(attempt_id) == process and facts.processes[process].ended_us is None:
                    raise self._broken(self.code, f"{impact.attempt_id} began while {attempt_id} was under way", step)
        running[impact.attempt_id] = step.process

    def _broken(self, law: str, sentence: str, step: ImpactBegan) -> Violation:
        return Violation(law, sentence, name_key(step.impact.scope), step.impact.event_id)


def lives(process: str, at_us: int, facts: Facts) -> bool:
    ended_us = facts.processes[process].ended_us if process in facts.processes else at_us
    return ended_us is None or ended_us > at_us


def target_of(step: ImpactBegan | ImpactOver) -> tuple[str, str]:
    return name_key(step.impact.scope), name_key(step.impact.vm.name)


def living_claims(key: str, facts: Facts) -> dict[str, str]:
    """By attempt id: who has claimed it, as the store knows it now."""
    return {pending.attempt_id: pending.claimed_by for pending in facts.scopes[key].scope.pending}
