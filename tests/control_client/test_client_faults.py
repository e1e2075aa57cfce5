"""ControlClient orders faults: the routes of /v1/faults, typed."""

import pytest

from lab import lab_settings, open_lab
from notbefore.control_client import ControlClient, Fault
from notbefore.control_client.refusals import NotAllowed, UnknownFault


@pytest.fixture
def lab(tmp_path):
    with open_lab(lab_settings(tmp_path / "state", demo=True, allow_faults=True)) as opened:
        yield opened


@pytest.fixture
def client(lab):
    with ControlClient(lab.server.control_url, lab.server.token) as made:
        yield made


def test_faults_are_added_listed_and_cleared(client, lab):
    """What is set is what is listed; it strikes, and is gone when it is cleared."""
    made = client.add_fault("500", vms=["FrontEnd_IN_0"], times=2, on="get")

    assert made == Fault("f1", "500", vms=("demo/FrontEnd_IN_0",), times=2, on="get")
    assert lab.ask().status == 500
    assert [(one.id, one.struck, one.spent) for one in client.faults()] == [("f1", 1, False)]
    assert client.clear_faults() == 1
    assert client.faults() == ()
    assert lab.ask().status == 200


def test_every_option_has_its_argument(client):
    assert client.add_fault("slow", delay_s=0.5).delay_s == 0.5
    assert client.add_fault("cancel", after_s=480).after_s == 480
    assert client.add_fault("short-notice", notice_s=300).notice_s == 300
    assert client.add_fault("second-impact", after_s=1, duration_s=5).duration_s == 5
    chance = client.add_fault("503", probability=0.25, seed=7)
    assert (chance.probability, chance.seed) == (0.25, 7)
    assert isinstance(client.add_fault("503", probability=0.25).seed, int)


def test_one_or_a_kind_is_cleared(client):
    first, *_ = (client.add_fault(kind) for kind in ("410", "cancel", "cancel"))

    assert client.clear_faults(fault_id=first.id) == 1
    assert client.clear_faults("cancel") == 2
    with pytest.raises(UnknownFault):
        client.clear_faults(fault_id=first.id)


def test_a_server_without_faults_refuses(demo):
    with ControlClient(demo.server.control_url, demo.server.token) as client, pytest.raises(NotAllowed):
        client.add_fault("500")
