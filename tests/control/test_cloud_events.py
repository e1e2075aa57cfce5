"""News as CloudEvents 1.0: what a receiver gets, against what /v1/history shows."""

import json

import pytest

from lab import lab_settings, open_lab
from notbefore.control.cloud_events import cloud_event
from notbefore.core.news import gap_between
from receiver import SECRET, receiving, verified


@pytest.fixture
def receiver():
    with receiving() as opened:
        yield opened


@pytest.fixture
def told(tmp_path, receiver):
    """A lab whose changes are told, and a way to wait for so many."""
    webhook = {"name": "ops", "url": receiver.url, "secret": [SECRET]}
    notify = {"source": "https://fleet.example/notbefore", "webhook": [webhook]}
    with open_lab(lab_settings(tmp_path / "state", notify=notify)) as lab:
        yield lab, lambda number: receiver.wait(lambda came: len(came) >= number)


def test_each_change_is_one_event_with_the_record_as_history_shows_it(told):
    """DESIGN: data is what /v1/history shows, cut to the one change."""
    lab, came = told
    lab.declare("web", "web-1", listening="always")
    lab.control("PUT", "/v1/hosts/rack-1", {"executor": "simulate"})
    lab.control("POST", "/v1/tokens", {"name": "ci", "role": "viewer"})
    made = lab.made("web", "web-1", "restart")
    lab.control("POST", f"/v1/events/{made['id']}/approve")
    lab.advance(60)
    shown = [
        ({**record, "changes": [change]}, change) for record in lab.history("after=0") for change in record["changes"]
    ]
    events = [one.event for one in came(len(shown))]

    assert [event["data"] for event in events] == [record for record, _ in shown]
    for event, (record, change) in zip(events, shown, strict=True):
        assert event["specversion"] == "1.0"
        assert event["source"] == "https://fleet.example/notbefore"
        assert event["time"] == record["at"]
        assert event["datacontenttype"] == "application/json"
        assert event.get("partitionkey", "") == record["scope"]
        assert event.get("subject", "") == (change["event"]["id"] if change["event"] else record["scope"])
    types = [event["type"].removeprefix("dev.notbefore.") for event in events]
    assert types == [
        "scope.declared",
        "host.declared",
        "token.created",
        "event.scheduled",
        "event.approved",
        "event.started",
        "event.impact_done",
        "event.completed",
    ]


def test_headers_and_body_agree(told):
    """The id of the message is that of the event, and signed."""
    lab, came = told
    lab.declare("web", "web-1")
    (one,) = came(1)

    assert one.headers["webhook-id"] == one.event["id"]
    assert verified(one.headers, one.body, SECRET)


def test_a_gap_says_between_which_revisions():
    """Where records may be missing."""
    event = json.loads(cloud_event(gap_between(3, 9), "/notbefore"))

    assert event["type"] == "dev.notbefore.history.retired"
    assert event["data"] == {"after": 3, "retired_through": 9}
    assert {"specversion", "id", "source"} <= set(event)
