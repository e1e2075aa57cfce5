"""apply: what a fleet.toml declares is declared, what changed is said, and nothing else happens (DESIGN §4, §5)."""

import pytest

from notbefore.cli.fleet_shapes import HOST_KEYS, SCOPE_KEYS, SETTINGS_KEYS, VM_KEYS
from notbefore.control.bodies import ScopeBody, SettingsBody, VmBody
from notbefore.control.hosts import HostBody

SHOP = """
[hosts.rack1]
executor = "simulate"

[scopes.shop]
kind = "availability-set"
[scopes.shop.settings]
listening = "always"
approval = { default = "any", Terminate = "all" }
auto_approve = ["User:Freeze"]
notice_s = { Reboot = 60 }
[[scopes.shop.vms]]
name = "web-1"
update_domain = 1
host = "rack1"
addresses = ["10.0.0.1"]
tags = { role = "front" }
spot = true
[[scopes.shop.vms]]
name = "web-2"
[scopes.lab]
"""
NOTHING = "nothing to change"


def revisions(lab):
    return [record["revision"] for record in lab.history("limit=1000")]


def test_hosts_and_scopes_are_declared_as_the_file_says(real, lab, fleet):
    """What the file leaves out is left to the server; each thing is one line, with what is in it below."""
    ran = real("apply", fleet(SHOP))

    assert ran.code == 0, ran
    assert ran.lines == [
        "+ host rack1",
        "    + executor: simulate",
        "+ scope shop: availability-set, 2 VMs",
        "    + settings.listening: always",
        "    + settings.approval: default any, Terminate all",
        "    + settings.auto_approve: User:Freeze",
        "    + settings.notice_s: Reboot 60",
        "    + vm web-1: update domain 1, host rack1, 10.0.0.1",
        "    + vm web-2: update domain 0",
        "+ scope lab: standalone, 0 VMs",
        "Applied: 1 host created, 2 scopes created.",
    ]
    shop = lab.control("GET", "/v1/scopes/shop").json
    assert shop["settings"]["approval"] == {"default": "any", "Terminate": "all"}
    assert [vm["name"] for vm in shop["vms"]] == ["web-1", "web-2"]
    assert shop["vms"][0]["tags"] == {"role": "front"}
    assert lab.control("GET", "/v1/hosts/rack1").json["declared"]


def test_hosts_are_declared_before_the_scopes_that_name_them(real, lab, fleet):
    real("apply", fleet(SHOP))

    first, *_ = lab.history("limit=1000")
    assert first["scope"] == ""


def test_applying_the_same_again_changes_nothing(real, lab, fleet):
    """Idempotent: no new revision in history, and it says so."""
    real("apply", fleet(SHOP))
    before = revisions(lab)

    ran = real("apply", fleet(SHOP))

    assert ran.lines == ["Applied: nothing to change, 3 things unchanged."]
    assert revisions(lab) == before


def test_what_changes_is_said_per_vm_and_setting(real, fleet):
    """`+` added, `-` removed, `~` changed."""
    real("apply", fleet(SHOP))
    changed = SHOP.replace('"availability-set"', '"scale-set"').replace("Reboot = 60", "Reboot = 30")
    changed = changed.replace('name = "web-2"', 'name = "web-3"').replace("update_domain = 1", "update_domain = 2")

    ran = real("apply", fleet(changed))

    assert ran.lines == [
        "~ scope shop",
        "    ~ kind: availability-set -> scale-set",
        "    ~ settings.notice_s.Reboot: 60 -> 30",
        "    + vm web-3: update domain 0",
        "    - vm web-2",
        "    ~ vm web-1: update_domain: 1 -> 2",
        "Applied: 1 host unchanged, 1 scope changed, 1 scope unchanged.",
    ]


def test_another_order_of_vms_is_a_change(real, fleet):
    """SPEC §3.2: the leader is the first VM, so order carries meaning."""
    first, second = "[[scopes.s.vms]]\nname = 'a'\n", "[[scopes.s.vms]]\nname = 'b'\n"
    real("apply", fleet(first + second))

    assert real("apply", fleet(second + first)).lines[1] == "    ~ vms: in another order"


def test_a_plan_says_what_would_change_and_changes_nothing(real, lab, fleet):
    """--plan asks the server, exit code 0, and history knows nothing of it."""
    ran = real("apply", fleet(SHOP), "--plan")

    assert ran.code == 0
    assert ran.lines[-1] == "Planned, and nothing is changed yet: 1 host created, 2 scopes created."
    assert lab.control("GET", "/v1/scopes").json == {"scopes": []}
    assert revisions(lab) == []


def test_what_the_file_does_not_name_is_left_alone(real, lab, fleet):
    lab.declare("old", "vm-1")

    real("apply", fleet("[scopes.shop]"))

    assert lab.control("GET", "/v1/scopes/old").status == 200


def test_prune_removes_what_the_file_does_not_name(real, lab, fleet):
    """Scopes and hosts; a host that a VM of the file is on is named by it."""
    real("apply", fleet(SHOP + "[hosts.rack2]\n[hosts.rack3]\n"))
    kept = "[[scopes.shop.vms]]\nname = 'web-9'\nhost = 'RACK3'\n"

    planned = real("apply", fleet(kept), "--prune", "--plan")
    pruned = real("apply", fleet(kept), "--prune", "--force")

    assert [line for line in planned.lines if line.startswith("- ")] == [
        "- scope lab: standalone, 0 VMs",
        "- host rack1",
        "- host rack2",
    ]
    assert pruned.code == 0, pruned
    assert [scope["name"] for scope in lab.control("GET", "/v1/scopes").json["scopes"]] == ["shop"]
    assert [host["name"] for host in lab.control("GET", "/v1/hosts").json["hosts"]] == ["rack3"]
    assert real("apply", fleet(kept), "--prune").lines[0].startswith("Applied: nothing to change")


@pytest.fixture
def restarting(lab):
    """A scope with a Reboot that VMs have been told of."""
    lab.declare("shop", "web-1", "web-2", listening="always")
    return lab.made("shop", "web-2", "restart")["id"]


@pytest.mark.parametrize(
    ("text", "flags", "place"),
    [
        ("[scopes.shop]\n[[scopes.shop.vms]]\nname = 'web-1'\n", (), "line 2, scopes.shop.vms"),
        ("\n[scopes.other]\n", ("--prune",), "line 2, scopes"),
    ],
)
@pytest.mark.parametrize("plan", [(), ("--plan",)])
def test_what_would_hurt_a_live_event_is_refused_and_names_it(real, lab, fleet, restarting, text, flags, place, plan):
    """Issue: refuses what would hurt a live event unless forced, and names it."""
    before = revisions(lab)

    real("apply", fleet(text), *flags, *plan).is_refused_with(f"fleet.toml, {place}: ", restarting, "hint: ")
    assert revisions(lab) == before

    assert real("apply", fleet(text), *flags, *plan, "--force").code == 0


def test_moving_a_vm_under_a_live_event_is_refused_at_its_line(real, lab, fleet):
    """One event holds VMs of one update domain: no force may break that."""
    lab.declare("shop", "web-1", listening="always")
    lab.maintain("shop", "Reboot")

    ran = real("apply", fleet("[[scopes.shop.vms]]\nname = 'web-1'\nupdate_domain = 3\n"), "--force")

    ran.is_refused_with("fleet.toml, line 3, scopes.shop.vms[0].update_domain: ", "live event")


def test_an_address_may_move_from_one_scope_to_another_in_one_file(real, lab, fleet):
    """The scope that gives it up comes first, wherever the file has it; also when it is pruned."""
    vm = "[[scopes.{}.vms]]\nname = 'vm'\naddresses = ['10.0.0.{}']\n"
    real("apply", fleet(vm.format("a", 1) + vm.format("b", 2) + vm.format("c", 3)))

    ran = real("apply", fleet(vm.format("a", 2) + vm.format("b", 3)), "--prune")

    assert ran.code == 0, ran
    assert [line for line in ran.lines if not line.startswith(" ")][:3] == [
        "- scope c: standalone, 1 VM",
        "~ scope b",
        "~ scope a",
    ]


def test_scopes_that_exchange_addresses_are_refused(real, lab, fleet):
    """Each would have to come first; that is said before anything is done."""
    vm = "[[scopes.{}.vms]]\nname = 'vm'\naddresses = ['10.0.0.{}']\n"
    real("apply", fleet(vm.format("a", 1) + vm.format("b", 2)))
    before = revisions(lab)

    real("apply", fleet(vm.format("a", 2) + vm.format("b", 1))).is_refused_with("take addresses from each other")
    assert revisions(lab) == before


def test_json_tells_the_outcome_of_each_thing(real, fleet):
    """The API's shape, with what it means beside it."""
    created = real("apply", fleet("[hosts.h]\n[scopes.shop]"), "--json").json
    changed = real("apply", fleet("[hosts.h]\n[scopes.shop]\nkind = 'scale-set'"), "--json").json

    assert [(one["outcome"], one["changes"]) for one in created] == [("created", []), ("created", [])]
    assert created[0]["host"] == {"name": "h", "executor": "simulate"}
    assert changed[0]["outcome"] == "unchanged"
    assert changed[1]["changes"] == ["kind: standalone -> scale-set"]
    assert changed[1]["scope"]["kind"] == "scale-set"


def test_when_something_is_refused_after_the_plan_it_says_how_far_it_came(cli, server, fleet):
    """Somebody else was faster; nothing is rolled back, so nothing may be hidden."""
    shown = {"name": "x", "kind": "standalone", "settings": {}, "vms": []}
    refused = {"error": {"code": "live_event", "message": "web-1 has a live event.", "hint": "Cancel it.", "facts": {}}}
    unknown = {"error": {"code": "unknown_scope", "message": "There is no such scope.", "hint": "", "facts": {}}}
    for name in ("shop", "lab", "rest"):
        server.answers("GET", f"/v1/scopes/{name}", unknown)
        server.answers_with_status("GET", f"/v1/scopes/{name}", 404)
    for name in ("shop", "rest"):
        server.answers("PUT", f"/v1/scopes/{name}", shown)
    server.answers("PUT", "/v1/scopes/lab", shown, refused)
    server.answers_with_status("PUT", "/v1/scopes/lab", 200, 409)

    ran = cli("apply", fleet("[scopes.shop]\n[scopes.lab]\n[scopes.rest]"))

    ran.is_refused_with(
        "fleet.toml, line 2, scopes.lab: web-1 has a live event. Done before it: scope shop. Not tried: scope rest.",
        "hint: Cancel it.",
    )
    assert ran.lines == ["+ scope shop: standalone, 0 VMs"]


def test_a_file_that_is_not_there_is_refused(cli, server, tmp_path):
    """A missing file is a failure, not a wrong usage."""
    cli("apply", str(tmp_path / "none.toml")).is_refused_with("none.toml", "No such file")


def test_the_file_knows_the_keys_that_the_server_knows():
    """The CLI checks shapes without the server's models, to start fast; so they must not drift apart."""
    assert set(HOST_KEYS) == set(HostBody.model_fields)
    assert set(SCOPE_KEYS) == set(ScopeBody.model_fields)
    assert set(SETTINGS_KEYS) == set(SettingsBody.model_fields)
    assert set(VM_KEYS) == set(VmBody.model_fields) - {"last_asked"}
