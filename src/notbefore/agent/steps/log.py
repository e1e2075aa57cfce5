"""`log`: one line in the agent's own log.

Rule 1: one line, whatever the event says.
"""

import logging

from notbefore.agent.steps.attempt import Attempt, Until
from notbefore.agent.steps.step import Errand, Phase, Result
from notbefore.agent.steps.table import Table
from notbefore.agent.steps.wording import LINE_MAX, line_of, one_line

LEVELS = ("info", "warning", "error")
log = logging.getLogger("notbefore.agent")


class LogStep(Attempt):
    kind = "log"

    def __init__(self, level: str, message: str, *, undo: bool) -> None:
        self._level = level
        self._message = message
        self._undo = undo

    def problems(self) -> list[str]:
        return []

    def has_undo(self) -> bool:
        return self._undo

    def attempt(self, errand: Errand, until: Until) -> Result:  # noqa: ARG002  it takes no time
        line = one_line(f"{self._message} {line_of(errand)}".lstrip(), LINE_MAX)
        log.log(getattr(logging, self._level.upper()), "%s", line)
        return Result(True, "logged")

    def shown(self, phase: Phase) -> str:  # noqa: ARG002  the same for each
        return f"log a line of level {self._level}"


def made(table: Table) -> LogStep:
    return LogStep(
        table.choice("level", LEVELS, "info"), table.text("message", ""), undo=table.flag("undo", default=True)
    )
