"""restart, redeploy, freeze, evict, terminate and maintain: which VMs, when, and an honest word when refused."""

import pytest
from cli_fakes import EVENT, NOON, OTHER_EVENT, clock, event, scope, vm

RESTART = "/v1/scopes/shop/vms/web-1/restart"


@pytest.fixture
def fleet(server):
    scopes = [scope("shop", vm("web-1"), vm("Web-2")), scope("lab", vm("web-2"), vm("db 1-ü"))]
    server.answers("GET", "/v1/scopes", {"scopes": scopes})
    server.answers("GET", "/v1/clock", clock())
    server.answers("POST", RESTART, event(), status=202)
    server.answers("POST", "/v1/scopes/shop/vms/Web-2/restart", event(id=OTHER_EVENT, vms=["Web-2"]), status=202)
    return server


@pytest.mark.parametrize("operation", ["restart", "redeploy", "freeze", "evict", "terminate"])
def test_each_operation_is_one_request_for_the_vm(cli, fleet, operation):
    """SPEC §3.3: one event per VM; what is not asked for is left to the server."""
    path = f"/v1/scopes/shop/vms/web-1/{operation}"
    fleet.answers("POST", path, event(), status=202)

    ran = cli(operation, "web-1")

    assert [(request.path, request.body) for request in fleet.sent("POST")] == [(path, {})]
    assert ran.code == 0
    assert ran.lines[0] == f"Reboot scheduled: web-1, not before 2026-03-02T12:15:00Z  {EVENT}"
    assert ran.lines[1].strip().startswith("waiting for the approval")


def test_a_vm_is_found_by_its_name_alone_in_any_letter_case(cli, fleet):
    """SPEC §1: names compare case-insensitively."""
    assert cli("restart", "WEB-1").code == 0

    assert fleet.requests[-1].path == RESTART


@pytest.mark.parametrize("args", [("shop/web-1",), ("web-1", "--scope", "shop"), ("SHOP/web-1", "--scope", "shop")])
def test_a_vm_named_with_its_scope_is_not_looked_up(cli, fleet, args):
    """`scope/vm` and --scope say it all; the server knows whether there is one."""
    fleet.answers("POST", "/v1/scopes/SHOP/vms/web-1/restart", event())

    assert cli("restart", *args).code == 0
    assert [request.method for request in fleet.requests] == ["POST"]


def test_names_are_percent_encoded_in_the_path(cli, server):
    """SPEC §1: 1 to 128 printable characters without `/`, percent-encoded in paths."""
    server.answers("POST", "/v1/scopes/a%20b%3F/vms/d%C3%BC%25%23/restart", event())

    assert cli("restart", "a b?/dü%#").code == 0


def test_a_vm_that_two_scopes_have_is_refused_with_both(cli, fleet):
    """Ambiguous: the sentence names the candidates, and nothing is asked for."""
    cli("restart", "web-1", "web-2").is_refused_with("shop/Web-2", "lab/web-2", "--scope")

    assert fleet.sent("POST") == []


def test_a_vm_that_nobody_has_is_refused_with_those_spelled_alike(cli, fleet):
    """Unknown: the sentence names the candidates."""
    sentence = cli("restart", "wab-1").is_refused_with("'wab-1'", "shop/web-1")

    assert "db" not in sentence


def test_a_vm_that_resembles_nothing_is_refused_with_what_there_is(cli, fleet):
    """Even far off, the sentence shows what could have been meant."""
    cli("restart", "zzz").is_refused_with("There are shop/web-1, shop/Web-2, lab/web-2, lab/db 1-ü.")


def test_without_any_vm_the_refusal_says_so(cli, server):
    """An empty server is no reason for an empty sentence."""
    server.answers("GET", "/v1/scopes", {"scopes": []})

    cli("restart", "web-1").is_refused_with("There is no VM at all.")


@pytest.mark.parametrize("args", [("a/b/c",), ("/b",), ("a/",), ("lab/web-1", "--scope", "shop"), ()])
def test_what_names_no_vm_is_wrong_usage(cli, server, args):
    """Names hold no slash; a name and --scope may not disagree; at least one VM is needed."""
    cli("restart", *args).is_wrong_usage_of("VM")

    assert server.requests == []


def test_what_is_wanted_travels_in_the_body(cli, fleet):
    """DESIGN §5: not_before, duration_s, description."""
    cli("restart", "web-1", "--not-before", "2026-03-02T13:00:00Z", "--duration", "9", "--description", "new disk")

    wanted = {"not_before": "2026-03-02T13:00:00Z", "duration_s": 9, "description": "new disk"}
    assert fleet.requests[-1].body == wanted


@pytest.mark.parametrize(
    ("typed", "asked"),
    [("+20m", "2026-03-02T12:20:00Z"), ("20m", "2026-03-02T12:20:00Z"), ("+90", "2026-03-02T12:01:30Z"), ("0s", NOON)],
)
def test_a_time_from_now_counts_by_the_servers_clock(cli, fleet, typed, asked):
    """SPEC §4: one clock; on a manual one, noon is noon whatever the wall says."""
    cli("restart", "web-1", "--not-before", typed)

    assert fleet.requests[-1].body == {"not_before": asked}


def test_a_time_from_now_on_a_real_clock_is_never_a_moment_too_early(cli, fleet):
    """The clock is shown to the second and moves on: asking for exactly the notice must not be refused."""
    fleet.answers("GET", "/v1/clock", clock("real"))

    cli("restart", "web-1", "--not-before", "15m")

    assert fleet.requests[-1].body == {"not_before": "2026-03-02T12:15:02Z"}


@pytest.mark.parametrize("typed", ["tomorrow", "+20x", "", "2026-13-01", "+", "noon"])
def test_a_time_that_is_none_is_wrong_usage(cli, fleet, typed):
    """DESIGN §4: exit code 2, before anything is asked for."""
    cli("restart", "web-1", "--not-before", typed).is_wrong_usage_of("--not-before")

    assert fleet.sent("POST") == []


def test_json_of_several_vms_is_one_array(cli, fleet):
    """One request per VM, one answer per VM, in the order they were named."""
    ran = cli("restart", "shop/Web-2", "web-1", "--json")

    assert [one["id"] for one in ran.json] == [OTHER_EVENT, EVENT]


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_when_a_later_vm_is_refused_it_says_what_was_done_before(cli, fleet, flags):
    """Nothing is rolled back, so nothing may be hidden."""
    fleet.refuses("POST", RESTART, "already_scheduled", "web-1 already has a Reboot.", "Cancel it.")

    ran = cli("restart", "shop/Web-2", "web-1", "lab/web-2", *flags)

    ran.is_refused_with(
        "web-1 already has a Reboot. Done before it: shop/Web-2. Not tried: lab/web-2.", "hint: Cancel it."
    )
    assert OTHER_EVENT in ran.out
    assert len(fleet.sent("POST")) == 2


def test_wait_returns_when_the_event_has_ended(cli, fleet):
    """--wait asks again until the event is Completed, and then shows it so."""
    fleet.answers("GET", f"/v1/events/{EVENT}", event(status="Started"), event(status="Completed"))

    ran = cli("restart", "web-1", "--wait")

    assert ran.code == 0
    assert ran.lines[-1] == f"Reboot completed: web-1  {EVENT}"
    assert ran.err == ""


@pytest.mark.parametrize("end", ["Failed", "Cancelled"])
def test_wait_fails_when_the_event_did_not_complete(cli, fleet, end):
    """Exit code 1 when it ended Failed or Cancelled; JSON shows how it ended."""
    fleet.answers("GET", f"/v1/events/{EVENT}", event(status=end))

    ran = cli("restart", "web-1", "--wait", "--json")

    ran.is_refused_with(EVENT, f"ended {end}", "notbefore history --event")
    assert [one["status"] for one in ran.json] == [end]


def test_maintenance_is_asked_of_the_scope(cli, server):
    """SPEC §3.4: named VMs, hosts, update domains; the type in any letter case."""
    made = {"events": [event(type="Redeploy")], "queued": [event(id=OTHER_EVENT, status="Queued", not_before=None)]}
    server.answers("POST", "/v1/scopes/shop/maintenance", made, status=202)
    chosen = ("--update-domain", "0", "--update-domain", "2", "--host", "h1", "--vm", "web-1")

    ran = cli("maintain", "redePLOY", "--scope", "shop", *chosen, "--duration", "60", "--description", "new racks")

    assert server.requests[-1].body == {
        "type": "Redeploy",
        "update_domains": [0, 2],
        "hosts": ["h1"],
        "vms": ["web-1"],
        "duration_s": 60,
        "description": "new racks",
    }
    assert ran.lines[0].startswith("Redeploy scheduled: web-1")
    assert ran.lines[2] == f"Reboot queued: web-1  {OTHER_EVENT}"


def test_a_plan_says_what_would_be_and_that_it_is_not(cli, server):
    """--plan changes nothing; ids of a plan are never used again, so they are not shown."""
    server.answers("POST", "/v1/scopes/shop/maintenance", {"events": [event()], "queued": []})

    ran = cli("maintain", "reboot", "--scope", "shop", "--plan")

    assert server.requests[-1].body == {"type": "Reboot", "plan": True}
    assert ran.lines[0] == "Planned; nothing is scheduled."
    assert EVENT not in ran.out


@pytest.mark.parametrize("args", [("Reboot",), ("Preempt", "--scope", "shop"), ("--scope", "shop")])
def test_maintenance_needs_a_type_of_maintenance_and_a_scope(cli, server, args):
    """SPEC §3.1: maintain Freeze, Reboot, Redeploy."""
    assert cli("maintain", *args).code == 2
    assert server.requests == []
