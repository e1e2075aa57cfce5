"""A program that has a user's service manager to itself: runs steps of kind `systemd` on it and prints what came of them."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from step_runs import made, run, until

from notbefore.agent.steps.step import Phase

PRIVATE = Path(os.environ["XDG_RUNTIME_DIR"]) / "systemd/private"


def active(unit):
    return subprocess.run(["systemctl", "--user", "--quiet", "is-active", unit], check=False).returncode == 0


def short(result):
    return [result.ok, result.sentence]


def story():
    work, missing, deaf = (made("systemd", units=[f"{name}.service"], user=True) for name in ("work", "nope", "deaf"))
    subprocess.run(["systemctl", "--user", "start", "work.service", "deaf.service"], check=True)
    yield "active before", active("work.service")
    yield "problems", work.problems()
    yield "do", short(run(work))
    yield "active meanwhile", active("work.service")
    yield "undo", short(run(work, Phase.UNDO))
    yield "active after", active("work.service")
    yield "problems of a missing unit", missing.problems()
    yield "do of a missing unit", short(run(missing))
    yield "do of a deaf unit", short(run(deaf, limit_s=1))


if __name__ == "__main__":
    until(PRIVATE.exists)
    print(json.dumps(dict(story())))  # noqa: T201  what it is for
    os.kill(int(sys.argv[1]), signal.SIGKILL)
