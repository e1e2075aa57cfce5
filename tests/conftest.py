"""Fixtures for every test that touches a server, and the rule for missing parts."""

import os
import signal

import pytest

from lab import lab_settings, open_lab
from notbefore.event_loop import ServingLoop
from parts import missing_part

WORKERS = os.environ.get("NOTBEFORE_WORKERS")

# A day that the tests of the client and of the agent share; its own assertions tell what they saw.
pytest.register_assert_rewrite("odd_day")


def pytest_configure(config):
    """A shell starts what runs in the background with Ctrl-C ignored, and children inherit that: not those of tests."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_asyncio_loop_factories(config, item):
    """What is async runs on the loop that a server runs on."""
    return {"serving": ServingLoop}


def pytest_runtest_setup(item):
    """A test that needs a part is skipped with the reason, or fails when parts are required."""
    for mark in item.iter_markers("part"):
        missing_part(mark.args[0])
    if WORKERS and item.get_closest_marker("one_process"):
        os.environ["NOTBEFORE_WORKERS"] = "1"


def pytest_runtest_teardown(item):
    """Every server of these tests has as many workers as NOTBEFORE_WORKERS says, but for those about one process."""
    if WORKERS:
        os.environ["NOTBEFORE_WORKERS"] = WORKERS


@pytest.fixture
def lab(tmp_path):
    """An emulator on a manual clock with no scopes."""
    with open_lab(lab_settings(tmp_path / "state")) as opened:
        yield opened


@pytest.fixture
def demo(tmp_path):
    """The demo scope on a manual clock."""
    with open_lab(lab_settings(tmp_path / "state", demo=True)) as opened:
        yield opened


@pytest.fixture(scope="module")
def shared_demo(tmp_path_factory):
    """The demo scope for a whole file of tests that leave it as it was."""
    with open_lab(lab_settings(tmp_path_factory.mktemp("shared") / "state", demo=True)) as opened:
        yield opened
