"""apply: a fleet.toml is checked whole before anything is sent, and what changed is said (DESIGN §4, §5)."""

import pytest
from cli_fakes import scope, vm

from notbefore.cli.fleet import SCOPE_KEYS, SETTINGS_KEYS, VM_KEYS
from notbefore.control.bodies import ScopeBody, SettingsBody, VmBody

FLEET = """
[scopes.shop]
kind = "availability-set"
[scopes.shop.settings]
listening = "always"
approval = { default = "any", Terminate = "all" }
auto_approve = ["User:Reboot"]
notice_s = { Reboot = 60 }
[[scopes.shop.vms]]
name = "web-1"
update_domain = 1
addresses = ["10.0.0.1"]
tags = { role = "front" }
spot = true
[[scopes.shop.vms]]
name = "web-2"
[scopes.lab]
"""
SHOP = {
    "kind": "availability-set",
    "settings": {
        "listening": "always",
        "approval": {"default": "any", "Terminate": "all"},
        "auto_approve": ["User:Reboot"],
        "notice_s": {"Reboot": 60},
    },
    "vms": [
        {"name": "web-1", "update_domain": 1, "addresses": ["10.0.0.1"], "tags": {"role": "front"}, "spot": True},
        {"name": "web-2"},
    ],
}


@pytest.fixture
def fleet(tmp_path):
    def write(text: str) -> str:
        file = tmp_path / "fleet.toml"
        file.write_text(text)
        return str(file)

    return write


@pytest.fixture
def empty(server):
    """A server that has no scope yet, and takes any."""
    for name in ("shop", "lab"):
        server.refuses("GET", f"/v1/scopes/{name}", "unknown_scope", f"There is no scope '{name}'.", status=404)
        server.answers("PUT", f"/v1/scopes/{name}", scope(name, vm()), status=201)
    return server


def test_each_scope_is_declared_as_the_file_says(cli, empty, fleet):
    """Applying is a PUT per scope; what the file leaves out is left to the server."""
    ran = cli("apply", fleet(FLEET))

    assert [(request.path, request.body) for request in empty.sent("PUT")] == [
        ("/v1/scopes/shop", SHOP),
        ("/v1/scopes/lab", {}),
    ]
    assert ran.lines == ["shop: created with 1 VM", "lab: created with 1 VM"]
    assert ran.code == 0


def test_force_is_passed_on(cli, empty, fleet):
    """DESIGN §5: removing a VM with a live event is refused unless forced."""
    cli("apply", fleet(FLEET), "--force")

    assert [request.query for request in empty.sent("PUT")] == [{"force": ["true"]}] * 2


def test_what_changed_is_said_per_scope(cli, server, fleet):
    """VMs added, removed, changed; settings changed. Facts nobody declares are no changes."""
    before = scope("shop", vm("web-1"), vm("web-2", update_domain=1, last_asked="then"), vm("web-3"))
    settings = {"listening": "always", "notice_s": {"Reboot": 60}}
    after = scope("shop", vm("web-1", last_asked="now"), vm("WEB-2", addresses=[]), vm("web-4"), settings=settings)
    server.answers("GET", "/v1/scopes/shop", before)
    server.answers("PUT", "/v1/scopes/shop", {**after, "kind": "scale-set", "incarnation": 9, "listens": False})

    ran = cli("apply", fleet("[scopes.shop]"))

    assert ran.lines == [
        "shop: changed",
        "  kind: availability-set -> scale-set",
        "  settings.listening: auto -> always",
        "  settings.notice_s.Reboot: 900 -> 60",
        "  VM added: web-4",
        "  VM removed: web-3",
        "  VM changed: web-2 (name: web-2 -> WEB-2; update_domain: 1 -> 0; addresses: 10.0.0.1 -> none)",
    ]


def test_applying_the_same_again_changes_nothing(cli, server, fleet):
    """PUT is idempotent, and the CLI says so."""
    same = scope("shop", vm("web-1"), vm("web-2"))
    server.answers("GET", "/v1/scopes/shop", same)
    server.answers("PUT", "/v1/scopes/shop", {**same, "incarnation": 8})

    assert cli("apply", fleet("[scopes.shop]")).lines == ["shop: unchanged"]


def test_another_order_of_vms_is_a_change(cli, server, fleet):
    """SPEC §3.2: the leader is the first VM, so order carries meaning."""
    server.answers("GET", "/v1/scopes/shop", scope("shop", vm("web-1"), vm("web-2")))
    server.answers("PUT", "/v1/scopes/shop", scope("shop", vm("web-2"), vm("web-1")))

    assert cli("apply", fleet("[scopes.shop]")).lines == ["shop: changed", "  VMs reordered"]


def test_json_tells_the_outcome_of_each_scope(cli, empty, fleet):
    """The API's answer, with what it means beside it."""
    ran = cli("apply", fleet("[scopes.shop]"), "--json")

    assert ran.json == [{"outcome": "created", "changes": [], "scope": scope("shop", vm())}]


def test_when_a_scope_is_refused_it_says_which_and_what_was_applied(cli, empty, fleet):
    """Scopes are applied one by one; nothing is rolled back, so nothing may be hidden."""
    empty.refuses("PUT", "/v1/scopes/lab", "live_event", "web-1 has a live event.", "Cancel it.")

    ran = cli("apply", fleet(FLEET + "\n[scopes.rest]"))

    ran.is_refused_with(
        "Scope 'lab': web-1 has a live event. Done before it: shop. Not tried: rest.", "hint: Cancel it."
    )
    assert ran.lines == ["shop: created with 1 VM"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[scopes.shop\n", "line 1"),
        ("[scopes.shop]\nkind = availability-set\n", "line 2"),
        ("", "it declares no scopes"),
        ("[hosts.h1]", "'hosts'"),
        ("scopes = 3", "scopes must be a table of scopes, not 3"),
        ("[scopes]\nshop = 3", "scopes must be a table of scopes"),
        ("[scopes.shop]\nkin = 'x'", "'scopes.shop.kin'"),
        ("[scopes.shop]\nkind = 3", "scopes.shop.kind must be a text, not 3"),
        ("[scopes.shop.settings]\nlistning = 'x'", "'scopes.shop.settings.listning'"),
        ("[scopes.shop.settings]\nrecovery_s = true", "scopes.shop.settings.recovery_s must be a whole number"),
        ("[scopes.shop.settings]\nuser_events = 1", "scopes.shop.settings.user_events must be true or false"),
        ("[scopes.shop.settings]\nnotice_s = {Reboot = '9'}", "scopes.shop.settings.notice_s must be a table of whole"),
        ("[scopes.shop.settings]\napproval = ['any']", "scopes.shop.settings.approval must be a text or a table"),
        ("[scopes.shop]\nvms = ['web-1']", "scopes.shop.vms must be a list of tables"),
        ("[[scopes.shop.vms]]\nhost = 'h1'", "scopes.shop.vms[0] has no name"),
        ("[[scopes.shop.vms]]\nname = 'a'\n[[scopes.shop.vms]]\nadress = 'x'", "'scopes.shop.vms[1].adress'"),
        ("[[scopes.shop.vms]]\nname = 'a'\naddresses = '10.0.0.1'", "scopes.shop.vms[0].addresses must be a list"),
        ("[[scopes.shop.vms]]\nname = 'a'\nupdate_domain = 1.5", "scopes.shop.vms[0].update_domain must be a whole"),
        ("[scopes.shop]\n[scopes.SHOP]", "scopes.shop and scopes.SHOP are one scope"),
    ],
)
def test_a_file_of_the_wrong_shape_is_refused_before_anything_is_sent(cli, server, fleet, text, said):
    """Bad TOML with its line, an unknown key by name, a wrong type by name; always with the file."""
    cli("apply", fleet(text)).is_refused_with("fleet.toml", said)

    assert server.requests == []


def test_a_file_that_is_not_there_is_refused(cli, server, tmp_path):
    """A missing file is a failure, not a wrong usage."""
    cli("apply", str(tmp_path / "none.toml")).is_refused_with("none.toml", "No such file")


def test_the_file_knows_the_keys_that_the_server_knows():
    """The CLI checks shapes without the server's models, to start fast; so they must not drift apart."""
    assert set(SCOPE_KEYS) == set(ScopeBody.model_fields)
    assert set(SETTINGS_KEYS) == set(SettingsBody.model_fields)
    assert set(VM_KEYS) == set(VmBody.model_fields) - {"last_asked"}
