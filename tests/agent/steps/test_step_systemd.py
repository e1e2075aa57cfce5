"""`systemd` against a real manager: one of a user, alone in namespaces with its own /run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from step_runs import made, run

from notbefore.agent.steps.step import Phase

HERE = Path(__file__).parent
# Inside: a manager of its own, then our steps, each with what it came to.
MANAGER = """
mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system /run/u /run/home/.config/systemd/user
export XDG_RUNTIME_DIR=/run/u HOME=/run/home
unset XDG_CONFIG_HOME
printf '[Service]\\nExecStart=/bin/sleep 1000\\n' > /run/home/.config/systemd/user/work.service
printf '[Service]\\nExecStart=/bin/sh -c "trap true TERM; while true; do sleep 1; done"\\nTimeoutStopSec=600\\n' > /run/home/.config/systemd/user/deaf.service
NOTIFY_SOCKET= /lib/systemd/systemd --user --log-target=null --unit=basic.target & manager=$!
exec "$0" "$1" "$manager"
"""


@pytest.fixture(scope="module")
def told():
    words = ["unshare", "--mount", "--fork", "--pid", "--mount-proc", "--kill-child", "sh", "-c", MANAGER]
    ran = subprocess.run(
        [*words, sys.executable, str(HERE / "systemd_session.py")],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.part("systemd-manager")
def test_units_are_stopped_for_an_event_and_started_after_it(told):
    assert told["active before"]
    assert told["do"] == [True, "systemctl --user --no-ask-password stop -- work.service: done"]
    assert not told["active meanwhile"]
    assert told["undo"] == [True, "systemctl --user --no-ask-password start -- work.service: done"]
    assert told["active after"]


@pytest.mark.part("systemd-manager")
def test_a_unit_that_there_is_not_fails_and_is_a_problem_beforehand(told):
    assert told["problems"] == []
    assert told["problems of a missing unit"] == ["systemd says of the unit nope.service: not-found"]
    assert told["do of a missing unit"][0] is False


@pytest.mark.part("systemd-manager")
def test_a_unit_that_takes_too_long_to_stop_fails_the_step(told):
    """systemctl waits; the limit holds."""
    ok, sentence = told["do of a deaf unit"]

    assert not ok
    assert "systemctl was stopped: its time of 1 s was over" in sentence


def test_without_systemctl_it_is_a_problem_and_a_failure(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    step = made("systemd", units=["nginx.service"])

    assert "there is no program systemctl" in step.problems()[0]
    assert not run(step).ok


def test_undo_may_be_nothing():
    step = made("systemd", units=["a.service"], do="reload", undo="nothing")

    assert not step.has_undo()
    assert step.shown(Phase.UNDO) == "nothing"
    assert run(step, Phase.UNDO).ok
