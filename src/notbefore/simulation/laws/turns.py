"""§3.4 and L2: the next update domain becomes visible when the former has ended, plus `recovery_s`: not ever later.

Rule 1: the first that queues has its turn when no planned event of another domain is visible and no rest is owed.
Rule 2: five seconds after that it is Queued no more, if a process is well that nobody stepped meanwhile.
Rule 3: a rest is over on that process's wall, and in true time since it could know of it.
Not here: that no domain comes too early (domains.py).
"""

import heapq
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from notbefore.core.kinds import Status
from notbefore.core.model import Event, Scope
from notbefore.simulation.facts import Facts, ProcessFacts
from notbefore.simulation.laws.domains import VISIBLE, enters, is_planned, rest_s_after
from notbefore.simulation.laws.law import Violation
from notbefore.simulation.laws.ledger import Commit, Ledger
from notbefore.simulation.laws.ready import ready_since_us
from notbefore.simulation.steps import Committed, Step

MS_US = 1000
SECOND_US = 1_000_000
GRACE_US = 5 * SECOND_US
LOOK_AGAIN_US = 30 * SECOND_US
DRIFT_PPM = 300
MILLION = 1_000_000


class Rest(NamedTuple):
    """What a domain that was touched is owed before another one's turn: since when, and until when on the wall."""

    update_domain: int
    since_us: int
    until_ms: int
    span_us: int
    # Since when nobody may have stepped the wall of whoever is to give the turn.
    unstepped_us: int

    @property
    def drift_us(self) -> int:
        return self.span_us * DRIFT_PPM // MILLION + 10 * MS_US


@dataclass(frozen=True, slots=True)
class Turn:
    """The first that queues, with nothing in its way but perhaps a rest."""

    key: str
    event_id: str
    update_domain: int
    since_us: int
    owed: Rest | None


class Turns:
    code: ClassVar[str] = "§3.4"

    def __init__(self, ledger: Ledger | None = None) -> None:
        self._ledger = ledger or Ledger()
        self._rests: dict[str, Rest] = {}
        self._turns: dict[str, Turn] = {}
        self._looks: list[tuple[int, int, Turn]] = []
        self._number = 0

    def see(self, step: Step, facts: Facts) -> None:
        while self._looks and self._looks[0][0] <= step.at_us:
            self._look_at(heapq.heappop(self._looks)[2], step.at_us, facts)
        if isinstance(step, Committed):
            commit = self._ledger.read(step)
            if commit.moves or step.after.removed:
                self._note_rest(step, commit)
                self._note_turn(step, commit.key)

    def _note_rest(self, step: Committed, commit: Commit) -> None:
        at_ms = step.record.at_ms if step.record else 0
        for move in commit.moves:
            if move.after or move.before is None or move.was is not Status.STARTED or not is_planned(move.before):
                continue
            if rest_s := rest_s_after(step.after, move.before):
                until_ms, span_us = at_ms + rest_s * 1000, rest_s * SECOND_US
                rest = Rest(move.before.update_domain, step.at_us, until_ms, span_us, step.at_us)
                self._rests[commit.key] = longer(rest, self._rests.get(commit.key))
        owed = self._rests.get(commit.key)
        others = owed and any(
            enters(m) and m.after and m.after.update_domain != owed.update_domain for m in commit.moves
        )
        if step.after.removed or others:
            self._rests.pop(commit.key, None)

    def _note_turn(self, step: Committed, key: str) -> None:
        first = first_to_enter(step.after)
        if first is None:
            self._turns.pop(key, None)
            return
        owed = self._rests.get(key)
        owed = None if owed and owed.update_domain == first.update_domain else owed
        known = self._turns.get(key)
        if known is None or (known.event_id, known.owed) != (first.id, owed):
            turn = self._turns[key] = Turn(key, first.id, first.update_domain, step.at_us, owed)
            self._look_again(step.at_us + (owed.span_us if owed else 0) + GRACE_US, turn)

    def _look_again(self, at_us: int, turn: Turn) -> None:
        self._number += 1
        heapq.heappush(self._looks, (at_us, self._number, turn))

    def _look_at(self, turn: Turn, now_us: int, facts: Facts) -> None:
        if self._turns.get(turn.key) is not turn:
            return
        next_us = now_us + LOOK_AGAIN_US
        for process in facts.processes.values():
            deadline_us = deadline_of(process, turn, now_us, facts)
            if deadline_us is None:
                continue
            if deadline_us < now_us:
                late_ms = (now_us - deadline_us + GRACE_US) // MS_US
                sentence = (
                    f"{turn.event_id}: still Queued {late_ms} ms after {process.name} should have given update domain "
                    f"{turn.update_domain} its turn"
                )
                raise Violation(self.code, sentence, turn.key, turn.event_id)
            next_us = min(next_us, deadline_us + 1)
        self._look_again(next_us, turn)


def longer(rest: Rest, owed: Rest | None) -> Rest:
    """Of two rests of one domain the one that is over later: by walls, which may have been stepped since the first."""
    if owed is None or owed.update_domain != rest.update_domain:
        return rest
    over_later = owed.since_us + owed.span_us > rest.since_us + rest.span_us
    # A machine whose wall is behind cannot tell that the first is over, and may keep to it.
    until_ms = max(owed.until_ms, rest.until_ms)
    return owed if over_later else rest._replace(unstepped_us=owed.unstepped_us, until_ms=until_ms)


def first_to_enter(scope: Scope) -> Event | None:
    """The first that queues, unless another domain is still visible."""
    first = next((event for event in scope.events if event.status is Status.QUEUED), None)
    if first is None:
        return None
    domains = {event.update_domain for event in scope.events if event.status in VISIBLE and is_planned(event)}
    return None if domains - {first.update_domain} else first


def deadline_of(process: ProcessFacts, turn: Turn, now_us: int, facts: Facts) -> int | None:
    """When, in true time, this process must have given the turn at the latest; None while nobody can tell."""
    ready_us, owed = ready_since_us(process), turn.owed
    since_us = owed.unstepped_us if owed else turn.since_us
    if ready_us is None or process.loaded_us is None or process.stepped_us > since_us:
        return None
    due_us = max(turn.since_us, ready_us)
    if owed:
        on_the_wall_us = now_us - (facts.wall_ms(process.name) - owed.until_ms) * MS_US
        saw = ready_us <= owed.since_us or process.loaded_us > owed.since_us
        known_us = owed.since_us if saw else ready_us + SECOND_US
        due_us = max(due_us, max(on_the_wall_us, known_us + owed.span_us) + owed.drift_us)
    return due_us + GRACE_US
