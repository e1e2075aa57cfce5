"""`log` and `notify`: a line for whoever reads, and people told by real apprise."""

import logging
import sys

import pytest
from step_runs import made, run

from notbefore.agent.steps.notify import MISSING
from notbefore.agent.steps.step import Phase
from receiver import receiving


def test_one_line_whatever_the_event_says(caplog):
    caplog.set_level(logging.INFO)
    step = made("log", level="warning", message="mind:")

    result = run(step, resources=("web-1\nforged line",), sentence="a Reboot is coming")

    (record,) = caplog.records
    assert result.ok
    assert (record.name, record.levelname) == ("notbefore.agent", "WARNING")
    assert record.getMessage() == (
        "mind: web-1: Reboot of web-1 forged line is Scheduled, not before 2036-09-19T18:29:47Z: a Reboot is coming"
    )


def test_it_is_logged_at_both_ends_unless_told_otherwise(caplog):
    caplog.set_level(logging.INFO)
    assert run(made("log"), Phase.UNDO).ok

    assert caplog.messages == ["web-1: Reboot of web-1, web-2 is over"]
    assert not made("log", undo=False).has_undo()


# apprise imports a module that Python 3.13 no longer has, where it does without it.
@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
def test_people_get_the_line_by_apprise(caplog):
    """notbefore[notify] adds apprise. Its URL is a secret."""
    caplog.set_level(logging.DEBUG)
    with receiving() as receiver:
        step = made("notify", url=f"json://127.0.0.1:{receiver.port}/hunter2")
        told = run(step, Phase.ALERT, sentence="step drain failed")
        receiver.answers = lambda _event: 500
        untold = run(step)

    assert told.ok, told
    assert receiver.came[0].event["message"] == "web-1: Reboot of web-1, web-2: step drain failed"
    assert not untold.ok
    assert step.problems() == []
    assert "hunter2" not in f"{told} {untold} {step.shown(Phase.DO)} {caplog.text}"


@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
def test_a_url_that_apprise_cannot_read_is_a_problem_without_being_quoted():
    step = made("notify", url="nonsense://hunter2")

    assert "apprise cannot read its URL" in step.problems()[0]
    assert "hunter2" not in step.problems()[0]


def test_without_apprise_it_says_how_to_install_it(monkeypatch):
    """notbefore[notify]."""
    monkeypatch.setitem(sys.modules, "apprise", None)
    step = made("notify", url="json://127.0.0.1/x")

    assert step.problems() == [MISSING]
    assert run(step).sentence == MISSING
    assert "pip install 'notbefore[notify]'" in MISSING
