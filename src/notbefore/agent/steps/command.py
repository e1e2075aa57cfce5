"""`command`: a program of the administrator's for `do`, perhaps another for `undo`.

Rule 1: no shell: what is run is a list of words; text of the event reaches it by variables and standard input alone.
Rule 2: a word with a slash is a path, relative to the directory of agent.toml; a bare one is looked for on PATH.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from notbefore.agent.steps.attempt import Attempt, Until
from notbefore.agent.steps.step import Errand, Phase, Result, WrongSetting
from notbefore.agent.steps.table import Table, at_home
from notbefore.agent.steps.wording import encoded, event_json, variables_of


class CommandStep(Attempt):
    kind = "command"

    def __init__(
        self, argvs: Mapping[Phase, tuple[str, ...]], env: Mapping[str, str], cwd: Path, *, kill_group: bool
    ) -> None:
        self._argvs = argvs
        self._env = env
        self._cwd = cwd
        self._kill_group = kill_group

    def problems(self) -> list[str]:
        path = self._env.get("PATH", os.environ.get("PATH"))
        missing = [program_problem(argv[0], path) for argv in self._argvs.values() if argv]
        if not self._cwd.is_dir():
            missing.append(f"there is no directory {self._cwd}")
        return list(dict.fromkeys(filter(None, missing)))

    def has_undo(self) -> bool:
        return bool(self._argvs[Phase.UNDO])

    def attempt(self, errand: Errand, until: Until) -> Result:
        argv = self._argv(errand.phase)
        if not argv:
            return Result(True, "there is nothing to do")
        from notbefore.agent.steps.process import Order, ran  # noqa: PLC0415  processes come with the first run

        env = {**self._env, **variables_of(errand, until.clock)}
        return ran(Order(argv, encoded(event_json(errand.event)), env, self._cwd, self._kill_group), until)

    def shown(self, phase: Phase) -> str:
        from shlex import join  # noqa: PLC0415  for people, who ask seldom

        argv = self._argv(phase)
        return f"run {join(argv)}" if argv else "nothing"

    def _argv(self, phase: Phase) -> tuple[str, ...]:
        return self._argvs[Phase.UNDO if phase == Phase.UNDO else Phase.DO]


def made(table: Table) -> CommandStep:
    argvs = {phase: located(table.words(phase), phase, table.base) for phase in (Phase.DO, Phase.UNDO)}
    if not any(argvs.values()):
        raise WrongSetting("do", 'it is missing: a list such as ["/usr/local/bin/drain", "--now"]')
    env = table.texts("env")
    for name in env:
        if not name or "=" in name or "\0" in name:
            raise WrongSetting("env", "the name of a variable is not empty and has no '='")
    return CommandStep(argvs, env, table.path("cwd", "."), kill_group=table.flag("kill_group", default=True))


def located(argv: tuple[str, ...], key: str, base: Path) -> tuple[str, ...]:
    if not argv:
        return ()
    if not argv[0]:
        raise WrongSetting(key, "its first word is a program")
    is_path = os.sep in argv[0] or "/" in argv[0] or argv[0].startswith("~")
    return (str(base / at_home(key, argv[0])) if is_path else argv[0], *argv[1:])


def program_problem(program: str, path: str | None) -> str:
    from shutil import which  # noqa: PLC0415  it brings every compression along, and only `check` asks

    if which(program, path=path):
        return ""
    if Path(program).is_absolute() and Path(program).exists():
        return f"{program} is not an executable file"
    return f"there is no program {program}" + ("" if Path(program).is_absolute() else " on PATH")
