"""The loop: one queue of what happens, facts from it, and the wishes that follow, carried out.

Rule 1: only this thread changes what is known; watching, steps, approvals and alerts run beside it.
Rule 2: nothing is begun that is not written down; while the journal cannot be written, nothing is begun.
Rule 3: nothing is approved while the journal has a hole or cannot be written.
Rule 4: on a stop nothing new begins; what is under way may end within the grace, else the next start finds it cut off.
"""

import logging
import queue
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from notbefore.agent import facts
from notbefore.agent.book import Book
from notbefore.agent.carrying import ITSELF, Carrier
from notbefore.agent.facts import event_id_of
from notbefore.agent.hands import AlertDone, ApprovalDone, Done, Hands, StepDone
from notbefore.agent.picture import Counts, Picture
from notbefore.agent.settings import Settings
from notbefore.agent.taking import LIVES_MAX
from notbefore.agent.telling import about, journal_sentence
from notbefore.agent.watching import Look, Named, Trouble, Watching
from notbefore.agent.wishes import Outlook, outlook_on
from notbefore.client import ChangeKind, Clock

# A signal is heard while waiting on Linux, but one that came in the moment before is heard only afterwards; so no wait
# is long. Windows hears none while waiting.
WAIT_MAX_S: Final = 1.0 if sys.platform == "win32" else 5.0
CATCH_UP_S: Final = 2.0
KILL_MARGIN_S: Final = 5.0

log = logging.getLogger("notbefore.agent")


@dataclass(frozen=True, slots=True)
class Stop:
    """Somebody wants the agent to end."""

    why: str


@dataclass(frozen=True, slots=True)
class Reload:
    """Read the settings anew; rules and alerts are taken from them, for events to come."""


Happening = Named | Look | Trouble | Done | Stop | Reload


class Agent:
    """`read_again` reads agent.toml once more; `show` is given a Picture after each turn of the loop."""

    def __init__(
        self,
        settings: Settings,
        book: Book,
        hands: Hands,
        clock: Clock,
        happenings: queue.SimpleQueue[Any],
        show: Callable[[Picture], None],
        read_again: Callable[[], Settings | None] = lambda: None,
    ) -> None:
        self.happenings: queue.SimpleQueue[Happening] = happenings
        self.watching: Watching | None = None
        self.counts = Counts()
        self._carrier = Carrier(settings, book, hands, clock)
        self._book = book
        self._hands = hands
        self._clock = clock
        self._show = show
        self._read_again = read_again
        self._trouble = ""
        self._looks: deque[Look] = deque()
        self._stop_s: float | None = None
        self._is_killing = False
        self._has_looked = False
        self._journal_said = ""
        self._journal_untold = ""

    @property
    def knows_events(self) -> bool:
        return bool(self._book.lives.living)

    def run(self, beat_s: float | None = None, beat: Callable[[], None] = lambda: None) -> None:
        """Until it is stopped. `beat` is called at least every `beat_s` seconds while the loop turns."""
        self._see_to_journal()
        while True:
            alarm_s = self._pursue()
            beat()
            self._show(self._picture())
            if self._stop_s is not None and self._is_stopped():
                return
            self._take(self._next(alarm_s, beat_s))

    # -- what happens

    def _next(self, alarm_s: float | None, beat_s: float | None) -> Happening | None:
        now_s = self._clock.steady_s()
        wait_s = min(WAIT_MAX_S, beat_s or WAIT_MAX_S, WAIT_MAX_S if alarm_s is None else alarm_s - now_s)
        try:
            return self.happenings.get(timeout=max(wait_s, 0.001))
        except queue.Empty:
            return None

    def _take(self, happening: Happening | None) -> None:
        match happening:
            case Look():
                self._looks.append(happening)
            case StepDone() | ApprovalDone() | AlertDone():
                self._done(happening)
            case Named():
                if happening.vm != self._carrier.vm:
                    log.info("this VM is %s", happening.vm)
                self._carrier.vm = happening.vm
            case Trouble():
                self._endpoint(happening.why)
            case Stop():
                self._stop(happening.why)
            case Reload():
                self._reload()

    def _see(self, look: Look) -> None:
        if not self._has_looked:
            log.info("the endpoint shows %d events", len({change.event.id for change in look.changes}))
        self._has_looked = True
        lives = self._book.lives
        if look.is_first and self._book.holes:
            self._carrier.leave_alone(change.event for change in look.changes)
        noted = list(self._carrier.eyes().facts_in(look, lives))
        self._book.note(*noted)
        taken = {event_id_of(fact.life) for fact in noted if not isinstance(fact, facts.Opened)}
        for change in look.changes:
            known = change.event.id.lower() in taken or lives.of_event(change.event.id)
            if change.kind is not ChangeKind.ENDED and not known:
                is_doubted = change.event.id.lower() in self._carrier.left_alone
                why = "the journal has a hole" if is_doubted else "no rule matches"
                why = "there are too many" if len(lives.living) + len(noted) >= LIVES_MAX else why
                log.info("%s: %s; it is left alone", about(change.event), why, extra={"event_id": change.event.id})
        if self.watching is not None:
            self.watching.taken()

    def _done(self, done: Done) -> None:
        was_cut_off = isinstance(done, StepDone) and self._is_killing and self._hands.was_cut_off(done.life)
        self._hands.take_back(done)
        match done:
            case StepDone():
                self.counts.step(done.phase, ok=done.result.ok)
                if done.result.output:
                    level = logging.DEBUG if done.result.ok else logging.WARNING
                    log.log(level, "the step printed: %s", done.result.output, extra={"life": done.life})
                if was_cut_off and not done.result.ok:
                    log.warning("a step was cut off by the stop; the next start deals with it")
                    return
                self._book.note(facts.StepEnded(done.life, done.step, done.phase, done.result.ok, done.result.sentence))
            case ApprovalDone():
                self.counts.approval(given=done.given, gone=done.gone)
                self._book.note(facts.ApprovalEnded(done.life, done.given, done.gone, done.sentence))
            case AlertDone():
                self._told(done)

    def _told(self, done: AlertDone) -> None:
        for result in done.results:
            self.counts.alert(ok=result.ok)
            if not result.ok:
                log.error("the administrator could not be told: %s", result.sentence)
        if done.life != ITSELF:
            self._book.note(facts.Told(done.life, done.alarm))

    def _endpoint(self, why: str) -> None:
        self._trouble = why
        if why:
            log.warning("the endpoint cannot be asked: %s; it is asked again", why)
        else:
            log.info("the endpoint answers again")

    def _reload(self) -> None:
        if (fresh := self._read_again()) is None:
            return
        settings = self._carrier.settings
        self._carrier.settings = replace(settings, rules=fresh.rules, alerts=fresh.alerts, alert_on=fresh.alert_on)
        log.info("%d rules and %d alerts were read anew, for events to come", len(fresh.rules), len(fresh.alerts))

    def _stop(self, why: str) -> None:
        now_s = self._clock.steady_s()
        if self._stop_s is not None:
            self._stop_s = now_s
            return
        self._stop_s = now_s + self._carrier.settings.stop_grace_s
        log.info("stopping: %s", why)
        if self.watching is not None:
            self.watching.stop()

    def _is_stopped(self) -> bool:
        """Nothing is under way any more, or it has been waited for long enough."""
        assert self._stop_s is not None
        over_s = self._clock.steady_s() - self._stop_s
        if over_s >= 0 and not self._is_killing:
            self._is_killing = True
            self._hands.cut_all_off()
        return self._hands.is_idle or over_s >= KILL_MARGIN_S

    # -- what follows

    def _pursue(self) -> float | None:
        """Carry out what is wished for; when to look again."""
        while True:
            if not self._book.catch_up():
                self._see_to_journal()
                return self._clock.steady_s() + CATCH_UP_S
            self._see_to_journal()
            if self._looks and self._stop_s is None:
                self._see(self._looks.popleft())
                continue
            outlook = self._outlook()
            is_done = not self._carrier.carry_out_all(outlook.wishes)
            if self._book.trouble:
                self._see_to_journal()
                return self._clock.steady_s() + CATCH_UP_S
            if is_done:
                self._book.compact()
                return outlook.alarm_s

    def _outlook(self) -> Outlook:
        if self._stop_s is not None:
            now_s = self._clock.steady_s()
            return Outlook(alarm_s=self._stop_s if now_s < self._stop_s else self._stop_s + KILL_MARGIN_S)
        for life in self._book.lives.living.values() if self._has_looked else ():
            self._carrier.say_word(life)
        return outlook_on(self._book.lives, self._carrier.vm, self._clock.steady_s(), has_looked=self._has_looked)

    # -- what is said

    def _see_to_journal(self) -> None:
        """Say once what is wrong with the journal, to the log and, when somebody is free to, the administrator."""
        sentence = journal_sentence(self._book)
        if sentence != self._journal_said:
            self._journal_said = sentence
            self._journal_untold = sentence or self._journal_untold
            if sentence:
                log.error("%s", sentence)
            else:
                log.info("the journal can be written again")
        if self._journal_untold and self._carrier.tell_of_itself(self._journal_untold):
            self._journal_untold = ""

    def _picture(self) -> Picture:
        answered_s = self.watching.answered_s if self.watching is not None else 0.0
        lives = tuple(self._book.lives.living.values())
        return Picture(
            self._carrier.vm, self._trouble, journal_sentence(self._book), lives, answered_s, self.counts.copy()
        )
