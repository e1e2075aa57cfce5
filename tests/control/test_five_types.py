"""The five types to their end (SPEC §3.1 to §3.5), through the control API and the metadata API on the manual clock."""

import pytest

A, B, C = ({"name": name, "addresses": [f"127.0.1.{n}"]} for n, name in enumerate("abc", 1))


def address(vm):
    return vm["addresses"][0]


def names_of(lab, scope="s"):
    return [vm["name"] for vm in lab.control("GET", f"/v1/scopes/{scope}").json["vms"]]


def vm_of(lab, name, scope="s"):
    return next(vm for vm in lab.control("GET", f"/v1/scopes/{scope}").json["vms"] if vm["name"] == name)


def shown_to(lab, vm, field="EventStatus"):
    return {event["EventId"]: event[field] for event in lab.document(address(vm))["Events"]}


# -- Terminate


def test_two_terminates_with_equal_not_before_start_together_and_both_vms_are_gone(lab):
    """Issue: approving one starts none; approving the other starts both; afterwards both are gone from the scope."""
    lab.declare("s", A, B, C, listening="always")
    first, second = (lab.made("s", vm, "terminate") for vm in "ab")
    assert first["not_before"] == second["not_before"]

    assert lab.approve(first["id"], source=address(A)).status == 200
    assert shown_to(lab, C) == {first["id"]: "Scheduled", second["id"]: "Scheduled"}
    assert lab.control("GET", f"/v1/events/{first['id']}/explain").json["rule"] == "coupling"

    assert lab.approve(second["id"], source=address(B)).status == 200
    assert shown_to(lab, C) == {first["id"]: "Started", second["id"]: "Started"}

    lab.advance(30)
    assert names_of(lab) == ["c"]
    assert lab.document(address(C))["Events"] == []
    assert lab.ask(address(A)).status == 403
    assert lab.operate("s", "a", "restart").status == 404
    assert [lab.event(one["id"])["status"] for one in (first, second)] == ["Completed", "Completed"]


def test_a_terminate_gives_five_minutes_and_up_to_fifteen(lab):
    """SPEC §3.1: 5 min, 5 to 15 settable [real]; longer is refused."""
    lab.declare("s", A, listening="always", notice_s={"Terminate": 900})
    event = lab.made("s", "a", "terminate")

    lab.advance(899)
    assert lab.event(event["id"])["status"] == "Scheduled"
    lab.advance(1)
    assert lab.event(event["id"])["status"] == "Started"
    assert lab.control("PUT", "/v1/scopes/t", {"settings": {"notice_s": {"Terminate": 901}}}).status == 400


# -- Preempt


def test_only_a_spot_vm_is_evicted_and_the_refusal_says_how_to_make_it_one(lab):
    """SPEC §2.3: `Preempt` (spot VM taken away)."""
    lab.declare("s", A, {**B, "spot": True}, listening="always")

    reply = lab.operate("s", "a", "evict")

    assert (reply.status, reply.json["error"]["code"]) == (409, "not_spot")
    assert "spot = true" in reply.json["error"]["hint"]
    assert lab.control("GET", "/v1/events").json["events"] == []
    assert lab.operate("s", "b", "evict").status == 202
    lab.make_spot("s", "a")
    assert lab.operate("s", "a", "evict").status == 202


@pytest.mark.parametrize(("eviction", "left"), [("deallocate", ["a", "b"]), ("delete", ["b"])])
def test_an_evicted_vm_is_deallocated_or_removed_by_policy(lab, eviction, left):
    """SPEC §3.5: Preempt done: the VM is `deallocated` (or removed, by policy)."""
    lab.declare("s", {**A, "spot": True}, B, listening="always", eviction=eviction)
    event = lab.made("s", "a", "evict")

    lab.advance(30)
    assert shown_to(lab, B, "NotBefore") == {event["id"]: ""}
    lab.advance(30)

    assert names_of(lab) == left
    if eviction == "deallocate":
        assert vm_of(lab, "a")["state"] == "deallocated"
        assert lab.operate("s", "a", "restart").json["error"]["code"] == "vm_deallocated"


# -- Redeploy


def test_a_redeployed_vm_is_on_another_host_afterwards(lab):
    """SPEC §3.5: Redeploy done: its new host is recorded; declared hosts are places too."""
    lab.control("PUT", "/v1/hosts/spare", {})
    lab.declare("s", {**A, "host": "h1"}, {**B, "host": "h2"}, listening="always")
    event = lab.made("s", "a", "redeploy")

    lab.approve(event["id"], source=address(A))
    lab.advance(60)

    assert vm_of(lab, "a")["host"] == "spare"
    (moved,) = [c for r in lab.history("scope=s") for c in r["changes"] if c["what"] == "vm changed"]
    assert (moved["why"], moved["vm"]["host"]) == ("a moved to spare", "spare")


def test_a_vm_without_a_known_host_is_redeployed_to_none(lab):
    """Where nobody knows hosts there is none to record."""
    lab.control("PUT", "/v1/hosts/spare", {})
    lab.declare("s", A, listening="always")
    lab.control("POST", f"/v1/events/{lab.made('s', 'a', 'redeploy')['id']}/approve")
    lab.advance(60)

    assert vm_of(lab, "a")["host"] == ""


# -- policies, notice, no notice


def test_policy_per_scope_and_per_type(lab):
    """SPEC §3.2: per scope, optionally per event type."""
    lab.declare("s", A, B, listening="always", approval={"default": "leader", "Freeze": "all"})
    reboot = lab.maintain("s", "Reboot")["events"][0]["id"]
    freeze = lab.maintain("s", "Freeze")["events"][0]["id"]

    lab.approve(reboot, freeze, source=address(B))
    assert shown_to(lab, A) == {reboot: "Scheduled", freeze: "Scheduled"}
    lab.approve(reboot, freeze, source=address(A))
    assert shown_to(lab, A) == {reboot: "Started", freeze: "Started"}


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        ({"auto_approve": ["User:Reboot"]}, ["Started"]),
        ({"user_events": False}, []),
        ({"listening": "never"}, ["Started"]),
    ],
    ids=["auto_approve", "user_events", "listening"],
)
def test_an_operation_without_notice_starts_at_once_and_history_says_why(lab, settings, shown):
    """SPEC §3.2, §3.3, §2.5: Started at once; with user_events = false never in the document."""
    lab.declare("s", A, **{"listening": "always", **settings})

    event = lab.made("s", "a", "restart")

    assert (event["status"], event["not_before"]) == ("Started", None)
    assert list(shown_to(lab, A).values()) == shown
    (record,) = lab.history(f"event={event['id']}")
    assert record["changes"][0]["what"].startswith("started: ")
    assert record["changes"][0]["why"] in lab.control("GET", f"/v1/events/{event['id']}/explain").json["explanation"]


@pytest.mark.parametrize(
    ("operation", "default_s"),
    [("restart", 900), ("redeploy", 600), ("freeze", 900), ("evict", 30), ("terminate", 300)],
)
def test_notice_is_the_types_unless_the_scope_says_otherwise(lab, operation, default_s):
    """SPEC §3.1: notice settable per scope (shorter too, for tests); a longer time may be asked for, no shorter one."""
    types = {
        "restart": "Reboot",
        "redeploy": "Redeploy",
        "freeze": "Freeze",
        "evict": "Preempt",
        "terminate": "Terminate",
    }
    lab.declare("s", {**A, "spot": True}, listening="always")
    lab.declare("t", {**B, "spot": True}, listening="always", notice_s={types[operation]: 7})
    default, short = lab.made("s", "a", operation)["id"], lab.made("t", "b", operation)["id"]

    lab.advance(6)
    assert lab.event(short)["status"] == "Scheduled"
    lab.advance(1)
    assert lab.event(short)["status"] == "Started"
    lab.advance(default_s - 8)
    assert lab.event(default)["status"] == "Scheduled"
    lab.advance(1)
    assert lab.event(default)["status"] == "Started"


def test_a_longer_time_may_be_asked_for_and_a_shorter_one_names_the_earliest(lab):
    """SPEC §3.1: refused with the earliest allowed time in the error."""
    lab.declare("s", A, listening="always")
    earliest = lab.made("s", "a", "restart")["not_before"]

    refused = lab.operate("s", "a", "redeploy", not_before=lab.control("GET", "/v1/clock").json["now"])
    later = lab.made("s", "a", "redeploy", not_before=earliest)

    assert refused.json["error"]["code"] == "too_early"
    assert refused.json["error"]["facts"]["earliest"] < earliest
    assert later["not_before"] == earliest
