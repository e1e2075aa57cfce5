"""L1: a Scheduled event is Started or gone by NotBefore + 1 s while a server runs; L2: silence stops nothing.

Rule 1: a server that runs has loaded, is in no trouble, and nobody stepped its wall since the event became visible.
One that came to this only later gets five seconds.
Rule 2: NotBefore is meant on that server's wall, and the notice must have really elapsed since it could see the event:
one that was in trouble then may have seen it as late as the trouble lasted.
Rule 3: when the run ends nothing is left to do.
"""

import heapq
from dataclasses import dataclass
from typing import ClassVar

from notbefore.core.kinds import Status
from notbefore.simulation.facts import Facts, ProcessFacts
from notbefore.simulation.laws.law import Violation
from notbefore.simulation.laws.ledger import Ledger
from notbefore.simulation.laws.ready import ready_since_us
from notbefore.simulation.steps import Committed, Ended, Step

MS_US = 1000
SECOND_US = 1_000_000
GRACE_US = SECOND_US
AFTER_TROUBLE_US = 5 * SECOND_US
SEEN_WITHIN_US = SECOND_US
DRIFT_PPM = 300
MILLION = 1_000_000


@dataclass(slots=True)
class Promise:
    key: str
    event_id: str
    visible_us: int
    not_before_ms: int
    span_us: int
    # Who surely saw it being made; None until that can be told.
    witnesses: frozenset[str] | None = None

    @property
    def drift_us(self) -> int:
        return self.span_us * DRIFT_PPM // MILLION + 10 * MS_US


class Liveness:
    code: ClassVar[str] = "L1"

    def __init__(self, ledger: Ledger | None = None) -> None:
        self._ledger = ledger or Ledger()
        self._promises: list[tuple[int, int, Promise]] = []
        self._number = 0

    def see(self, step: Step, facts: Facts) -> None:
        while self._promises and self._promises[0][0] <= step.at_us:
            self._look_at(heapq.heappop(self._promises)[2], step.at_us, facts)
        if isinstance(step, Committed):
            self._note(step)
        elif isinstance(step, Ended):
            self._judge_end(facts)

    def _note(self, step: Committed) -> None:
        commit = self._ledger.read(step)
        for move in commit.moves:
            event = move.after
            if not move.becomes_visible or event is None or event.notice is None or step.record is None:
                continue
            span_us = (event.notice.until_ms - step.record.at_ms) * MS_US
            promise = Promise(commit.key, event.id, step.at_us, event.notice.until_ms, span_us)
            self._look_again(step.at_us + SEEN_WITHIN_US, promise)

    def _look_again(self, at_us: int, promise: Promise) -> None:
        self._number += 1
        heapq.heappush(self._promises, (at_us, self._number, promise))

    def _look_at(self, promise: Promise, now_us: int, facts: Facts) -> None:
        event = facts.scopes[promise.key].scope.event(promise.event_id)
        if event is None or event.status is not Status.SCHEDULED:
            return
        if promise.witnesses is None:
            promise.witnesses = frozenset(
                p.name for p in facts.processes.values() if p.works and surely_saw(p, promise.visible_us)
            )
            self._look_again(max(now_us + 1, promise.visible_us + promise.span_us + GRACE_US), promise)
            return
        deadlines_us = [now_us + SECOND_US]
        for process in facts.processes.values():
            deadline_us = deadline_of(process, promise, now_us, facts)
            if deadline_us is None:
                continue
            if deadline_us < now_us:
                late_ms = (now_us - deadline_us) // MS_US + GRACE_US // MS_US
                sentence = f"{event.id}: still Scheduled {late_ms} ms after {process.name} should have started it"
                raise Violation(self.code, sentence, promise.key, event.id)
            deadlines_us.append(deadline_us + 1)
        self._look_again(min(deadlines_us), promise)

    @staticmethod
    def _judge_end(facts: Facts) -> None:
        for key, stored in facts.scopes.items():
            for event in stored.scope.events:
                raise Violation("L2", f"{event.id}: still {event.status} when the run ended", key, event.id)
            for pending in stored.scope.pending:
                raise Violation("L2", f"{pending.attempt_id} is pending when the run ended", key)


def surely_saw(process: ProcessFacts, at_us: int) -> bool:
    since_us = ready_since_us(process)
    return since_us is not None and since_us <= at_us


def deadline_of(process: ProcessFacts, promise: Promise, now_us: int, facts: Facts) -> int | None:
    """When, in true time, this process must have started the event at the latest; None while nobody can tell."""
    ready_us = ready_since_us(process)
    if ready_us is None or process.loaded_us is None or process.stepped_us > promise.visible_us:
        return None
    since_not_before_us = (facts.wall_ms(process.name) - promise.not_before_ms) * MS_US
    due_us = max(now_us - since_not_before_us, promise.visible_us + promise.span_us)
    saw = process.name in (promise.witnesses or ()) or process.loaded_us > promise.visible_us
    if not saw:
        due_us = max(due_us, ready_us + SEEN_WITHIN_US + promise.span_us)
    return max(due_us + GRACE_US + promise.drift_us, ready_us + AFTER_TROUBLE_US)
