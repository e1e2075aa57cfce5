"""?plan=true: what a declaration or a removal would do, found out without doing it."""

import pytest

VM = {"name": "web-1", "addresses": ["10.0.0.1"]}


@pytest.fixture
def unchanged(lab):
    """What the server knows, to be compared with what it knows afterwards."""

    def state():
        return [lab.control("GET", path).json for path in ("/v1/scopes", "/v1/history?limit=1000")]

    return state


def plan(lab, scope, body, query=""):
    return lab.control("PUT", f"/v1/scopes/{scope}?plan=true{query}", body)


def test_a_planned_scope_is_shown_as_it_would_be(lab, unchanged):
    """200, the whole scope, defaults filled in; and nothing is declared."""
    before = unchanged()

    reply = plan(lab, "shop", {"kind": "scale-set", "vms": [VM]})

    assert reply.status == 200
    assert reply.json == {**lab.declare("shop", VM, kind="scale-set")}
    assert before[0] == {"scopes": []}


def test_a_plan_is_refused_as_the_declaration_would_be(lab, unchanged):
    """A live event, a bad value, an address that is taken; nothing is changed."""
    lab.declare("shop", VM, listening="always")
    event = lab.made("shop", "web-1", "restart")
    before = unchanged()

    live = plan(lab, "shop", {"vms": []})
    bad = plan(lab, "shop", {"vms": [VM], "settings": {"recovery_s": -1}})
    taken = plan(lab, "other", {"vms": [VM]})

    assert (live.status, live.json["error"]["facts"]["event"]) == (409, event["id"])
    assert (bad.status, bad.json["error"]["facts"]["field"]) == (400, "settings.recovery_s")
    assert taken.json["error"]["code"] == "address_taken"
    assert taken.json["error"]["facts"] == {"address": "10.0.0.1", "vm": "web-1", "scope": "shop", "owner": "web-1"}
    assert unchanged() == before


def test_addresses_of_a_scope_that_releases_them_are_left_aside(lab):
    """Only in a plan: a declaration takes no address away from anybody."""
    lab.declare("shop", VM)

    assert plan(lab, "other", {"vms": [VM]}, "&releasing=SHOP").status == 200
    assert lab.control("PUT", "/v1/scopes/other?releasing=shop", {"vms": [VM]}).status == 409


def test_whoever_is_limited_to_scopes_learns_nothing_by_releasing_others(lab):
    """The answer is the same whether the hidden scope is named or not."""
    lab.declare("hidden", VM)
    lab.declare("mine")
    token = lab.control("POST", "/v1/tokens", {"name": "limited", "role": "admin", "scopes": ["mine"]}).json["secret"]

    replies = [
        lab.control("PUT", f"/v1/scopes/mine?plan=true{query}", {"vms": [VM]}, token=token)
        for query in ("", "&releasing=hidden", "&releasing=none")
    ]

    assert {reply.status for reply in replies} == {409}
    assert len({reply.body for reply in replies}) == 1
    assert b"hidden" not in replies[0].body


def test_a_planned_removal_says_whether_it_could_be_done(lab, unchanged):
    lab.declare("shop", VM, listening="always")
    event = lab.made("shop", "web-1", "restart")
    before = unchanged()

    refused = lab.control("DELETE", "/v1/scopes/shop?plan=true")
    forced = lab.control("DELETE", "/v1/scopes/shop?plan=true&force=true")
    unknown = lab.control("DELETE", "/v1/scopes/none?plan=true")

    assert (refused.status, refused.json["error"]["facts"]["event"]) == (409, event["id"])
    assert forced.status == 204
    assert unknown.status == 404
    assert unchanged() == before


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"kind": "heap"}, "kind"),
        ({"settings": {"listening": "often"}}, "settings.listening"),
        ({"settings": {"notice_s": {"Nap": 3}}}, "settings.notice_s.Nap"),
        ({"settings": {"notice_s": {"Terminate": 901}}}, "settings.notice_s.Terminate"),
        ({"settings": {"user_operations_max": -1}}, "settings.user_operations_max"),
        ({"settings": {"auto_approve": ["Nap"]}}, "settings.auto_approve"),
        ({"settings": {"approval": {"Nap": "any"}}}, "settings.approval.Nap"),
        ({"vms": [VM, {"name": "b", "state": "tired"}]}, "vms.1.state"),
        ({"vms": [VM, {"name": "b", "update_domain": -1}]}, "vms.1.update_domain"),
    ],
)
def test_a_refused_value_is_named_by_its_field(lab, body, field):
    """So that whoever wrote it in a file can be told where."""
    assert plan(lab, "shop", body).json["error"]["facts"]["field"] == field
