"""Wishes, carried out: written down as a fact first, then given to the hands.

Rule 1: nothing is begun that is not written down.
Rule 2: nothing is approved while the journal has a hole.
"""

import logging
import socket
from collections.abc import Iterable
from typing import Final

from notbefore.agent import facts, wishes
from notbefore.agent.approval import Silent, word_on
from notbefore.agent.book import Book
from notbefore.agent.hands import Hands
from notbefore.agent.life import Life, Word
from notbefore.agent.settings import AlertOn, Settings
from notbefore.agent.steps.step import Errand, Phase
from notbefore.agent.taking import Eyes
from notbefore.agent.telling import about, alarm_sentence, fields, reason
from notbefore.agent.wishes import Wish
from notbefore.client import Clock, EventView

ITSELF: Final = ""
NO_EVENT: Final = EventView("", "", "", (), None)

log = logging.getLogger("notbefore.agent")


class Carrier:
    def __init__(self, settings: Settings, book: Book, hands: Hands, clock: Clock) -> None:
        self.settings = settings
        self.vm = ""
        self._book = book
        self._hands = hands
        self._clock = clock
        self._said: dict[str, str] = {}
        self.left_alone: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """For people: the VM's name, or while nobody has said that, the machine's."""
        return self.vm or self.settings.vm or socket.gethostname()

    def carry_out_all(self, wanted: Iterable[Wish]) -> bool:
        """Whether any of them became a fact."""
        return sum(self.carry_out(wish) for wish in wanted) > 0

    def carry_out(self, wish: Wish) -> bool:
        """Whether that became a fact."""
        match wish:
            case wishes.Run():
                return self._run_step(wish)
            case wishes.Skip():
                return self._book.promise(facts.StepSkipped(wish.life, wish.step, wish.sentence))
            case wishes.Share():
                return self._book.promise(facts.StepShared(wish.life, wish.step, wish.other))
            case wishes.Leave():
                return self._book.promise(facts.StepLeft(wish.life, wish.step, wish.other))
            case wishes.CutOff():
                self._cut_off(wish)
                return False
            case wishes.Approve():
                return self._approve(wish)
            case wishes.Tell():
                return self._tell(wish)
            case wishes.Finish():
                not_before = self._book.lives.living[wish.life].not_before
                return self._book.promise(facts.Over(wish.life, not_before))
            case wishes.Renew():
                return self._renew(wish.event)

    def _run_step(self, wish: wishes.Run) -> bool:
        life = self._book.lives.living[wish.life]
        if not self._hands.has_room or not self._book.promise(facts.StepBegan(wish.life, wish.step, wish.phase)):
            return False
        step = life.step(wish.step)
        deadline = life.event.not_before if wish.phase is Phase.DO else None
        errand = Errand(wish.phase, life.event, life.vm, life.rule.name, step.name, deadline, reason(life, wish.phase))
        self._hands.run_step(wish.life, wish.step, step, errand, wish.limit_s)
        return True

    def _cut_off(self, wish: wishes.CutOff) -> None:
        if self._hands.cut_off(wish.life):
            life = self._book.lives.living[wish.life]
            log.error("%s: the time for its steps is over: the one under way is cut off", about(life.event))

    def _approve(self, wish: wishes.Approve) -> bool:
        if self._book.holes or not self._book.promise(facts.ApprovalBegan(wish.life)):
            return False
        self._hands.approve(wish.life, self._book.lives.living[wish.life].event.id)
        return True

    def _tell(self, wish: wishes.Tell) -> bool:
        alerts = self.settings.alerts if wish.alarm.kind in self.settings.alert_on else ()
        if not alerts:
            return self._book.promise(facts.Told(wish.life, wish.alarm.number))
        life = self._book.lives.living[wish.life]
        sentence = alarm_sentence(life, wish.alarm, self.name)
        errand = Errand(
            Phase.ALERT, life.event, self.name, life.rule.name, wish.alarm.step, life.event.not_before, sentence
        )
        self._hands.tell(wish.life, wish.alarm.number, alerts, errand)
        return False

    def _renew(self, event: EventView) -> bool:
        lives = self._book.lives
        begun = list(self.eyes().taken(event, lives))
        # Its memory may be gone by now: any life of this event ends its echo.
        return self._book.note(*(begun or [facts.Ended(lives.next_name(event.id), impact_seen=False)]))

    def tell_of_itself(self, sentence: str) -> bool:
        """Something is wrong with the agent, not with an event. False while no hand is free to tell it."""
        if not self.settings.alerts or AlertOn.JOURNAL not in self.settings.alert_on:
            return True
        errand = Errand(Phase.ALERT, NO_EVENT, self.name, "", "", None, sentence)
        return self._hands.tell(ITSELF, -1, self.settings.alerts, errand)

    def say_word(self, life: Life) -> None:
        """Why an event is approved, or not, whenever that is another reason than before."""
        is_open = life.is_scheduled and life.word in (Word.NONE, Word.FAILED)
        if not is_open or life.under_way is not None or life.next_step is not None:
            return
        word = word_on(life, self.vm)
        if self._book.holes:
            said = "not approved: the journal has a hole"
        elif isinstance(word, Silent):
            said = f"not approved: {word.why}"
        else:
            wait_s = word.at_s - self._clock.steady_s()
            said = f"to be approved{' later' if wait_s > 0 else ''}: {word.why}"
        if self._said.get(life.name) != said:
            self._said = {name: old for name, old in self._said.items() if name in self._book.lives.living}
            self._said[life.name] = said
            log.info("%s: %s", about(life.event), said, extra=fields(life))

    def eyes(self) -> Eyes:
        clock = self._clock
        return Eyes(self.vm, self.settings.rules, clock.wall_s(), clock.steady_s(), self.left_alone)

    def leave_alone(self, shown: Iterable[EventView]) -> None:
        """Those without a life may have had one that the hole in the journal hides: another would be a second one."""
        lives = self._book.lives
        self.left_alone |= {event.id.lower() for event in shown if lives.of_event(event.id) is None}
