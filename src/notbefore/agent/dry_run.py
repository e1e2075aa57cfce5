"""--dry-run: everything is watched and decided as usual, nothing is done and nothing kept.

Rule 1: a step only says what it would do; an approval is not sent; the journal is in memory.
Rule 2: nothing is shown: a load balancer would drain in earnest, and the file and the port may be a real agent's.
"""

import logging
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from notbefore.agent.journal import Line, Replay
from notbefore.agent.settings import Rule, Settings, Status, StepRule
from notbefore.agent.steps.step import Errand, Phase, Result, Step

log = logging.getLogger("notbefore.agent")


class DryStep:
    def __init__(self, step: Step) -> None:
        self.kind = step.kind
        self._step = step

    def problems(self) -> list[str]:
        return self._step.problems()

    def has_undo(self) -> bool:
        return self._step.has_undo()

    def run(self, errand: Errand, limit_s: float, cut_off: threading.Event) -> Result:  # noqa: ARG002  a Step's face
        return Result(ok=True, sentence=f"dry run, within {limit_s:.0f} s it would: {self._step.shown(errand.phase)}")

    def shown(self, phase: Phase) -> str:
        return self._step.shown(phase)


class DryService:
    def approve(self, *event_ids: str) -> tuple[str, ...]:
        log.info("dry run: %s would be approved", ", ".join(event_ids))
        return event_ids


class MemoryJournal:
    """Keeps nothing: what a dry run would have done must not be taken for done."""

    path = Path("(dry run)")
    size = 0

    def open(self) -> Replay:
        return Replay()

    def append(self, line: Line) -> None:
        """Nothing to keep."""

    def rewrite(self, kept: Callable[[list[Line]], Iterable[Line]]) -> None:
        """Nothing to forget."""

    def close(self) -> None:
        """Nothing to close."""


def dry(settings: Settings) -> Settings:
    """The same settings, with steps that only say what they would do, and nothing for others to see."""
    rules, alerts = tuple(map(_dry_rule, settings.rules)), tuple(map(_dry_step, settings.alerts))
    return replace(settings, rules=rules, alerts=alerts, status=Status())


def _dry_rule(rule: Rule) -> Rule:
    return replace(rule, steps=tuple(map(_dry_step, rule.steps)))


def _dry_step(step: StepRule) -> StepRule:
    return replace(step, step=DryStep(step.step))
