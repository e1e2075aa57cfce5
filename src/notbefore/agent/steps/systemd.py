"""`systemd`: units stopped for an event and started again after it, through systemctl, which waits for them.

Rule 1: whoever waits no longer takes nothing back: a job that systemd has begun goes on when the step is cut off.
Rule 2: nothing is remembered: `undo` starts the units, also one that was not running before.
"""

import os
import re
import threading

from notbefore.agent.steps.attempt import Attempt, Trouble, Until, refuse_alerts
from notbefore.agent.steps.step import Errand, Phase, Result, WrongSetting
from notbefore.agent.steps.table import Table

VERBS = ("stop", "start", "restart", "try-restart", "reload", "reload-or-restart")
NOTHING = "nothing"
CHECK_S = 10.0
_UNIT = re.compile(r"[A-Za-z0-9:_.@\\][A-Za-z0-9:_.@\\-]*")


class SystemdStep(Attempt):
    kind = "systemd"

    def __init__(self, units: tuple[str, ...], do: str, undo: str, *, of_user: bool) -> None:
        self._units = units
        self._verbs = {Phase.DO: do, Phase.UNDO: undo}
        self._program = ("systemctl", *(("--user",) if of_user else ()))

    def problems(self) -> list[str]:
        return list(filter(None, map(self._unit_problem, self._units)))

    def has_undo(self) -> bool:
        return self._verbs[Phase.UNDO] != NOTHING

    def attempt(self, errand: Errand, until: Until) -> Result:
        refuse_alerts(errand)
        argv = self._argv(errand.phase)
        if not argv:
            return Result(True, "there is nothing to do")
        try:
            done = told(argv, until)
        except Trouble as trouble:
            raise Trouble(f"{self.shown(errand.phase)}: {trouble}", trouble.output) from None
        return Result(True, f"{self.shown(errand.phase)}: done", done.output)

    def shown(self, phase: Phase) -> str:
        return " ".join(self._argv(phase)) or NOTHING

    def _argv(self, phase: Phase) -> tuple[str, ...]:
        verb = self._verbs[Phase.UNDO if phase == Phase.UNDO else Phase.DO]
        return () if verb == NOTHING else (*self._program, "--no-ask-password", verb, "--", *self._units)

    def _unit_problem(self, unit: str) -> str:
        argv = (*self._program, "show", "--property=LoadState", "--", unit)
        try:
            state = told(argv, Until(CHECK_S, threading.Event())).output.strip().removeprefix("LoadState=")
        except Trouble as trouble:
            return f"{unit}: {trouble}" + (f": {trouble.output.splitlines()[0]}" if trouble.output.strip() else "")
        return "" if state == "loaded" else f"systemd says of the unit {unit}: {state or 'nothing'}"


def told(argv: tuple[str, ...], until: Until) -> Result:
    from notbefore.agent.steps.process import Order, ran  # noqa: PLC0415  processes come with the first run

    return ran(Order(argv, env={"LC_ALL": "C.UTF-8"}), until)


def made(table: Table) -> SystemdStep:
    if os.name != "posix":
        raise WrongSetting("kind", "there is no systemd here")
    units = table.words("units", needed=True)
    for unit in units:
        if not _UNIT.fullmatch(unit):
            raise WrongSetting("units", "a unit is a name such as nginx.service")
    return SystemdStep(
        units,
        table.choice("do", VERBS, "stop"),
        table.choice("undo", (*VERBS, NOTHING), "start"),
        of_user=table.flag("user", default=False),
    )
