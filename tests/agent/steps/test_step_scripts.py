"""`scripts`: the script of an event's type, and nobody's else."""

import os
import shutil
from pathlib import Path

import pytest
from step_runs import made, run

from notbefore.agent.steps.scripts import TYPES, is_open
from notbefore.agent.steps.step import Phase


@pytest.fixture
def directory(tmp_path):
    """Only ours, whatever the umask."""
    made_here = tmp_path / "scripts"
    made_here.mkdir()
    made_here.chmod(0o755)
    tmp_path.chmod(0o700)
    return made_here


def script_in(directory, name, text="echo $0 $EVENT_PHASE $EVENT_TYPE", mode=0o755):
    file = directory / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(mode)
    return file


@pytest.mark.parametrize("kind", TYPES)
def test_each_type_has_its_script_and_one_for_its_end(directory, kind):
    """onFreeze, onReboot, onRedeploy, onPreempt, onTerminate, and …End."""
    script_in(directory, f"on{kind}")
    script_in(directory, f"on{kind}End")
    step = made("scripts", directory=str(directory))

    done, undone = (run(step, phase, type=kind.upper()) for phase in (Phase.DO, Phase.UNDO))

    assert done.output == f"{directory}/on{kind} do {kind.upper()}\n"
    assert undone.output == f"{directory}/on{kind}End undo {kind.upper()}\n"
    assert step.problems() == []


def test_a_script_that_is_not_there_has_nothing_to_do(directory):
    result = run(made("scripts", directory=str(directory)))

    assert result.ok
    assert result.sentence == "there is no onReboot: nothing to do"


@pytest.mark.parametrize("kind", ["../../bin/true", "Unheard", "", "reboot\0"])
def test_no_text_of_an_event_becomes_a_path(directory, kind):
    result = run(made("scripts", directory=str(directory)), type=kind)

    assert result.ok
    assert result.sentence == "no script is for events of this type"


def test_a_script_that_fails_fails_the_step(directory):
    script_in(directory, "onReboot", "echo no; exit 4")
    result = run(made("scripts", directory=str(directory)))

    assert not result.ok
    assert (result.sentence, result.output) == ("onReboot ended with exit code 4", "no\n")


def test_a_script_that_may_not_be_executed_is_a_mistake_not_an_absence(directory):
    """Fail-closed: nothing was done, so nothing is approved."""
    script_in(directory, "onReboot", mode=0o644)
    step = made("scripts", directory=str(directory))

    assert not run(step).ok
    assert step.problems() == [f"{directory}/onReboot is not executable; `chmod +x` it"]


def test_a_link_that_leads_nowhere_is_a_mistake(directory):
    (directory / "onReboot").symlink_to("nowhere")

    assert run(made("scripts", directory=str(directory))).sentence == f"{directory}/onReboot leads nowhere"


@pytest.mark.parametrize("others", ["script", "directory", "above", "target"])
def test_what_others_may_write_is_not_run(directory, others, tmp_path):
    """Whoever may write a script may do what the agent may."""
    script = script_in(directory, "onReboot")
    if others == "target":
        (tmp_path / "open").mkdir()
        moved = shutil.move(script, tmp_path / "open" / "onReboot")
        script.symlink_to(moved)
    changed = {"script": script, "directory": directory, "above": tmp_path, "target": tmp_path / "open"}[others]
    changed.chmod(0o775)
    step = made("scripts", directory=str(directory))

    result = run(step)

    assert not result.ok
    assert result.sentence == f"{script} is not run: {changed} may be changed by others than root and the agent's user"
    assert step.problems() == [result.sentence]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_belongs_to_another_user_is_not_run(directory):
    os.chown(script_in(directory, "onReboot"), 65534, 65534)

    assert "may be changed by others" in run(made("scripts", directory=str(directory))).sentence


def test_in_a_sticky_directory_others_may_not_touch_what_is_not_theirs():
    assert not is_open(Path("/tmp"))


def test_a_directory_that_is_gone_is_a_failure_and_a_problem(tmp_path):
    """Not "nothing to do": somebody meant something to be done."""
    step = made("scripts", base=tmp_path, directory="gone")

    assert step.problems() == [f"there is no directory {tmp_path}/gone"]
    assert not run(step).ok


def test_a_directory_without_any_of_the_scripts_is_a_problem(directory):
    script_in(directory, "onreboot.sh")

    assert "has none of the scripts onFreeze, onFreezeEnd" in made("scripts", directory=str(directory)).problems()[0]
