"""Faults that a test orders, and the example for users, which orders five of them."""

import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from notbefore.client import EndpointError

EXAMPLE = Path(__file__).parents[2] / "examples" / "test_my_agent.py"


def test_a_fault_strikes_as_often_as_ordered(scheduled_events):
    """Issue: n times."""
    web = scheduled_events.vm("web-0")
    fault = scheduled_events.fault(503, times=1)

    with pytest.raises(EndpointError, match="503"):
        web.document()

    assert web.document().events == ()
    assert fault.struck == 1
    assert [one.status for one in web.requests] == [503, 200]


def test_a_fault_is_gone_after_its_block_and_after_clear(scheduled_events):
    """Issue: until cleared."""
    web = scheduled_events.vm("web-0")

    with scheduled_events.fault("500") as fault, pytest.raises(EndpointError, match="500"):
        web.document()
    web.document()
    fault.clear()
    scheduled_events.fault("garbage")
    scheduled_events.fault("429")

    assert scheduled_events.clear_faults("429") == 1
    assert scheduled_events.clear_faults() == 1
    assert web.document().events == ()
    assert fault.struck == 0


def test_a_fault_may_be_for_named_vms_alone(scheduled_events):
    """Issue: for all or named VMs."""
    scheduled_events.fault("410", "web-0")

    with pytest.raises(EndpointError, match="410"):
        scheduled_events.vm("web-0").document()
    assert scheduled_events.vm("web-1").document().events == ()


def test_spans_of_faults_are_given_as_any_other(scheduled_events):
    """On the emulator's clock: cancelled while Scheduled."""
    scheduled_events.fault("cancel", after_s="8m")
    event = scheduled_events.schedule("Freeze", "web-0")

    scheduled_events.advance("8m")

    scheduled_events.assert_status(event, "Cancelled")


def test_a_client_that_hangs_on_a_fault_holds_no_closing_up(scheduled_events):
    """It is cut off."""
    web = scheduled_events.vm("web-0")
    scheduled_events.fault("hang")
    failed = []

    def ask():
        try:
            web.document()
        except EndpointError as error:
            failed.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    scheduled_events.wait_until(lambda: web.requests)
    scheduled_events.close()
    asking.join()

    assert len(failed) == 1


@pytest.mark.parametrize("words", [(), ("-n", "2")], ids=["plain", "in parallel"])
def test_the_example_for_users_passes(tmp_path, words):
    """Issue: 20 tests that cover all five types, approval, cancel, deadline, recovery and five faults; `-n 2` works."""
    shutil.copy(EXAMPLE, tmp_path)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-W",
        "error",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:asyncio",
        *words,
        EXAMPLE.name,
    ]

    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)

    assert "20 passed" in ran.stdout, ran.stdout
