"""What tests of running a server share: the program as a user runs it, and a server that always ends."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent / "e2e"))

from served import PROGRAM, ServerProcess
from small_disk import small_disk

PROGRAM_MAX_S = 30


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@pytest.fixture
def program():
    """`program("store", "check", …)`: run to its end, in an environment without settings of its own."""

    def run(*words, **env):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("NOTBEFORE_")}
        ran = subprocess.run(
            [PROGRAM, *map(str, words)],
            capture_output=True,
            text=True,
            check=False,
            timeout=PROGRAM_MAX_S,
            env={**clean, **env},
        )
        assert "Traceback" not in ran.stderr
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    return run


@pytest.fixture
def served(tmp_path):
    """`served(*words, state=…)`: a started server process, stopped when the test ends."""
    started = []

    def start(*words, state=tmp_path / "state", **env):
        server = ServerProcess(state, *words, env={"NOTBEFORE_METADATA_RATE_LIMIT_PER_S": "0", **env}).start()
        started.append(server)
        return server

    yield start
    for server in started:
        if server.process.poll() is None:
            server.stop()


@pytest.fixture
def disk(tmp_path):
    """Asked for before `served`, so that the server ends before its disk goes."""
    with small_disk(tmp_path / "disk") as mounted:
        yield mounted
