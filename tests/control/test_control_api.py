"""The control API (DESIGN §5) over real sockets: shapes, refusals, the token."""

import re

import pytest

from lab import PATH

VM = {"name": "a", "addresses": ["127.0.1.1"]}
EVENT_FIELDS = {
    "id", "scope", "type", "status", "source", "vms", "not_before", "visible_since", "started_at", "ended_at",
    "description", "duration_s", "approvals", "waiting_for", "incarnation",
}  # fmt: skip
SETTINGS = {
    "listening": "auto",
    "approval": "any",
    "auto_approve": [],
    "notice_s": {"Freeze": 900, "Reboot": 900, "Redeploy": 600, "Preempt": 30, "Terminate": 300},
    "user_events": True,
    "user_operations_max": 10,
    "recovery_s": 0,
    "legacy_underscore": False,
    "eviction": "deallocate",
}


def error_of(reply):
    assert set(reply.json["error"]) == {"code", "message", "hint", "facts"}
    return reply.json["error"]


# -- the token


@pytest.mark.parametrize("path", ["/v1/scopes", "/v1/events", "/v1/history", "/v1/clock", "/v1/events/x"])
@pytest.mark.parametrize("token", ["", "wrong", "ü"])
def test_nothing_under_v1_is_answered_without_the_token(shared_demo, path, token):
    """Secure by default: control API never without a token."""
    reply = shared_demo.request(
        shared_demo.control_address, "GET", path, None, {"Authorization": f"Bearer {token}".encode()}
    )

    assert reply.status == 401
    assert reply.headers["www-authenticate"] == "Bearer"
    assert error_of(reply)["code"] == "unauthorized"


def test_the_token_is_one_line_in_a_file_only_its_owner_can_read(demo):
    """DESIGN §4: `<state>/admin.token` (one line, mode 0600, made at first start)."""
    file = demo.server.token_file

    assert re.fullmatch(r"\S{40,}\n", file.read_text())
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert (file.parent / "notbefore.db").stat().st_mode & 0o777 == 0o600


def test_health_and_readiness_are_open(shared_demo):
    """DESIGN §5: /healthz /readyz /openapi.json /docs: open."""
    for path in ("/healthz", "/readyz", "/openapi.json", "/docs"):
        assert shared_demo.request(shared_demo.control_address, "GET", path, None, {}).status == 200


def test_neither_listener_answers_the_others_paths(shared_demo):
    """SPEC §5: the control API never answers on the metadata listener, nor the other way round."""
    assert shared_demo.ask(path="/v1/scopes").status == 404
    assert shared_demo.ask(path="/healthz").status == 404
    assert shared_demo.control("GET", f"{PATH}?api-version=2020-07-01").status == 404


# -- scopes


def test_a_scope_is_declared_read_and_removed(lab):
    """DESIGN §5: PUT|GET|DELETE /v1/scopes/{scope}."""
    reply = lab.control("PUT", "/v1/scopes/shop", {"kind": "scale-set", "vms": [VM]})

    assert reply.status == 201
    assert lab.control("GET", "/v1/scopes/SHOP").json == reply.json
    assert lab.control("GET", "/v1/scopes").json["scopes"] == [reply.json]
    assert reply.json["settings"] == SETTINGS
    assert lab.control("DELETE", "/v1/scopes/shop").status == 204
    assert error_of(lab.control("GET", "/v1/scopes/shop"))["code"] == "unknown_scope"


def test_in_a_vm_only_its_name_is_required(lab):
    """DESIGN §5: in a VM only `name` is required (update_domain 0, the rest empty)."""
    (vm,) = lab.declare("s", "a")["vms"]

    assert vm == {
        "name": "a", "update_domain": 0, "fault_domain": None, "host": "", "addresses": [], "tags": {},
        "spot": False, "state": "running", "last_asked": None,
    }  # fmt: skip


def test_put_replaces_the_whole_and_is_idempotent(lab):
    """DESIGN §5: PUT replaces the whole and is idempotent."""
    body = {"kind": "availability-set", "settings": {"recovery_s": 5}, "vms": [VM, {"name": "b", "tags": {"k": "v"}}]}
    lab.control("PUT", "/v1/scopes/s", body)
    revisions = len(lab.history())

    assert lab.control("PUT", "/v1/scopes/s", body).status == 200
    assert len(lab.history()) == revisions
    assert [vm["name"] for vm in lab.control("PUT", "/v1/scopes/s", {"vms": [VM]}).json["vms"]] == ["a"]
    assert lab.control("GET", "/v1/scopes/s").json["settings"] == SETTINGS


def test_what_get_shows_can_be_put_back(lab):
    """PUT of what GET gave changes nothing."""
    shown = lab.declare("s", VM, {"name": "b", "update_domain": 3, "fault_domain": 1, "host": "h", "spot": True})
    body = {name: shown[name] for name in ("kind", "settings", "vms")}

    again = lab.control("PUT", "/v1/scopes/s", body)

    assert again.json == {**shown, "settings": again.json["settings"]}
    assert again.json["settings"] == shown["settings"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"vmz": []}, "vmz"),
        ({"settings": {"notice": 5}}, "settings.notice"),
        ({"vms": [{"name": "a", "adress": []}]}, "vms.0.adress"),
    ],
)
def test_an_unknown_field_is_refused_by_name(lab, body, field):
    """DESIGN §5: unknown fields are refused by name."""
    reply = lab.control("PUT", "/v1/scopes/s", body)

    assert reply.status == 400
    assert error_of(reply)["message"] == f"Unknown field '{field}'."
    assert lab.control("GET", "/v1/scopes").json["scopes"] == []


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "cluster"},
        {"settings": {"listening": "sometimes"}},
        {"settings": {"approval": "most"}},
        {"settings": {"approval": {"Pause": "any"}}},
        {"settings": {"notice_s": {"Reboot": -1}}},
        {"settings": {"notice_s": {"Nap": 5}}},
        {"settings": {"notice_s": {"Terminate": 901}}},
        {"settings": {"auto_approve": ["User:Nap"]}},
        {"settings": {"user_operations_max": "10"}},
        {"settings": {"recovery_s": 10**30}},
        {"settings": {"user_events": 1}},
        {"vms": [{"name": ""}]},
        {"vms": [{"name": "a/b"}]},
        {"vms": [{"name": "x" * 129}]},
        {"vms": [{"name": "bell\u0007"}]},
        {"vms": [{"name": "\ud800"}]},
        {"vms": [{"name": "a", "host": "\ud800"}]},
        {"vms": [{"name": "a", "tags": {"k": "\ud800"}}]},
        {"vms": [{"name": "a"}, {"name": "A"}]},
        {"vms": [{"name": "a", "addresses": ["300.0.0.1"]}]},
        {"vms": [{"name": "a", "update_domain": 10**30}]},
        {"vms": [{"name": "a", "update_domain": -1}]},
        {"vms": [{"name": "a", "spot": "yes"}]},
        {"vms": {}},
        [],
        "x",
        None,
    ],
)
def test_a_wrong_declaration_is_refused_and_changes_nothing(lab, body):
    """Bad input gets a clear error with the fact that was wrong and changes nothing."""
    reply = lab.control("PUT", "/v1/scopes/s", body)

    assert reply.status == 400
    assert error_of(reply)["code"] == "invalid"
    assert error_of(reply)["message"]
    assert lab.history() == []


def test_a_body_nested_too_deeply_or_too_long_is_refused(lab):
    """Limits on every body; no traceback, no 5xx."""
    headers = {"Authorization": f"Bearer {lab.server.token}", "Content-Type": "application/json"}
    deep = lab.request(lab.control_address, "PUT", "/v1/scopes/s", "[" * 100_000, headers)
    long = lab.request(lab.control_address, "PUT", "/v1/scopes/s", " " * (1024 * 1024 + 1), headers)

    assert deep.status == 400
    assert long.status == 413


def test_removing_a_vm_or_scope_with_a_live_event_is_refused_unless_forced(lab):
    """DESIGN §5: … is refused unless forced, and says which event."""
    lab.declare("s", "a", "b", listening="always")
    event = lab.made("s", "a", "restart")

    for reply in (lab.control("PUT", "/v1/scopes/s", {"vms": []}), lab.control("DELETE", "/v1/scopes/s")):
        assert reply.status == 409
        assert error_of(reply)["facts"]["event"] == event["id"]
    assert lab.control("DELETE", "/v1/scopes/s?force=true").status == 204
    assert lab.event(event["id"])["status"] == "Cancelled"


# -- operations and events


@pytest.mark.parametrize("operation", ["restart", "redeploy", "freeze", "evict", "terminate"])
def test_an_operation_gives_202_and_the_event_in_the_agreed_shape(demo, operation):
    """DESIGN §5: POST …/{restart|redeploy|freeze|evict|terminate} → 202 event; event = {…}."""
    demo.make_spot("demo", "FrontEnd_IN_0")
    reply = demo.operate("demo", "FrontEnd_IN_0", operation, duration_s=7, description="why")

    assert reply.status == 202
    assert set(reply.json) >= EVENT_FIELDS
    assert (reply.json["duration_s"], reply.json["description"], reply.json["status"]) == (7, "why", "Scheduled")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", reply.json["not_before"])
    assert demo.event(reply.json["id"].lower()) == reply.json


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/v1/scopes/none/vms/a/restart", {}, 404, "unknown_scope"),
        ("/v1/scopes/demo/vms/none/restart", {}, 404, "unknown_vm"),
        ("/v1/scopes/demo/vms/FrontEnd_IN_0/nap", {}, 400, "invalid"),
        ("/v1/scopes/demo/vms/FrontEnd_IN_0/restart", {"not_before": "soon"}, 400, "invalid"),
        ("/v1/scopes/demo/vms/FrontEnd_IN_0/restart", {"not_before": "2001-01-01T00:00:00Z"}, 409, "too_early"),
        ("/v1/scopes/demo/vms/FrontEnd_IN_0/restart", {"duration_s": -2}, 400, "invalid"),
        ("/v1/scopes/demo/vms/FrontEnd_IN_0/restart", {"duration_s": 1.5}, 400, "invalid"),
        ("/v1/scopes/demo/vms/FrontEnd_IN_0/restart", {"description": "\ud800"}, 400, "invalid"),
        ("/v1/scopes/demo/maintenance", {"type": "Preempt"}, 400, "invalid"),
        ("/v1/scopes/demo/maintenance", {"type": "Freeze", "update_domains": [9]}, 400, "invalid"),
        ("/v1/scopes/demo/maintenance", {"type": "Freeze", "hosts": ["h"]}, 400, "invalid"),
        ("/v1/scopes/demo/maintenance", {"type": "Freeze", "vms": ["none"]}, 404, "unknown_vm"),
        ("/v1/scopes/demo/maintenance", {}, 400, "invalid"),
        ("/v1/events/602D9444-D2CD-49C7-8624-8643E7171297/approve", None, 404, "unknown_event"),
        ("/v1/events/x/forget", None, 400, "invalid"),
        ("/v1/nowhere", None, 404, "not_found"),
    ],
)
def test_a_refusal_has_its_status_and_code_and_changes_nothing(shared_demo, path, body, status, code):
    """DESIGN §5: errors {"error":{"code","message","hint","facts"}}; one table maps code to status."""
    before = len(shared_demo.history())

    reply = shared_demo.control("POST", path, body)

    assert (reply.status, error_of(reply)["code"]) == (status, code)
    assert len(shared_demo.history()) == before


def test_the_eleventh_user_operation_is_refused_with_the_limit_in_the_message(lab):
    """SPEC §3.3: at most 10 in status Scheduled with source User at once; the eleventh is refused (conflict)."""
    lab.declare("s", *(f"vm-{n}" for n in range(11)), listening="always")
    for n in range(10):
        lab.made("s", f"vm-{n}", "restart")

    reply = lab.operate("s", "vm-10", "redeploy")

    assert reply.status == 409
    assert error_of(reply)["code"] == "limit_reached"
    assert "at most 10" in error_of(reply)["message"]


def test_maintenance_can_be_planned_without_being_made(demo):
    """DESIGN §5: "plan": true; → {"events":[…],"queued":[…]}."""
    planned = demo.maintain("demo", "Freeze", plan=True)

    assert [event["vms"] for event in planned["events"]] == [["FrontEnd_IN_0", "BackEnd_IN_0"]]
    assert [event["vms"] for event in planned["queued"]] == [["FrontEnd_IN_1", "BackEnd_IN_1"]]
    assert demo.control("GET", "/v1/events").json["events"] == []
    assert demo.document()["DocumentIncarnation"] == 1


def test_events_are_listed_by_scope_and_status_ended_ones_too(demo):
    """DESIGN §5: GET /v1/events?scope=&status=; Completed, Cancelled and Failed exist in the control API (SPEC §3)."""
    cancelled = demo.made("demo", "FrontEnd_IN_0", "restart")["id"]
    demo.control("POST", f"/v1/events/{cancelled}/cancel")
    done = demo.made("demo", "FrontEnd_IN_0", "redeploy")["id"]
    demo.control("POST", f"/v1/events/{done}/approve")
    demo.control("POST", f"/v1/events/{done}/complete")
    live = demo.made("demo", "FrontEnd_IN_0", "freeze")["id"]

    def ids(query):
        return [event["id"] for event in demo.control("GET", f"/v1/events?{query}").json["events"]]

    assert ids("") == ids("scope=DEMO") == ids("status=Scheduled") == [live]
    assert ids("status=Cancelled") == [cancelled]
    assert ids("status=Completed&status=Cancelled&status=Scheduled") == [cancelled, done, live]
    assert ids("scope=other&status=Completed") == []
    assert demo.control("GET", "/v1/events?status=Gone").status == 400
    assert demo.event(done)["status"] == "Completed"
    assert demo.event(done)["ended_at"] is not None


@pytest.mark.parametrize("action", ["approve", "cancel", "complete"])
def test_what_is_over_stays_over(demo, action):
    """SPEC §3: forward only."""
    event = demo.made("demo", "FrontEnd_IN_0", "restart")["id"]
    demo.control("POST", f"/v1/events/{event}/cancel")

    reply = demo.control("POST", f"/v1/events/{event}/{action}")

    assert (reply.status, error_of(reply)["code"]) == (409, "wrong_status")
    assert "Cancelled" in error_of(reply)["message"]


def test_a_started_event_can_be_completed_and_a_scheduled_one_cannot(demo):
    """SPEC §3.5, S10: an operator's word ends what has started; it does not skip the start."""
    event = demo.made("demo", "FrontEnd_IN_0", "restart")["id"]
    assert demo.control("POST", f"/v1/events/{event}/complete").status == 409

    demo.control("POST", f"/v1/events/{event}/approve")

    assert demo.control("POST", f"/v1/events/{event}/complete").json["status"] == "Completed"
    assert demo.document()["Events"] == []


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/v1/scopes", "GET"),
        ("/v1/scopes/demo", "DELETE, GET, PUT"),
        ("/v1/hosts/h1", "DELETE, GET, PUT"),
        ("/v1/clock", "GET, POST"),
        ("/healthz", "GET"),
    ],
)
def test_a_method_that_is_not_there_is_told_all_that_are(shared_demo, path, methods):
    """RFC 9110: Allow lists the methods of the resource, whichever routes they are in."""
    reply = shared_demo.control("PATCH", path)

    assert (reply.status, error_of(reply)["code"]) == (405, "method_not_allowed")
    assert reply.headers["allow"] == methods


# -- history and clock


def test_history_is_ordered_resumable_and_tells_when_who_what_and_why(demo):
    """S11: history explains every change: when, who, why. DESIGN §5: GET /v1/history?scope=&event=&after=&limit=."""
    event = demo.made("demo", "FrontEnd_IN_0", "restart")["id"]
    demo.approve(event)
    demo.advance(60)

    everything = demo.control("GET", "/v1/history?after=0").json
    pages, after = [], 0
    while page := demo.control("GET", f"/v1/history?after={after}&limit=1").json["history"]:
        pages += page
        after = page[-1]["revision"]

    assert pages == everything["history"]
    assert everything["next"] == pages[-1]["revision"]
    told = [
        (change["what"], change["by"]) for record in demo.history(f"event={event}") for change in record["changes"]
        if change["event"] and change["event"]["id"] == event
    ]  # fmt: skip
    assert told == [
        ("scheduled", "operator admin"),
        ("approved", "vm FrontEnd_IN_0"),
        ("started: approved", "vm FrontEnd_IN_0"),
        ("impact done", "executor simulate"),
        ("completed", "executor simulate"),
    ]
    assert all(change["why"] for record in pages for change in record["changes"])
    assert [record["incarnation"] for record in pages] == sorted(record["incarnation"] for record in pages)


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "after=-1", "after=x", f"after={2**70}"])
def test_a_wrong_page_is_refused(shared_demo, query):
    assert shared_demo.control("GET", f"/v1/history?{query}").status == 400


def test_advance_says_what_happened_in_order(demo):
    """SPEC §4: `advance` moves from due time to due time, settles everything at each, and answers with what happened."""
    demo.made("demo", "FrontEnd_IN_0", "restart")
    demo.made("demo", "BackEnd_IN_0", "redeploy")

    turned = demo.advance(15 * 60)

    told = [(record["at"], change["what"]) for record in turned["happened"] for change in record["changes"]]
    assert [what for _, what in told] == [
        "started: notice ended", "impact done", "completed", "started: notice ended",
    ]  # fmt: skip
    assert told == sorted(told, key=lambda one: one[0])
    assert (turned["kind"], turned["next_due"] > turned["now"]) == ("manual", True)


@pytest.mark.parametrize(
    "body", [{}, {"advance_s": 1, "to_next": True}, {"advance_s": -1}, {"rate": 0}, {"advance_s": "1"}]
)
def test_a_wrong_turn_of_the_clock_is_refused(shared_demo, body):
    before = shared_demo.control("GET", "/v1/clock").json

    assert shared_demo.control("POST", "/v1/clock", body).status in (400, 409)
    assert shared_demo.control("GET", "/v1/clock").json == before


def test_a_real_clock_is_shown_and_cannot_be_turned(tmp_path):
    """Refused on a real clock with a sentence that says how to get one."""
    from lab import lab_settings, open_lab

    with open_lab(lab_settings(tmp_path / "state", clock="real")) as lab:
        reply = lab.control("POST", "/v1/clock", {"advance_s": 60})

        assert lab.control("GET", "/v1/clock").json["kind"] == "real"
        assert reply.status == 409
        assert "--clock manual" in error_of(reply)["hint"]


def test_a_token_file_that_is_empty_is_refused_with_what_to_do(tmp_path):
    """An error says what to do next."""
    from lab import lab_settings, open_lab
    from notbefore.core.errors import NotAllowed

    (tmp_path / "admin.token").touch()
    with pytest.raises(NotAllowed, match="holds no token") as refused, open_lab(lab_settings(tmp_path)):
        pass
    assert "Remove it" in refused.value.hint
    assert [file.name for file in tmp_path.iterdir()] == ["admin.token"]
