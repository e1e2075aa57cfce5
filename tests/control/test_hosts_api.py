"""Hosts over the control API (DESIGN §5): declare, read, remove; and a host that failed (SPEC §3.1)."""

import pytest

from lab import lab_settings, open_lab

ON_H1 = {"name": "a", "host": "h1"}


def error_of(reply):
    assert set(reply.json["error"]) == {"code", "message", "hint", "facts"}
    return reply.json["error"]


def hosts(lab):
    return lab.control("GET", "/v1/hosts").json["hosts"]


def test_a_host_is_declared_read_and_removed(lab):
    """DESIGN §5: GET|PUT /v1/hosts…"""
    made = lab.control("PUT", "/v1/hosts/rack1-a", {"executor": "simulate"})

    assert (made.status, made.json) == (
        201,
        {"name": "rack1-a", "executor": "simulate", "declared": True, "vms": {}},
    )
    assert lab.control("GET", "/v1/hosts/RACK1-A").json == made.json
    assert hosts(lab) == [made.json]
    assert lab.control("DELETE", "/v1/hosts/rack1-a").status == 204
    assert hosts(lab) == []
    assert error_of(lab.control("GET", "/v1/hosts/rack1-a"))["code"] == "unknown_host"
    assert error_of(lab.control("DELETE", "/v1/hosts/rack1-a"))["code"] == "unknown_host"


def test_put_is_idempotent_and_who_did_it_stands_in_history(lab):
    """DESIGN §5: PUT replaces the whole and is idempotent. S11: who, when, what, why."""
    lab.control("PUT", "/v1/hosts/h1")
    again = lab.control("PUT", "/v1/hosts/h1", {})
    renamed = lab.control("PUT", "/v1/hosts/H1", {})
    lab.control("DELETE", "/v1/hosts/h1")

    assert (again.status, renamed.status, renamed.json["name"]) == (200, 200, "H1")
    told = [(change["what"], change["by"]) for record in lab.history() for change in record["changes"]]
    assert told == [("host declared", "operator admin")] * 2 + [("host removed", "operator admin")]
    assert all(record["scope"] == "" for record in lab.history())


def test_hosts_that_vms_merely_name_are_listed_with_their_vms(lab):
    """Listed together: declared or not, with VM counts per scope."""
    lab.control("PUT", "/v1/hosts/h1", {})
    lab.declare("s", ON_H1, {"name": "b", "host": "H1"}, {"name": "c", "host": "h0"}, "d")
    lab.declare("t", {"name": "e", "host": "h1"})

    assert hosts(lab) == [
        {"name": "h0", "executor": "simulate", "declared": False, "vms": {"s": 1}},
        {"name": "h1", "executor": "simulate", "declared": True, "vms": {"s": 2, "t": 1}},
    ]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/hosts/h1", {"executor": "magic"}),
        ("/v1/hosts/h1", {"executor": 1}),
        ("/v1/hosts/h1", {"executors": "simulate"}),
        ("/v1/hosts/h1", []),
        (f"/v1/hosts/{'x' * 129}", {}),
        ("/v1/hosts/bell%07", {}),
    ],
)
def test_a_wrong_host_is_refused_and_changes_nothing(lab, path, body):
    """Bad input gets a clear error and changes nothing; an unknown executor is told which there are."""
    reply = lab.control("PUT", path, body)

    assert (reply.status, error_of(reply)["code"]) == (400, "invalid")
    assert hosts(lab) == []
    if body == {"executor": "magic"}:
        assert error_of(reply)["hint"] == "There is: simulate."


@pytest.mark.parametrize("declared", [True, False])
def test_a_host_that_vms_are_on_is_not_removed(lab, declared):
    """Refused, live or not, naming them."""
    if declared:
        lab.control("PUT", "/v1/hosts/h1", {})
    lab.declare("s", ON_H1)

    reply = lab.control("DELETE", "/v1/hosts/h1")

    assert (reply.status, error_of(reply)["code"]) == (409, "host_in_use")
    assert "s/a" in error_of(reply)["message"]
    assert error_of(reply)["facts"]["vms"] == ["s/a"]
    assert [host["declared"] for host in hosts(lab)] == [declared]


@pytest.mark.parametrize("host", ["a/b", "bell\a", "x" * 129])
def test_a_vm_names_a_host_that_could_be_one(lab, host):
    """SPEC §1: a name that no path can hold would be a host nobody could speak of."""
    reply = lab.control("PUT", "/v1/scopes/s", {"vms": [{"name": "a", "host": host}]})

    assert (reply.status, error_of(reply)["code"]) == (400, "invalid")


def test_declared_hosts_survive_a_restart_of_the_server(tmp_path):
    """Durable like everything else."""
    settings = lab_settings(tmp_path / "state")
    with open_lab(settings) as first:
        made = first.control("PUT", "/v1/hosts/h1", {}).json
    with open_lab(settings) as second:
        assert hosts(second) == [made]


# -- a host that failed


def test_a_failed_host_reboots_its_vms_of_every_scope_at_once(lab):
    """SPEC §3.1: host failed: Reboot, Platform, no notice; Started at once; history says why."""
    lab.declare("s", ON_H1, {"name": "b", "update_domain": 1, "host": "H1"}, {"name": "c", "host": "h2"})
    lab.declare("t", {"name": "d", "host": "h1"}, listening="always", approval="all")

    reply = lab.control("POST", "/v1/hosts/h1/failed")

    assert reply.status == 202
    assert [(e["scope"], e["vms"]) for e in reply.json["events"]] == [("s", ["a"]), ("s", ["b"]), ("t", ["d"])]
    assert {(e["type"], e["source"], e["status"], e["not_before"]) for e in reply.json["events"]} == {
        ("Reboot", "Platform", "Started", None)
    }
    assert {e["description"] for e in reply.json["events"]} == {"Virtual machine has encountered a failure."}
    assert reply.json["not_done"] == []
    for event in reply.json["events"]:
        (record,) = lab.history(f"event={event['id']}")
        told = next(c for c in record["changes"] if c["event"] and c["event"]["id"] == event["id"])
        assert (told["what"], told["why"]) == (
            "started: no notice",
            "its host failed (h1): there is no time for notice",
        )
    lab.advance(30)
    assert lab.control("GET", "/v1/events").json["events"] == []


def test_a_failed_host_that_nobody_knows_is_unknown(lab):
    """404 unknown_host; a declared host without VMs is known, and hits nobody."""
    lab.control("PUT", "/v1/hosts/h1", {})

    assert error_of(lab.control("POST", "/v1/hosts/h2/failed"))["code"] == "unknown_host"
    empty = lab.control("POST", "/v1/hosts/h1/failed")
    assert (empty.status, empty.json) == (202, {"events": [], "not_done": []})


def test_one_scope_that_cannot_take_it_keeps_none_of_the_others_from_theirs(lab):
    """What was done and what not is said; saying it again does only what is left."""
    lab.declare("a", ON_H1)
    fill(lab, "b")
    lab.declare("c", {"name": "z", "host": "h1"})

    reply = lab.control("POST", "/v1/hosts/h1/failed")

    assert reply.status == 202
    assert [event["scope"] for event in reply.json["events"]] == ["a", "c"]
    (left,) = reply.json["not_done"]
    assert (left["scope"], left["code"]) == ("b", "scope_too_large")
    again = lab.control("POST", "/v1/hosts/h1/failed").json
    assert [event["id"] for event in again["events"]] == [event["id"] for event in reply.json["events"]]


def test_a_failure_that_no_scope_can_take_is_refused(lab):
    """Nothing was done, so it is no success."""
    fill(lab, "b")

    reply = lab.control("POST", "/v1/hosts/h1/failed")

    assert (reply.status, error_of(reply)["code"]) == (413, "scope_too_large")


def fill(lab, scope):
    """A scope on h1 so full that not one more event fits into it: its VM's tags grow until the next are refused."""
    tags, size = {}, 1000
    while size:
        more = {**tags, f"{len(tags):03}{size}": "x" * size}
        vms = [{"name": f"vm-{n}", "host": "h1", "tags": more} for n in range(20)]
        if len(more) > 60 or lab.control("PUT", f"/v1/scopes/{scope}", {"vms": vms}).status >= 400:
            size //= 2
        else:
            tags = more
