"""The agent under a service manager: it says when it is ready, how it is, that it turns, and that it stops."""

import os
import signal
import socket
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from service_manager import Manager

from lab import lab_settings, open_lab
from notbefore.agent.picture import SUMMARY_MAX, Counts, Picture, summary
from notbefore.agent.service_manager import StatusLine, notify, watchdog_interval_s
from notbefore.agent.settings import Status
from notbefore.agent.starting import SHOWN_EVERY_S, _beat_s
from notbefore.agent.status import Window

AGENT = str(Path(sys.executable).with_name("notbefore-agent"))
SETTINGS = """
[agent]
state = "state"

[[rule]]
name = "all"

[[rule.step]]
kind = "command"
do = ["true"]
"""


@pytest.fixture
def manager():
    # Not tmp_path: the name of a unix socket has at most 107 bytes.
    with tempfile.TemporaryDirectory() as directory, Manager(Path(directory) / "notify") as manager:
        yield manager


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    place = tmp_path_factory.mktemp("fleet")
    with open_lab(lab_settings(place, listeners=[{"address": "127.0.0.1:0", "vm": "fleet/web-1"}])) as lab:
        lab.declare("fleet", "web-1", listening="always")
        yield lab


@pytest.fixture
def start(manager, fleet, tmp_path):
    (tmp_path / "agent.toml").write_text(SETTINGS)

    def start(*before, **more):
        program, *words = [*before, AGENT, "run", "--config", str(tmp_path / "agent.toml")]
        env = {**os.environ, "NOTBEFORE_ENDPOINT": fleet.server.metadata_urls[0], **more}
        return manager.start(*words, program=program, env=env)

    return start


def status_with(manager, part):
    """Listen until its status has this; the status."""
    while True:
        for line in manager.line.recv(4096).decode().split("\n"):
            if line.startswith("STATUS=") and part in line:
                return line.removeprefix("STATUS=")


def test_it_is_ready_when_it_has_its_journal_and_says_so_when_it_stops(start, tmp_path):
    """Type=notify: READY=1 once it watches, with the lock and the journal in its hands; STOPPING=1 on the way down."""
    service = start()

    service.says("READY=1")

    assert (tmp_path / "state/agent.lock").read_text() == f"process {service.process.pid}"
    service.told(signal.SIGTERM)
    service.says("STOPPING=1")
    assert service.ended()[0] == 0


def test_the_loop_feeds_the_watchdog(start):
    """WatchdogSec: as long as the loop turns, the manager hears of it."""
    service = start(WATCHDOG_USEC="200000")

    service.says("READY=1")

    for _ in range(3):
        service.says("WATCHDOG=1")


def test_its_status_tells_of_the_events_it_lives_through(start, manager, fleet):
    """`systemctl status` shows whose agent it is and what it is about."""
    start()
    assert status_with(manager, "web-1") == "web-1: no event"
    event = fleet.made("fleet", "web-1", "restart")

    assert status_with(manager, "Started, approved") == f"web-1: Reboot {event['id']} is Started, approved"
    fleet.advance(60)
    assert status_with(manager, "no event") == "web-1: no event"


# -- what it says


def test_a_status_is_one_line_whatever_comes_from_outside():
    """sd_notify(3): a further line would be a word of its own to the manager, such as MAINPID=1."""
    picture = Picture("web-1\nMAINPID=1", "no route\nREADY=1", "", (), 0.0, Counts())

    assert summary(picture) == "web-1 MAINPID=1: no route READY=1; no event"
    assert len(summary(Picture("w" * 9999, "", "", (), 0.0, Counts()))) == SUMMARY_MAX


def test_a_status_is_said_when_it_has_changed(manager):
    line = StatusLine({"NOTIFY_SOCKET": manager.address})
    for trouble in ("", "", "nobody answers"):
        line.show(Picture("web-1", trouble, "", (), 0.0, Counts()))

    assert manager.line.recv(100) == b"STATUS=web-1: no event"
    assert manager.line.recv(100) == b"STATUS=web-1: nobody answers; no event"


@pytest.mark.parametrize("env", [{}, {"NOTIFY_SOCKET": ""}, {"NOTIFY_SOCKET": "/nonexistent/notify"}])
def test_without_a_manager_the_agent_says_nothing(env):
    notify("READY=1", env)


def test_a_manager_that_does_not_listen_is_not_waited_for(manager):
    """Its queue is full, and the agent has other things to do."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line, suppress(BlockingIOError):
        line.setblocking(False)
        while True:
            line.sendto(b"WATCHDOG=1", manager.address)

    notify("WATCHDOG=1", {"NOTIFY_SOCKET": manager.address})


def test_the_manager_hears_of_the_agent_twice_as_often_as_it_wants():
    """sd_watchdog_enabled(3): every half of WATCHDOG_USEC, if WATCHDOG_PID is ours or not set."""
    assert watchdog_interval_s({"WATCHDOG_USEC": "60000000"}) == 30
    assert watchdog_interval_s({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": str(os.getpid())}) == 30
    assert watchdog_interval_s({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": str(os.getppid())}) is None
    assert watchdog_interval_s({}) is None


def test_the_loop_turns_as_often_as_somebody_looks(monkeypatch):
    """What is shown on a page or in a file is renewed though nothing happens; else nothing wakes the agent."""
    monkeypatch.delenv("WATCHDOG_USEC", raising=False)
    shown, hidden = Window(Status(listen="127.0.0.1:0")), Window(Status())

    assert _beat_s(shown) == SHOWN_EVERY_S
    assert _beat_s(hidden) is None
    monkeypatch.setenv("WATCHDOG_USEC", "4000000")
    assert _beat_s(shown) == _beat_s(hidden) == 2
