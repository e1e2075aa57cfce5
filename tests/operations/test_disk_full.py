"""A full disk, a real one: no promise that is not kept, nothing lost, and no restart needed afterwards."""

import json

import pytest

VMS = [{"name": "a", "addresses": ["127.0.0.1"]}, {"name": "b", "addresses": ["127.0.0.2"]}]
SETTINGS = {"approval": "all", "user_operations_max": 20}
EVENTS_MADE = 8


def approve(server, event):
    return server.ask("POST", json.dumps({"StartRequests": [{"EventId": event}]}))[0]


def approved(server, events):
    return [event for event in events if server.control("GET", f"/v1/events/{event}")[1]["approvals"]]


@pytest.mark.part("root-mount")
def test_a_full_disk_gives_503_and_no_200_and_loses_nothing(disk, served):
    """Issue: approving while the disk is full gives 503 and no 200; nothing lost; works again without a restart.

    Proved by kill -9 while it is full: every approval answered 200 is there afterwards, and none of the others.
    """
    server = served("--clock", "manual", state=disk.where)
    assert (
        server.control("PUT", "/v1/scopes/s", {"settings": {**SETTINGS, "listening": "always"}, "vms": VMS})[0] == 201
    )
    types = ("restart", "redeploy", "freeze", "terminate")
    made = [server.control("POST", f"/v1/scopes/s/vms/{vm}/{what}", {}) for what in types for vm in "ab"]
    events = [event["id"] for status, event in made if status == 202]
    assert len(events) == EVENTS_MADE
    assert server.ask()[0] == 200

    before = approve(server, events[0])
    disk.fill()
    full = [approve(server, event) for event in events[1:3]]
    reads, document = server.ask()
    disk.empty()
    again = approve(server, events[3])
    disk.fill()
    full_again = approve(server, events[4])
    server.kill()
    disk.empty()
    server.start()

    assert (before, full, again, full_again) == (200, [503, 503], 200, 503)
    assert (reads, len(document["Events"])) == (200, EVENTS_MADE)
    assert approved(server, events) == [events[0], events[3]]
    assert approve(server, events[1]) == 200
    assert "Traceback" not in server.log.read_text()
