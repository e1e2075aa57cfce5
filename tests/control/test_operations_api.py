"""Host maintenance over the control API (DESIGN §5, SPEC §3.4): many scopes on one host, one promise."""

import pytest
from maintained_fleets import (
    as_happened,
    as_planned,
    events_of,
    everything,
    maintain_host,
    operation,
    refused,
    two_tenants,
    vm,
)

from lab import lab_settings, open_lab


def statuses(lab):
    return {event["scope"]: event["status"] for event in lab.control("GET", "/v1/events").json["events"]}


def whats(lab, query):
    return [change["what"] for record in lab.history(f"{query}&limit=1000") for change in record["changes"]]


def token(lab, **wanted):
    reply = lab.control("POST", "/v1/tokens", wanted)
    assert reply.status == 201, reply
    return reply.json["secret"]


# -- two tenants on one host


def test_an_approved_tenant_waits_for_the_other_and_then_both_start(lab):
    """Must show: A approves, its event stays Scheduled; B approves; both start."""
    two_tenants(lab)
    shown = maintain_host(lab)
    events = events_of(shown)

    assert lab.approve(events["a"], source="127.0.0.1").status == 200
    lab.advance(60)

    assert statuses(lab) == {"a": "Scheduled", "b": "Scheduled"}
    waiting = operation(lab, shown["id"])
    assert [event["stage"] for event in waiting["waves"][0]["events"]] == ["released", "announced"]
    due = waiting["waves"][0]["not_before"]
    assert waiting["waits_for"] == f"the approval of shop in scope b, or {due}, its common NotBefore"
    assert lab.event(events["a"])["released_at"] is not None
    assert lab.event(events["b"])["released_at"] is None

    assert lab.approve(events["b"], source="127.0.0.2").status == 200
    lab.advance(0)

    assert statuses(lab) == {"a": "Started", "b": "Started"}
    assert operation(lab, shown["id"])["waits_for"] == "the impact on web in scope a and shop in scope b to be over"
    lab.advance(60)
    over = operation(lab, shown["id"])
    assert (over["status"], over["waits_for"]) == ("Completed", "nothing: it is over")


def test_a_silent_tenant_stops_nothing(lab):
    """Must show: B silent: both start at the common NotBefore."""
    two_tenants(lab)
    shown = maintain_host(lab)
    events = events_of(shown)
    lab.approve(events["a"], source="127.0.0.1")
    due = shown["waves"][0]["not_before"]

    assert {lab.event(event)["not_before"] for event in events.values()} == {due}
    lab.advance(900)
    assert statuses(lab) == {"a": "Scheduled", "b": "Scheduled"}
    lab.advance(2)

    assert {lab.event(event)["started_at"] for event in events.values()} == {due}


def test_the_other_tenant_is_named_to_operators_of_the_fleet_alone(lab):
    """Must show: explain names B's VM to the operator and nothing to A's VMs, nor to a token limited to A."""
    two_tenants(lab)
    events = events_of(maintain_host(lab))
    only_a = token(lab, name="only-a", role="operator", scopes=["a"])
    lab.approve(events["a"], source="127.0.0.1")
    lab.advance(0)

    explain = f"/v1/events/{events['a']}/explain"
    assert "shop" in lab.control("GET", explain).json["explanation"]
    for hidden in (
        lab.control("GET", explain, token=only_a).body,
        lab.control("GET", "/v1/events", token=only_a).body,
        lab.control("GET", "/v1/history?limit=1000", token=only_a).body,
        lab.ask("127.0.0.1").body,
    ):
        assert b"shop" not in hidden
        assert events["b"].encode() not in hidden


def test_a_token_limited_to_scopes_gets_nothing_of_operations(lab):
    """An operation shows every scope on its host, so it is for tokens of the whole fleet."""
    two_tenants(lab)
    shown = maintain_host(lab)
    only_a = token(lab, name="only-a", role="admin", scopes=["a"])
    before = everything(lab)

    for method, path in (
        ("GET", "/v1/operations"),
        ("GET", f"/v1/operations/{shown['id']}"),
        ("POST", f"/v1/operations/{shown['id']}/cancel"),
        ("POST", "/v1/hosts/h1/maintenance"),
    ):
        body = {"type": "Reboot"} if path.endswith("maintenance") else None
        assert refused(lab.control(method, path, body, token=only_a), 403)["code"] == "forbidden"
    assert everything(lab) == before


# -- two update domains of one scope


def test_the_second_domain_is_announced_when_the_first_has_ended_and_rested(lab):
    """Must show: first wave's UD ends before the second's event is visible; no deadlock."""
    lab.declare("a", vm("a0"), vm("a1", domain=1), listening="always", recovery_s=30)
    shown = maintain_host(lab)

    assert statuses(lab) == {"a": "Scheduled"}
    assert shown["waiting"] == [{"scope": "a", "vm": "a1", "why": "scope a: update domain 0 has its turn"}]
    lab.advance(901 + 30)
    resting = operation(lab, shown["id"])
    assert statuses(lab) == {}
    assert resting["waits_for"].startswith("scope a: update domain 0 rests until ")
    lab.advance(30)

    second = operation(lab, shown["id"])["waves"][1]
    assert [event["vms"] for event in second["events"]] == [["a1"]]
    first, second = (lab.event(event["event"]) for wave in (shown["waves"][0], second) for event in wave["events"])
    assert second["visible_since"] > first["ended_at"]
    lab.advance(3600)
    assert operation(lab, shown["id"])["status"] == "Completed"


# -- plans


def test_a_plan_changes_nothing(lab):
    """`plan: true` says what would happen; scopes, documents and history stay as they were, byte for byte."""
    two_tenants(lab)
    lab.document("127.0.0.1")
    before = everything(lab)

    reply = lab.control("POST", "/v1/hosts/h1/maintenance", {"type": "Reboot", "plan": True})

    assert reply.status == 200
    assert set(reply.json) == {"plan"}
    [wave] = reply.json["plan"]["waves"]
    assert (wave["number"], wave["target"], wave["vms"]) == (1, "h1", 2)
    assert everything(lab) == before


@pytest.mark.parametrize("wanted", [{}, {"duration_s": 7}, {"type": "Redeploy"}])
def test_what_happens_is_what_was_planned(lab, wanted):
    """To the second, with nobody approving: several domains, several notices, and rests."""
    lab.declare("a", vm("a0"), vm("a1", domain=1), vm("a2", domain=2), listening="always", recovery_s=45)
    lab.declare("b", vm("b0", domain=2), vm("b1", domain=0), listening="always", notice_s={"Reboot": 60})
    lab.declare("c", vm("c0"), vm("c1", domain=1), vm("elsewhere", host="h2"), listening="always", recovery_s=600)
    plan = lab.control("POST", "/v1/hosts/h1/maintenance", {"type": "Reboot", **wanted, "plan": True}).json["plan"]

    shown = maintain_host(lab, **wanted)
    lab.advance(24 * 3600)

    over = operation(lab, shown["id"])
    assert (over["status"], over["ended_at"]) == ("Completed", plan["ends"])
    assert sorted(as_happened(lab).values()) == sorted(as_planned(plan).values())
    assert len(plan["waves"]) >= 3


# -- cancelling


def test_cancelled_as_a_whole_nothing_starts(lab):
    """Issue: cancel as a whole. S9: a cancelled event never starts."""
    two_tenants(lab)
    shown = maintain_host(lab)
    reply = lab.control("POST", f"/v1/operations/{shown['id'].upper()}/cancel")
    assert (reply.status, reply.json["status"]) == (200, "Cancelling")
    lab.advance(7200)

    over = operation(lab, shown["id"])
    assert (over["status"], over["why"]) == ("Cancelled", "cancelled by operator admin")
    assert {event["ended"] for event in over["waves"][0]["events"]} == {"Cancelled"}
    assert {lab.event(event)["started_at"] for event in events_of(over).values()} == {None}
    again = refused(lab.control("POST", f"/v1/operations/{shown['id']}/cancel"), 409)
    assert (again["code"], again["facts"]) == ("wrong_status", {"operation": shown["id"], "status": "Cancelled"})


def test_what_has_started_is_waited_for(lab):
    """Cancelling withdraws the second wave, never an impact."""
    lab.declare("a", vm("a0"), vm("a1", domain=1), listening="always")
    shown = maintain_host(lab)
    lab.advance(905)
    lab.control("POST", f"/v1/operations/{shown['id']}/cancel")
    lab.advance(0)
    assert operation(lab, shown["id"])["waits_for"] == "the impact on a0 in scope a to be over"
    assert lab.control("POST", f"/v1/operations/{shown['id']}/cancel").status == 200
    lab.advance(3600)

    over = operation(lab, shown["id"])
    assert over["status"] == "Cancelled"
    assert [event["ended"] for wave in over["waves"] for event in wave["events"]] == ["Completed"]
    assert over["left"] == [{"scope": "a", "vm": "a1", "why": "cancelled by operator admin"}]


# -- what may be asked for


def test_a_later_time_is_kept_and_an_earlier_one_refused_with_the_earliest(lab):
    """SPEC §3.1: a shorter NotBefore is refused with the earliest allowed time."""
    two_tenants(lab)
    lab.declare("b", vm("shop", addresses=["127.0.0.2"]), listening="always", notice_s={"Reboot": 1800})
    before = everything(lab)
    error = refused(
        lab.control("POST", "/v1/hosts/h1/maintenance", {"type": "Reboot", "not_before": "2020-01-01T00:00:00Z"}), 409
    )
    assert error["code"] == "too_early"
    assert everything(lab) == before

    shown = maintain_host(lab, not_before=error["facts"]["earliest"])

    assert shown["waves"][0]["not_before"] == error["facts"]["earliest"]
    assert {lab.event(event)["not_before"] for event in events_of(shown).values()} == {error["facts"]["earliest"]}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "type"),
        ({"type": "Preempt"}, "type"),
        ({"type": "reboot"}, "type"),
        ({"type": 1}, "type"),
        ({"type": "Reboot", "not_before": "soon"}, "not_before"),
        ({"type": "Reboot", "duration_s": -2}, "duration_s"),
        ({"type": "Reboot", "duration_s": "5"}, "duration_s"),
        ({"type": "Reboot", "description": "x" * 1001}, "description"),
        ({"type": "Reboot", "plan": 1}, "plan"),
        ({"type": "Reboot", "vms": ["web"]}, "vms"),
    ],
)
def test_wrong_maintenance_is_refused_by_field_and_changes_nothing(lab, body, field):
    """Bad input gets a clear error that names the field, and nothing is made."""
    two_tenants(lab)
    before = everything(lab)

    error = refused(lab.control("POST", "/v1/hosts/h1/maintenance", body))

    assert (error["code"], error["facts"]["field"]) == ("invalid", field)
    assert everything(lab) == before


def test_a_host_without_running_vms_has_nothing_to_maintain(lab):
    """And one that is not there is not found."""
    lab.control("PUT", "/v1/hosts/empty", {})

    assert refused(lab.control("POST", "/v1/hosts/empty/maintenance", {"type": "Freeze"}))["facts"] == {"host": "empty"}
    assert refused(lab.control("POST", "/v1/hosts/no/maintenance", {"type": "Freeze"}), 404)["code"] == "unknown_host"
    assert refused(lab.control("GET", "/v1/operations/no"), 404)["code"] == "unknown_operation"
    assert refused(lab.control("POST", "/v1/operations/no/cancel"), 404)["code"] == "unknown_operation"
    assert refused(lab.control("GET", "/v1/operations?status=alive"))["facts"]["field"] == "status"


def test_operations_are_listed_by_status(lab):
    """`live` are those that are not over."""
    two_tenants(lab)
    first = maintain_host(lab)["id"]
    lab.control("POST", f"/v1/operations/{first}/cancel")
    lab.advance(1)
    second = maintain_host(lab)["id"]

    def listed(query=""):
        return [one["id"] for one in lab.control("GET", f"/v1/operations{query}").json["operations"]]

    assert listed() == [first, second]
    assert listed("?status=live") == listed("?status=Running") == [second]
    assert listed("?status=Cancelled") == [first]


# -- history and metrics


def test_history_tells_an_operation_with_what_became_of_its_events(lab):
    """S11: history explains every change: when, who, why; found by the operation's id."""
    two_tenants(lab)
    other = lab.made("a", "web", "restart")["id"]
    shown = maintain_host(lab)
    events = events_of(shown)
    lab.approve(events["a"], source="127.0.0.1")
    lab.advance(0)
    lab.approve(events["b"], source="127.0.0.2")
    lab.advance(60)

    told = whats(lab, f"operation={shown['id'].upper()}")
    for what in ("operation begun", "wave announced", "released", "gate opened", "completed", "operation completed"):
        assert what in told
    found = lab.history(f"operation={shown['id']}&limit=1000")
    assert {change["operation"] for record in found for change in record["changes"] if "operation" in change} == {
        shown["id"]
    }
    assert {change["event"]["operation"] for record in found for change in record["changes"] if change["event"]} == {
        shown["id"]
    }
    assert lab.event(other)["operation"] is None
    assert whats(lab, "operation=no-such") == []


def samples(lab):
    lines = [line for line in lab.control("GET", "/metrics").body.decode().splitlines() if not line.startswith("#")]
    return dict(line.rsplit(" ", 1) for line in lines)


def test_metrics_count_operations_waves_and_gates(lab):
    """Issue: metrics for operations and rollouts."""
    two_tenants(lab)
    events = events_of(maintain_host(lab))
    lab.advance(60)
    during = samples(lab)
    lab.approve(events["a"], source="127.0.0.1")
    lab.approve(events["b"], source="127.0.0.2")
    lab.advance(60)
    after = samples(lab)

    assert during['notbefore_operations{status="Running"}'] == "1.0"
    assert during["notbefore_operation_age_seconds"] == "60.0"
    assert (during["notbefore_waves_total"], during["notbefore_gates_opened_total"]) == ("1.0", "0.0")
    assert after['notbefore_operations{status="Running"}'] == "0.0"
    assert after["notbefore_operation_age_seconds"] == "0.0"
    assert after["notbefore_gates_opened_total"] == "1.0"
    assert after['notbefore_operations_ended_total{outcome="Completed"}'] == "1.0"


def test_an_operation_goes_on_after_a_restart(tmp_path):
    """DESIGN §2: stored and driven by the timer; killing a server mid-way changes nothing."""
    settings = lab_settings(tmp_path / "state")
    with open_lab(settings) as lab:
        two_tenants(lab)
        shown = maintain_host(lab)
        lab.approve(events_of(shown)["a"], source="127.0.0.1")
        lab.advance(0)
    with open_lab(settings) as lab:
        assert operation(lab, shown["id"])["waves"][0]["events"][0]["stage"] == "released"
        lab.advance(1000)
        assert operation(lab, shown["id"])["status"] == "Completed"
