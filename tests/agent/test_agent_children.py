"""The agent and the processes it starts: how they ended is always known."""

import sys

import pytest
from agent_fleet import agents_of, approvals_of, open_fleet
from agent_process import PROGRAM, settings_text

# Whoever ignores SIGCHLD hands that on to what it starts; then the kernel forgets how children ended.
IGNORING = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"


@pytest.fixture
def fleet(tmp_path):
    with open_fleet(tmp_path) as lab:
        yield lab


@pytest.fixture
def agents(fleet, tmp_path):
    yield from agents_of(fleet, tmp_path)


def test_how_a_step_ended_is_known_though_the_starter_ignored_sigchld(fleet, agents):
    """Else every command would count as failed, and nothing be approved."""
    agent = agents(settings_text(), program=(sys.executable, "-c", IGNORING, *PROGRAM)).start()
    assert agent.says("this VM is web-1")
    event = fleet.made("fleet", "web-1", "restart")

    assert agent.says("'one' done .*sh ended with exit code 0")
    assert agent.says("is now Started")
    assert len(approvals_of(fleet, event["id"])) == 1
