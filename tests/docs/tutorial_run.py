"""A page read as a newcomer reads it: its shell blocks run in order, each with what the page says it prints.

Rule 1: lines run as printed, in one shell, so that what one exports the next has.
Rule 2: ids and times differ from day to day; everything else must be as printed.
"""

import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
BETWEEN = "-- next block --"
BLOCK = re.compile(r"```(sh|text)\n(.*?)```", re.DOTALL)
DIFFERING = {
    r"[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}": "ID",
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ": "TIME",
    r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT": "TIME",
    r"\b\d\d:\d\d:\d\d\b": "TIME",
}


@dataclass
class Step:
    lines: str
    shown: str = ""


def steps_of(page):
    steps = []
    for kind, text in BLOCK.findall(page.read_text()):
        if kind == "sh":
            steps.append(Step(text))
        else:
            steps[-1].shown += text
    return steps


def without_ids_and_times(text):
    for pattern, word in DIFFERING.items():
        text = re.sub(pattern, word, text)
    return text


def as_installed(lines):
    """Where the tests run, the program may stand in another environment than .venv."""
    return re.sub(r"(?:\$PWD/)?\.venv/bin", str(Path(sys.executable).parent), lines)


class Terminal:
    """A shell in the repository's root, in its own network namespace and home."""

    def __init__(self, inside, home):
        self._inside = list(inside)
        foreign = [name for name in os.environ if name.startswith("NOTBEFORE_")]
        self._env = {**os.environ, "HOME": str(home)}
        for name in foreign:
            del self._env[name]

    def run(self, steps):
        """What each step printed, in order."""
        script = f"\necho; echo '{BETWEEN}'\n".join(as_installed(step.lines) for step in steps)
        done = subprocess.run(self._argv(script), env=self._env, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{done.stdout}{done.stderr}"
        return done.stdout.split(BETWEEN)

    def start(self, step):
        """What stays in the foreground of a terminal of its own; `interrupt` is that terminal's Ctrl-C."""
        return subprocess.Popen(
            self._argv(as_installed(step.lines)),
            env=self._env,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )

    def _argv(self, script):
        return [*self._inside, "bash", "-euo", "pipefail", "-c", script]


def interrupt(process):
    """Ctrl-C reaches the whole session of the terminal, which is this process's own."""
    os.killpg(process.pid, signal.SIGINT)
    process.wait(20)
    process.stdout.close()
