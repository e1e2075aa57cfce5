"""The place under attack: the demo scope with one real event that only a valid approval may start."""

import logging
import sys
from pathlib import Path

import pytest

from lab import lab_settings, open_lab

sys.path.insert(0, str(Path(__file__).parents[1] / "e2e"))  # the server as a process: served.py


class Target:
    """A server, and an event whose state tells whether something got through."""

    def __init__(self, lab):
        self.lab = lab
        self.address = lab.metadata
        self.event_id = lab.made("demo", "FrontEnd_IN_0", "restart")["id"]
        self._untouched = self.state()

    def state(self):
        """The event as an operator sees it, and the incarnation a VM sees."""
        event = self.lab.event(self.event_id)
        document = self.lab.document("127.0.0.2")
        return event["status"], event["approvals"], document["DocumentIncarnation"], len(document["Events"])

    def is_untouched(self):
        return self.state() == self._untouched

    def is_approved(self):
        return self.lab.event(self.event_id)["status"] == "Started"


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    """For a whole file: none of its requests may approve the event."""
    with open_lab(lab_settings(tmp_path_factory.mktemp("target") / "state", demo=True)) as lab:
        yield Target(lab)


@pytest.fixture
def own_target(demo):
    """For one test, whose requests may approve the event."""
    return Target(demo)


@pytest.fixture(autouse=True)
def _nothing_breaks_down(caplog):
    """Whatever is sent, the server in this process never logs an error."""
    yield
    assert [one.getMessage() for one in caplog.get_records("call") if one.levelno >= logging.ERROR] == []
