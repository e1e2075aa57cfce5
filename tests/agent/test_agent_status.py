"""The status pages as a load balancer meets them: answered from the first picture on, whoever else asks (issue 9)."""

import http.client
import socket
import threading

import pytest
from agent_story import Story, shown
from step_runs import until

from notbefore.agent.picture import Counts, Picture
from notbefore.agent.settings import Status
from notbefore.agent.status import Window
from notbefore.agent.status_server import CONNECTIONS_MAX, StatusServer

CALM = Picture("web-1", "", "", (), 0.0, Counts())


@pytest.fixture
def window():
    opened = Window(Status("127.0.0.1:0"))
    opened.address = opened.open().removeprefix("http://")
    yield opened
    opened.close()


def health(window):
    return health_at(window.address)


def health_at(address):
    line = http.client.HTTPConnection(address, timeout=60)
    try:
        line.request("GET", "/healthz")
        return line.getresponse().status
    finally:
        line.close()


def test_nobody_is_told_that_a_vm_is_well_before_anybody_has_looked(window):
    """The agent comes back in the middle of an event: whoever asks at that moment hears 503, never 200 before it."""
    heard = []
    asking = threading.Thread(target=lambda: heard.append(health(window)), daemon=True)
    asking.start()
    story = Story()
    story.shows(shown())

    window.show(Picture("web-1", "", "", tuple(story.book.lives.living.values()), 0.0, Counts()))
    asking.join(60)

    assert heard == [503]


def test_a_window_that_was_never_shown_anything_closes(window):
    """The agent may be refused before its first picture."""
    window.close()

    with pytest.raises(OSError, match="refused"):
        health(window)


def test_a_server_that_rests_is_woken_to_end():
    """It looks seldom, because each look costs processor time; nobody who stops the agent waits for the next one."""
    server = StatusServer("127.0.0.1:0", look_s=3600)
    server.show(CALM)
    ending = threading.Thread(target=server.close, daemon=True)
    assert health_at(server.url.removeprefix("http://")) == 200

    ending.start()

    until(lambda: not ending.is_alive())


def test_those_who_ask_byte_by_byte_make_room_after_a_few_seconds(window):
    """Else they keep every load balancer out, and the VM is taken for dead."""
    window.show(CALM)
    host, _, port = window.address.rpartition(":")
    lines = [socket.create_connection((host, int(port))) for _ in range(CONNECTIONS_MAX)]

    def drip():
        for line in lines:
            try:
                line.send(b"G")
            except OSError:
                continue

    def answers():
        drip()
        try:
            return health(window) == 200
        except (OSError, http.client.HTTPException):
            return False

    until(answers)
    for line in lines:
        line.close()
