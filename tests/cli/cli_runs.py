"""Running the CLI: in this process for breadth, as a process of its own where that matters.

Rule 1: the environment is passed, never patched, and always says where the endpoint is: no test may ask the
link-local address of the machine it runs on.
"""

import fcntl
import json
import os
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from notbefore.cli.main import run

PROGRAM = str(Path(sys.executable).with_name("notbefore"))
WRITES_WITHIN_S = 20
BOX_DRAWING = range(0x2500, 0x2600)


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def lines(self):
        return self.out.splitlines()

    @property
    def json(self):
        return json.loads(self.out)

    def is_refused_with(self, *parts):
        """One sentence on stderr, perhaps a hint, nothing like a traceback, and exit code 1."""
        assert self.code == 1, self
        return self._complains_of(parts)

    def is_wrong_usage_of(self, *parts):
        assert self.code == 2, self
        return self._complains_of(parts)

    def _complains_of(self, parts):
        sentence, *hints = self.err.splitlines()
        assert len(hints) <= 1
        assert all(hint.startswith("hint: ") for hint in hints)
        for part in parts:
            assert part in self.err
        return sentence


class Cli:
    def __init__(self, env: Mapping[str, str | None]) -> None:
        assert env["NOTBEFORE_ENDPOINT"].startswith("http://127.")
        self.env = dict(env)

    def __call__(self, *args: str, **env: str | None) -> Ran:
        """Run a command in this process."""
        with CliRunner(env={**self.env, **env}).isolation() as (out, err, _):
            code = run(args)
            sys.stdout.flush()
            sys.stderr.flush()
            return Ran(code, out.getvalue().decode(), err.getvalue().decode())

    def whole_env(self, **env: str | None) -> dict[str, str]:
        whole = {**os.environ, "PYTHONUNBUFFERED": None, **self.env, **env}
        return {name: value for name, value in whole.items() if value is not None}

    def process(self, *command: str, **env: str | None) -> subprocess.Popen:
        """Start a process with the same environment."""
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=self.whole_env(**env), stdout=pipe, stderr=pipe, text=True)

    @contextmanager
    def going_on(self, *args: str) -> Iterator[subprocess.Popen]:
        """The program at work; stopped at the latest when the test is over, however that goes."""
        with self.process(PROGRAM, *args) as process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.kill()

    def apart(self, *command: str, **env: str | None) -> Ran:
        """Run a process with the same environment to its end."""
        with self.process(*command, **env) as process:
            return ended(process)

    def on_terminal(self, columns: int, *args: str, **env: str | None) -> Ran:
        """Run the program with a terminal of so many columns as its stdout and stderr."""
        with self.at_terminal(columns, *args, **env) as (process, screen):
            seen = screen.until_it_ends()
        return Ran(process.returncode, seen, "")

    @contextmanager
    def at_terminal(self, columns: int, *args: str, **env: str | None) -> Iterator[tuple[subprocess.Popen, "Screen"]]:
        """The program at work, and what it writes to its terminal."""
        ours, its = os.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        env = self.whole_env(**{"TERM": "xterm", "COLUMNS": None, "NO_COLOR": None, **env})
        with subprocess.Popen([PROGRAM, *args], env=env, stdin=its, stdout=its, stderr=its) as process:
            os.close(its)
            try:
                yield process, Screen(ours)
            finally:
                if process.poll() is None:
                    process.send_signal(signal.SIGINT)
                    Screen(ours).until_it_ends()
                os.close(ours)


class Screen:
    """What is written to a terminal, read as it comes."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._seen = b""

    def until_it_ends(self) -> str:
        self._seen += b"".join(iter(lambda: _read_or_end(self._terminal), b""))
        return self._text()

    def until(self, text: str) -> str:
        """Everything so far, once the text has been written."""
        while text not in self._text():
            assert select.select([self._terminal], [], [], WRITES_WITHIN_S)[0], self._text()
            part = _read_or_end(self._terminal)
            assert part, self._text()
            self._seen += part
        return self._text()

    def _text(self) -> str:
        return self._seen.decode(errors="replace").replace("\r\n", "\n")


def ended(process: subprocess.Popen) -> Ran:
    """A process run to its end, by force when it takes too long."""
    try:
        out, err = process.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return Ran(process.returncode, out, err)


def _read_or_end(terminal: int) -> bytes:
    """A terminal whose last user is gone answers with an error instead of an end."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""
