"""One living worker, as its parent sees it: what it is told, what it says.

Rule 1: one look at a time, each at a later step than the one before: what was seen is not looked at again.
Rule 2: a worker that says what does not belong there is cut off. Its parent goes on.
"""

import asyncio
from typing import Protocol

from notbefore.ports import Clock
from notbefore.workers.errands import Errands
from notbefore.workers.frames import (
    ASKED_IN_FLIGHT_MAX,
    FROM_WORKER,
    Answered,
    Approve,
    Broke,
    Enable,
    Frame,
    FromWorker,
    Loaded,
    Look,
    Report,
    Seen,
    Serving,
    Time,
)
from notbefore.workers.line import Breach, Line
from notbefore.workers.process import Process
from notbefore.workers.steps import Steps


class Team(Protocol):
    """What a worker's parent has for all of them."""

    steps: Steps
    errands: Errands

    def time(self) -> Time | None:
        """None is the real one."""
        ...

    def loaded(self, worker: "Worker") -> None: ...

    def serves(self, worker: "Worker") -> None: ...

    def take_report(self, worker: "Worker", report: Report) -> None: ...


class Worker:
    def __init__(self, place: int, process: Process, clock: Clock, team: Team) -> None:
        self.place = place
        self.process = process
        self.seen = 0
        self.late_for = 0
        self.is_loaded = False
        self.is_serving = False
        self.gone = asyncio.Event()
        self.line: Line[FromWorker] = Line(FROM_WORKER, self._take, self.gone.set)
        self._clock = clock
        self._team = team
        self._newest = 0
        self._looks_at: int | None = None
        self._since_s = clock.steady_s()
        self._report_wanted = False
        self._errands = 0

    def tell(self, frame: Frame) -> None:
        self.line.send(frame)

    def want_report(self) -> None:
        """With its next look; whoever wants it takes a step, so that there is one."""
        self._report_wanted = True

    def look(self, number: int) -> None:
        self._newest = number
        if self._looks_at is None:
            self._look()

    def silent_s(self) -> float:
        """How long it owes a word: that it has looked or, at its start, that it has loaded."""
        return self._clock.steady_s() - self._since_s if self._looks_at is not None or not self.is_loaded else 0.0

    def _look(self) -> None:
        self._looks_at, self._since_s = self._newest, self._clock.steady_s()
        self.tell(Look(self._newest, self._team.time(), self._report_wanted))
        self._report_wanted = False

    def _take(self, frame: FromWorker) -> None:
        match frame:
            case Seen():
                self._saw(frame.number)
            case Report():
                self._team.take_report(self, frame)
            case Approve() | Enable():
                self._begin(frame)
            case Loaded() if not self.is_loaded:
                self.is_loaded = True
                self._team.loaded(self)
            case Serving() if self.seen and not self.is_serving:
                self.is_serving = True
                self._team.serves(self)
            case _:
                raise Breach(f"{type(frame).__name__} does not belong here")

    def _saw(self, number: int) -> None:
        if number != self._looks_at:
            raise Breach("it saw what it was not told to look at")
        self._looks_at = None
        self._team.steps.saw(self, number)
        if self._newest > number:
            self._look()

    def _begin(self, errand: Approve | Enable) -> None:
        self._errands += 1
        if self._errands > ASKED_IN_FLIGHT_MAX:
            raise Breach("it asks for too much at once")
        self._team.errands.begin(errand, self._answer)

    def _answer(self, answer: Answered | Broke) -> None:
        self._errands -= 1
        self.tell(answer)
