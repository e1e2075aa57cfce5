"""The agent as its own process, started by the program a user starts, in a VM of a lab."""

import os
import queue
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

PROGRAM = (str(Path(sys.executable).parent / "notbefore-agent"),)
DYING = (sys.executable, str(Path(__file__).parent / "dying_agent.py"))
WITHIN_S = 30

STEPS = """
[agent]
state = "state"
stop_grace_s = 5

[[alert]]
kind = "command"
do = ["sh", "-c", "echo alert >> did"]

[[rule]]
name = "all"
{rule}

[[rule.step]]
name = "one"
kind = "command"
do = ["sh", "-c", "echo do one >> did; {one}"]
undo = ["sh", "-c", "echo undo one >> did"]
{more}

[[rule.step]]
name = "two"
kind = "command"
do = ["sh", "-c", "echo do two >> did"]
undo = ["sh", "-c", "echo undo two >> did"]
"""


def settings_text(rule="", one="true", more=""):
    return STEPS.format(rule=rule, one=one, more=more)


class AgentProcess:
    def __init__(self, place, endpoint, text=None, program=PROGRAM, inside=()):
        self.place = place
        self.place.mkdir(exist_ok=True)
        self.config = place / "agent.toml"
        if text is not None:
            self.config.write_text(text)
        self._program = [*inside, *program]
        self._env = {**os.environ, "NOTBEFORE_ENDPOINT": endpoint}
        self.lines = []
        self.process = None
        self._said = queue.Queue()

    def start(self, *words, **env):
        self.process = subprocess.Popen(
            [*self._program, "run", "--config", str(self.config), *words],
            stderr=subprocess.PIPE, text=True, env={**self._env, **env}, cwd=self.place,
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read, args=(self.process.stderr,), daemon=True)
        self._reader.start()
        return self

    def _read(self, stream):
        for line in stream:
            self._said.put(line)
        self._said.put(None)

    def says(self, *wanted):
        """Wait until a line has one of these in it; which one. None when the process has ended without."""
        while (line := self._said.get(timeout=WITHIN_S)) is not None:
            self.lines.append(line)
            for one in wanted:
                if re.search(one, line):
                    return one
        return None

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        return self.wait()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def end(self):
        """Whatever state it is in."""
        if self.process is not None and not self.process.stderr.closed:
            self.process.kill()
            self.wait()

    def wait(self):
        try:
            return self.process.wait(WITHIN_S)
        finally:
            self.process.kill()
            self.process.wait()
            self._reader.join(WITHIN_S)
            self.process.stderr.close()

    @property
    def log(self):
        return "".join(self.lines)

    @property
    def did(self):
        """What the steps wrote, in order."""
        file = self.place / "did"
        return file.read_text().splitlines() if file.exists() else []
