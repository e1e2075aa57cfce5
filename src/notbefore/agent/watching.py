"""The thread that watches the endpoint, and never ends by itself.

Rule 1: it tells looks: each good answer that changed something, and the first of each watch, which says all there is.
Rule 2: trouble is told once when it begins and once when it is over; the watch goes on in any case.
Rule 3: at most a few looks wait to be taken; a loop that is slow is waited for.
It carries out the client's own plan, so that its rules of asking and waiting hold.
"""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from notbefore.client import Change, EndpointError, ScheduledEvents
from notbefore.client.blocking import taken
from notbefore.client.steps import Answer, Ask, Outcome, Tell, Wait

LOOKS_MAX: Final = 16
AGAIN_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Named:
    """Who this VM is."""

    vm: str


@dataclass(frozen=True, slots=True)
class Look:
    """What an answer brought. `is_first`: the changes are everything that is shown; whatever else was known is gone."""

    changes: tuple[Change, ...]
    is_first: bool = False


@dataclass(frozen=True, slots=True)
class Trouble:
    """No answer to go by, and why; an empty reason says that it is over."""

    why: str


Seen = Named | Look | Trouble


class Watcher(ScheduledEvents):
    """The client, with looks instead of single changes."""

    def wall_s(self) -> float:
        return self._clock.wall_s()

    def looks(self, knows_events: Callable[[], bool]) -> Iterator[Look | Trouble]:
        """Every good answer with what it changed, and every trouble; without end.

        `knows_events`: whether an answer without a body would end something. At the beginning of a watch such an
        answer is believed only when it comes twice, as the client does it later on.
        """
        talk, lines = self._talk()
        plan = talk.watch(self._clock.steady_s())
        outcome: Outcome | None = None
        changes: list[Change] = []
        is_first, doubted = True, False
        sent: Outcome | None = None
        while True:
            step = plan.send(sent)
            sent = None
            if isinstance(step, Tell):
                changes.append(step.change)
            elif isinstance(step, Ask):
                sent = outcome = taken(step, lines, self._clock)
            else:
                if not is_after_good_answer(step):
                    yield Trouble(_why(outcome))
                elif is_first and not doubted and _is_blank(outcome) and knows_events():
                    doubted = True
                else:
                    yield Look(tuple(changes), is_first)
                    is_first, changes = False, []
                taken(step, lines, self._clock)


class Watching:
    """`put` takes what is seen; `taken` must be called for each Look that has been dealt with.

    `again_s`: how long to wait before a watch that could not begin is begun again.
    """

    def __init__(
        self,
        service: Watcher,
        put: Callable[[Seen], None],
        knows_events: Callable[[], bool],
        again_s: float = AGAIN_S,
    ) -> None:
        self.answered_s = 0.0
        self._service = service
        self._put = put
        self._knows_events = knows_events
        self._again_s = again_s
        self._stopped = threading.Event()
        self._room = threading.Semaphore(LOOKS_MAX)
        self._trouble = ""
        self._thread = threading.Thread(target=self._run, name="watching", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._room.release()

    def taken(self) -> None:
        self._room.release()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._watch()
            except EndpointError as error:
                self._note_trouble(f"{error.message} {error.hint}".strip())
            except Exception as error:  # noqa: BLE001  whatever it is, a VM goes on being watched
                self._note_trouble(f"{type(error).__name__}: {error}")
            self._stopped.wait(self._again_s)

    def _watch(self) -> None:
        self._put(Named(self._service.whoami()))
        for seen in self._service.looks(self._knows_events):
            if self._stopped.is_set():
                return
            if isinstance(seen, Trouble):
                self._note_trouble(seen.why)
            else:
                self._note_look(seen)

    def _note_look(self, look: Look) -> None:
        self.answered_s = self._service.wall_s()
        if self._trouble:
            self._trouble = ""
            self._put(Trouble(""))
        if look.is_first or look.changes:
            self._room.acquire()
            self._put(look)

    def _note_trouble(self, why: str) -> None:
        if why != self._trouble:
            self._trouble = why
            self._put(Trouble(why))


def is_after_good_answer(wait: Wait) -> bool:
    """The client's plan rests from its question on after a good answer alone; after trouble it waits from now on."""
    return wait.since_s is not None


def _is_blank(outcome: Outcome | None) -> bool:
    return isinstance(outcome, Answer) and not outcome.body.strip()


def _why(outcome: Outcome | None) -> str:
    if isinstance(outcome, Answer):
        return f"it answered {outcome.status}"
    return outcome.why if outcome is not None else "no answer"
