"""What is seen, as facts: which of them a look at the endpoint adds to what is known.

Rule 1: no I/O. An event that no rule matches gets no life; should it change, it is looked at again.
Rule 2: an event that comes again after its life was over begins another at once when its NotBefore differs or it was
away for long, else only when it stays (wishes.ECHO_S): an older answer must not set everything going again.
Rule 3: what is shown when the agent begins with a hole in its journal may have been dealt with: it is left alone, also
when it changes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from notbefore.agent.facts import Appeared, CameAgain, Changed, Ended, Fact
from notbefore.agent.folding import written_not_before
from notbefore.agent.life import Lives
from notbefore.agent.rules import first_match
from notbefore.agent.settings import Rule
from notbefore.agent.watching import Look
from notbefore.client import ChangeKind, EventView

AWAY_LONG_S: Final = 3600.0
# More events than any VM has at once; what is shown beyond them is left alone.
LIVES_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class Eyes:
    """Who looks, by which rules, and when. `left_alone`: ids of rule 3, in lower case."""

    vm: str
    rules: Sequence[Rule]
    wall_s: float
    now_s: float
    left_alone: frozenset[str] = frozenset()

    def facts_in(self, look: Look, lives: Lives) -> Iterator[Fact]:
        room = LIVES_MAX - len(lives.living)
        for fact in self._all_facts_in(look, lives):
            room -= isinstance(fact, Appeared)
            if room >= 0 or not isinstance(fact, Appeared):
                yield fact

    def _all_facts_in(self, look: Look, lives: Lives) -> Iterator[Fact]:
        if look.is_first:
            yield from self._gone(look, lives)
        for change in look.changes:
            event = change.event
            if change.kind is ChangeKind.ENDED:
                yield from self._ended(event, lives, impact_seen=change.impact_seen)
            elif change.kind is not ChangeKind.STARTED or change.before is not None:
                # The start of an event that has just appeared is in its appearance.
                yield from self.shown(event, lives)

    def _gone(self, look: Look, lives: Lives) -> Iterator[Fact]:
        """Events of the journal that are not shown any more when the agent comes back."""
        shown = {change.event.id.lower() for change in look.changes if change.kind is not ChangeKind.ENDED}
        for life in lives.living.values():
            if not life.ended and life.event.id.lower() not in shown:
                # Whoever has been started anew since has felt it, whether it was seen as Started or not.
                yield Ended(life.name, life.impact_seen or life.restarted)

    def _ended(self, event: EventView, lives: Lives, *, impact_seen: bool) -> Iterator[Fact]:
        life = lives.of_event(event.id)
        if life is not None:
            yield Ended(life.name, impact_seen)
        elif (memory := lives.memories.get(event.id.lower())) and event.id.lower() in lives.echoes:
            yield Ended(memory.name, impact_seen)

    def shown(self, event: EventView, lives: Lives) -> Iterator[Fact]:
        life, memory = lives.of_event(event.id), lives.memories.get(event.id.lower())
        if life is not None and life.ended:
            yield CameAgain(life.name, event, self._notice_s(event))
        elif life is not None:
            if life.event.raw != event.raw:
                yield Changed(life.name, event, self._notice_s(event))
        elif memory is not None and not self._is_another(event, memory.not_before, memory.over_s):
            yield CameAgain(memory.name, event, self._notice_s(event))
        elif event.id.lower() not in self.left_alone:
            yield from self.taken(event, lives)

    def taken(self, event: EventView, lives: Lives) -> Iterator[Fact]:
        """A life of the event begins, when a rule matches."""
        rule = first_match(self.rules, event, self.vm)
        if rule is not None:
            notice_s = self._notice_s(event) or None
            yield Appeared(lives.next_name(event.id), self.vm, event, rule, event.is_mine(self.vm), notice_s)

    def _is_another(self, event: EventView, not_before: str, over_s: float) -> bool:
        differs = bool(event.not_before) and written_not_before(event) != not_before
        return differs or self.now_s - over_s > AWAY_LONG_S

    def _notice_s(self, event: EventView) -> float | None:
        return None if event.not_before is None else max(event.not_before.timestamp() - self.wall_s, 0.0)
