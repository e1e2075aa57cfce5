"""Playing a scenario from its first line to its last, and what came of each.

Rule 1: every line is at its time; what happened by itself since the last one is told before it.
Rule 2: a line that fails does not end it: what follows is told too.
Rule 3: when nothing is expected (an agent takes part), lines that expect only look, so that events get their names, and
a step that is refused is no failure.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from notbefore.control_client import HistoryRecord
from notbefore.core.times import SECOND_MS
from notbefore.scenarios.acting import Actors
from notbefore.scenarios.emulator import Emulator, Stage
from notbefore.scenarios.judging import Judge
from notbefore.scenarios.scenario import Line, Scenario
from notbefore.scenarios.spans import shown_span
from notbefore.scenarios.steps import Act, Maintain, Operate, Step, VmApproves


class Kind(StrEnum):
    STEP = "step"
    EXPECTATION = "expectation"
    HAPPENED = "happened"


@dataclass(frozen=True, slots=True)
class Told:
    """One thing that was done, expected or happened. `seen`: what was, where that is not what the line says."""

    at_s: int
    kind: Kind
    text: str
    line: int = 0
    met: bool = True
    seen: str = ""


@dataclass(slots=True)
class Outcome:
    told: list[Told] = field(default_factory=list)

    def of(self, kind: Kind) -> list[Told]:
        return [one for one in self.told if one.kind is kind]

    @property
    def not_met(self) -> list[Told]:
        return [one for one in self.told if not one.met]


def play(
    scenario: Scenario,
    stage: Stage,
    tell: Callable[[Told], None],
    *,
    serve: Callable[[dict[str, str]], None],
    expect: bool = True,
) -> Outcome:
    """`serve` is told where each VM is served, `tell` everything as it comes."""
    with Emulator(scenario, stage) as emulator:
        serve(emulator.endpoints)
        player = Player(scenario, emulator, tell, expect=expect, rate=stage.rate)
        player.play()
        return player.outcome


class Player:
    def __init__(
        self,
        scenario: Scenario,
        emulator: Emulator,
        tell: Callable[[Told], None],
        *,
        expect: bool = True,
        rate: float | None = None,
    ) -> None:
        events: dict[str, str] = {}
        self.outcome = Outcome()
        self._scenario = scenario
        self._emulator = emulator
        self._tell = tell
        self._expect = expect
        self._rate = rate
        self._actors = Actors(scenario, emulator, events)
        self._judge = Judge(scenario, emulator, events)
        [newest] = emulator.operator.history(limit=1).history
        self._told_through = newest.revision

    def play(self) -> None:
        before_s = 0
        for at_s, lines in self._scenario.moments():
            if self._rate and at_s > before_s:
                ahead = f"the clock runs on to {shown_span(at_s)}, for {(at_s - before_s) / self._rate:.1f} s"
                self._tell(Told(before_s, Kind.HAPPENED, ahead))
            before_s = at_s
            self._emulator.go_on_to(at_s, self._tell_what_happened)
            for line in lines:
                self._take(line)
                self._tell_what_happened()
            self._judge.remember_incarnations()

    def _take(self, line: Line) -> None:
        if isinstance(line.says, Step):
            self._do(line, line.says)
        else:
            seen = self._judge.verdict(line.says)
            if self._expect:
                self._note(Told(line.at_s, Kind.EXPECTATION, line.text, line.number, met=not seen, seen=seen))

    def _do(self, line: Line, step: Step) -> None:
        refusal = self._actors.take(step)
        met = bool(refusal) is must_be_refused(step) or not self._expect
        seen = refusal and f"refused: {refusal}"
        if not met and not refusal:
            seen = "it was not refused"
        self._note(Told(line.at_s, Kind.STEP, line.text, line.number, met, seen))

    def _tell_what_happened(self) -> None:
        more = True
        while more:
            page = self._emulator.operator.history(after=self._told_through)
            for record in page.history:
                self._tell_record(record)
            self._told_through, more = page.next, page.more

    def _tell_record(self, record: HistoryRecord) -> None:
        assert record.at is not None
        at_s = round(record.at.timestamp()) - self._emulator.began_ms // SECOND_MS
        for change in record.changes:
            event = change.event
            what = f"{event.type} of {' and '.join(event.vms)} {change.what}" if event else change.what
            self._note(Told(at_s, Kind.HAPPENED, f"{what} ({change.by}): {change.why}"))

    def _note(self, told: Told) -> None:
        self.outcome.told.append(told)
        self._tell(told)


def must_be_refused(step: Step) -> bool:
    return isinstance(step, Operate | Maintain | Act | VmApproves) and step.refused
