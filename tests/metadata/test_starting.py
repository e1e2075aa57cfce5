"""Approving over the wire (SPEC §2.4): what is answered, what is promised."""

import json

import pytest

from lab import start_requests


def post(lab, body, source="127.0.0.1"):
    return lab.ask(source, method="POST", body=body)


def test_any_vm_of_the_scope_may_approve_and_it_counts_for_all_resources(demo):
    """SPEC §2.4: any VM of the scope may approve, not only an impacted one; it counts for all `Resources` [seed]."""
    made = demo.maintain("demo", "Reboot", update_domains=[0])["events"][0]

    reply = demo.approve(made["id"], source="127.0.0.4")

    assert (reply.status, reply.body) == (200, b"")
    event = demo.document()["Events"][0]
    assert (event["EventStatus"], event["NotBefore"]) == ("Started", "")
    assert event["Resources"] == ["FrontEnd_IN_0", "BackEnd_IN_0"]


def test_approving_again_or_when_started_is_200(demo):
    """SPEC §2.4: again 200 when repeated or already Started (agents retry)."""
    event = demo.made("demo", "FrontEnd_IN_0", "restart")

    assert [demo.approve(event["id"]).status for _ in range(3)] == [200, 200, 200]
    assert demo.approve(event["id"].lower(), source="127.0.0.2").status == 200
    assert len(demo.event(event["id"])["approvals"]) == 1


def test_200_means_recorded_while_others_must_still_speak(lab):
    """SPEC §2.4: 200 means *recorded*; the event may stay Scheduled while others must still speak (policy `all`)."""
    vms = [{"name": f"vm-{n}", "addresses": [f"127.0.1.{n}"]} for n in (1, 2, 3)]
    lab.declare("s", *vms, listening="always", approval="all")
    event = lab.maintain("s", "Freeze", vms=["vm-1", "vm-2"])["events"][0]

    assert lab.approve(event["id"], source="127.0.1.3").status == 200
    assert lab.approve(event["id"], source="127.0.1.1").status == 200
    assert lab.event(event["id"])["status"] == "Scheduled"
    assert lab.approve(event["id"], source="127.0.1.2").status == 200
    assert lab.event(event["id"])["status"] == "Started"


@pytest.mark.parametrize(
    "incarnation", ["5", 5, -1, "x", None], ids=["string", "number", "negative", "no number", "absent"]
)
def test_a_document_incarnation_beside_it_is_accepted_whatever_it_says(demo, incarnation):
    """SPEC §2.4: a DocumentIncarnation that is not the current one does not fail the request [seed samples]."""
    event = demo.made("demo", "FrontEnd_IN_0", "restart")
    body = {"StartRequests": [{"EventId": event["id"]}]}
    if incarnation is not None:
        body["DocumentIncarnation"] = incarnation

    assert post(demo, json.dumps(body)).status == 200
    assert demo.event(event["id"])["status"] == "Started"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("", id="empty"),
        pytest.param("{", id="bad JSON"),
        pytest.param("[]", id="no object"),
        pytest.param("{}", id="StartRequests missing"),
        pytest.param('{"StartRequests":[]}', id="empty list"),
        pytest.param('{"StartRequests":{"EventId":"x"}}', id="not a list"),
        pytest.param('{"StartRequests":null}', id="null"),
        pytest.param('{"StartRequests":["x"]}', id="entry no object"),
        pytest.param('{"StartRequests":[{"EventId":5}]}', id="id no string"),
        pytest.param('{"StartRequests":[{}]}', id="id missing"),
        pytest.param('{"StartRequests":[{"EventId":"602d9444-d2cd-49c7-8624-8643e7171297"}]}', id="unknown id"),
        pytest.param("[" * 30000, id="nested too deeply"),
        pytest.param(start_requests(*["x"] * 101), id="more than 100 ids"),
    ],
)
def test_a_bad_body_is_400_with_an_error_and_changes_nothing(demo, body):
    """SPEC §2.4: 400 with `error` when JSON is bad, `StartRequests` is missing, empty, not a list, or an id is unknown."""
    event = demo.made("demo", "FrontEnd_IN_0", "restart")

    reply = post(demo, body)

    assert reply.status == 400
    assert reply.json["error"].startswith("Bad request. ")
    assert demo.event(event["id"])["approvals"] == []


def test_up_to_100_ids_are_taken(demo):
    """SPEC §2.4: up to 100 ids."""
    event = demo.made("demo", "FrontEnd_IN_0", "restart")

    assert demo.approve(*[event["id"]] * 100).status == 200


def test_all_or_nothing(demo):
    """SPEC §2.4: all or nothing: a request with one bad id changes nothing."""
    first = demo.made("demo", "FrontEnd_IN_0", "restart")
    second = demo.made("demo", "FrontEnd_IN_1", "restart")

    refused = demo.approve(first["id"], "602D9444-D2CD-49C7-8624-8643E7171297", second["id"])

    assert refused.status == 400
    assert {demo.event(event["id"])["status"] for event in (first, second)} == {"Scheduled"}
    assert demo.approve(first["id"], second["id"]).status == 200
    assert {demo.event(event["id"])["status"] for event in (first, second)} == {"Started"}


def test_unknown_finished_and_foreign_ids_are_indistinguishable(lab):
    """SPEC §2.4: an id is unknown, finished, or of another scope (indistinguishable on purpose)."""
    lab.declare("a", {"name": "vm", "addresses": ["127.0.1.1"]}, listening="always")
    lab.declare("b", {"name": "vm", "addresses": ["127.0.1.2"]}, listening="always")
    finished, foreign = lab.made("a", "vm", "restart")["id"], lab.made("b", "vm", "restart")["id"]
    lab.control("POST", f"/v1/events/{finished}/cancel")
    unknown = "602D9444-D2CD-49C7-8624-8643E7171297"

    replies = [lab.approve(event_id, source="127.0.1.1") for event_id in (unknown, finished, foreign)]

    said = {
        (reply.status, reply.body.replace(event_id.encode(), b"ID"))
        for reply, event_id in zip(replies, (unknown, finished, foreign), strict=True)
    }
    assert len(said) == 1


def test_a_queued_event_cannot_be_approved_by_a_vm(demo):
    """SPEC §3: Queued exists in history and the control API, never in the document; so a VM cannot name it."""
    queued = demo.maintain("demo", "Freeze")["queued"][0]

    assert demo.approve(queued["id"]).status == 400


def test_an_event_hidden_by_the_version_can_still_be_approved(demo):
    """SPEC §2.4: 200 when every id names a current event of the caller's scope, whichever version shows it."""
    event = demo.made("demo", "FrontEnd_IN_0", "terminate")

    assert demo.approve(event["id"], version="2017-03-01").status == 200
    assert demo.event(event["id"])["status"] == "Started"
