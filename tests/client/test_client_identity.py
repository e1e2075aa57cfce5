"""Who am I: the instance metadata, else settings, never the hostname by itself (SPEC §2.7, REFERENCE §4.3)."""

import pytest
from odd_server import OddServer, answer, event
from turned_clock import TurnedClock

from notbefore.client import EndpointError, ScheduledEvents, same_vm
from notbefore.client.document import parsed_document
from notbefore.client.names import scale_set_name

INSTANCE = {"compute": {"name": "aks-nodepool1-22790412-vmss_0", "osProfile": {"computerName": "x"}}, "network": {}}


@pytest.fixture(autouse=True)
def _no_setting(monkeypatch):
    monkeypatch.delenv("NOTBEFORE_VM", raising=False)


def whoami(*acts, **options):
    with OddServer(*acts) as server, ScheduledEvents(server.url, clock=TurnedClock(), **options) as client:
        return client.whoami(), client.whoami(), len(server.questions), server.questions[0].target


def test_the_instance_metadata_says_it_once():
    """`compute.name`; asked once and kept."""
    name, again, questions, target = whoami(answer(200, INSTANCE))

    assert name == again == "aks-nodepool1-22790412-vmss_0"
    assert questions == 1
    assert target == "/metadata/instance?api-version=2017-08-01"


NOTHING = [
    answer(404, {"error": "Not found"}),
    answer(400, {"error": "Bad request"}),
    answer(200, {"compute": {"name": ""}}),
    answer(200, {"compute": None}),
    answer(200, "<html>"),
    answer(200, b""),
    answer(500),
]


@pytest.mark.parametrize("act", NOTHING)
def test_else_a_setting_does(act, monkeypatch):
    """An argument, or NOTBEFORE_VM; the argument first."""
    assert whoami(act, vm="web-1")[0] == "web-1"
    monkeypatch.setenv("NOTBEFORE_VM", "web-2")
    assert whoami(act)[0] == "web-2"
    assert whoami(act, vm="web-1")[0] == "web-1"


@pytest.mark.parametrize("act", NOTHING)
def test_the_hostname_is_never_taken_for_it(act):
    """On a scale set it is always another name [real]."""
    with pytest.raises(EndpointError, match="does not say who this VM is") as refused:
        whoami(act)

    assert "NOTBEFORE_VM" in refused.value.hint


def test_a_missing_element_is_not_asked_for_again():
    """404 is an outage of the events, and an answer here: there is no such thing."""
    with OddServer(answer(404)) as server, ScheduledEvents(server.url, vm="x", clock=TurnedClock()) as client:
        client.whoami()

    assert len(server.questions) == 1


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("web-1", "WEB-1", True),
        ("mySpotVM", "myspotvm", True),
        ("_myvm", "myvm", True),
        ("issue_0", "issue000000", True),
        ("Issue00000A", "issue_10", True),
        ("aks-workloads1-15413341-vmss_37", "aks-workloads1-15413341-vmss000011", True),
        ("issue_1", "issue000000", False),
        ("issue_10", "issue10", False),
        ("web-1", "web-11", False),
        ("web-1", "", False),
        ("", "", False),
        ("000000", "_0", False),
    ],
)
def test_names_mean_the_same_vm_in_any_case_and_as_scale_set_hostnames(one, other, same):
    """Six base-36 digits after the prefix are the instance's decimal id [real]."""
    assert same_vm(one, other) is same
    assert same_vm(other, one) is same


@pytest.mark.parametrize("hostname", ["web", "000000", "web-ü0000", "web-00-0"])
def test_other_hostnames_tell_nothing(hostname):
    assert scale_set_name(hostname) is None


def test_an_event_knows_whose_it_is():
    """By any of its resources."""
    import json

    entry = event(Resources=["web_0", "web_35"])
    (seen,) = parsed_document(json.dumps({"Events": [entry]}).encode()).events

    assert [seen.is_mine(name) for name in ("WEB_0", "web00000z", "web_1")] == [True, True, False]
