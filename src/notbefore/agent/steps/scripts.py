"""`scripts`: a directory with a script for each type of event: onFreeze, onReboot, … and onFreezeEnd, … to undo it.

Rule 1: a script that is not there has nothing to do; one that is there and may not be executed is a mistake, and fails.
Rule 2: whoever may write a script may do what the agent may. So a script, its directory and those above belong to root
or to whoever runs the agent, and nobody else may write there (Windows: access lists are the administrator's to set).
Rule 3: only the five types have scripts: no text of an event becomes a path.
"""

import os
import stat
import sys
from pathlib import Path

from notbefore.agent.steps.attempt import Attempt, Trouble, Until, refuse_alerts
from notbefore.agent.steps.step import Errand, Phase, Result
from notbefore.agent.steps.table import Table
from notbefore.agent.steps.wording import encoded, event_json, variables_of

TYPES = ("Freeze", "Reboot", "Redeploy", "Preempt", "Terminate")
ENDINGS = ("",) if os.name == "posix" else (".exe", ".cmd", ".bat")
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class ScriptsStep(Attempt):
    kind = "scripts"

    def __init__(self, directory: Path, *, kill_group: bool) -> None:
        self._directory = directory
        self._kill_group = kill_group

    def problems(self) -> list[str]:
        if not self._directory.is_dir():
            return [f"there is no directory {self._directory}"]
        found = [script for name in names() if (script := self._found(name))]
        if not found:
            return [f"{self._directory} has none of the scripts {', '.join(names())}"]
        return list(dict.fromkeys(filter(None, map(script_problem, found))))

    def attempt(self, errand: Errand, until: Until) -> Result:
        refuse_alerts(errand)
        name = name_for(errand.event.type, errand.phase)
        if not self._directory.is_dir():
            raise Trouble(f"there is no directory {self._directory}")
        script = self._found(name) if name else None
        if script is None:
            return Result(
                True, f"there is no {name}: nothing to do" if name else "no script is for events of this type"
            )
        if problem := script_problem(script):
            raise Trouble(problem)
        from notbefore.agent.steps.process import Order, ran  # noqa: PLC0415  processes come with the first run

        env = variables_of(errand, until.clock)
        told = encoded(event_json(errand.event))
        return ran(Order((str(script),), told, env, self._directory, self._kill_group), until)

    def shown(self, phase: Phase) -> str:
        return f"run {self._directory / 'on<Type>'}{'End' if phase == Phase.UNDO else ''}, if it is there"

    def _found(self, name: str) -> Path | None:
        tried = (self._directory / f"{name}{ending}" for ending in ENDINGS)
        return next((script for script in tried if os.path.lexists(script)), None)


def made(table: Table) -> ScriptsStep:
    return ScriptsStep(table.path("directory"), kill_group=table.flag("kill_group", default=True))


def names() -> list[str]:
    return [f"on{one}{end}" for one in TYPES for end in ("", "End")]


def name_for(event_type: str, phase: Phase) -> str:
    known = next((one for one in TYPES if one.lower() == event_type.lower()), "")
    return f"on{known}{'End' if phase == Phase.UNDO else ''}" if known else ""


def script_problem(script: Path) -> str:
    """Why it is not run, in a sentence; empty when it may be."""
    try:
        real = script.resolve(strict=True)
        if open_to_others := next(filter(is_open, (script.parent, real, *real.parents)), None):
            return f"{script} is not run: {open_to_others} may be changed by others than root and the agent's user"
    except (OSError, RuntimeError):
        return f"{script} leads nowhere"
    if not real.is_file() or not os.access(real, os.X_OK):
        return f"{script} is not executable; `chmod +x` it"
    return ""


def is_open(path: Path) -> bool:
    """Whether somebody else may change it. In a sticky directory, as /tmp, others may not touch what is not theirs."""
    if sys.platform == "win32":
        return False
    about = path.stat()
    if about.st_uid not in (0, os.geteuid()):
        return True
    is_sticky = stat.S_ISDIR(about.st_mode) and about.st_mode & stat.S_ISVTX
    return bool(about.st_mode & OTHERS_WRITE) and not is_sticky
