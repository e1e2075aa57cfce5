"""Roles and limits (SPEC §5): what each route needs, who gets it, and what a token limited to scopes never learns."""

import http.client
import json
import re

import pytest
from fastapi.routing import APIRoute

from declared_roles import routes_of_the_app
from lab import lab_settings, open_lab
from notbefore.control.auth import OPEN
from notbefore.control.roles import caller_of
from notbefore.core.tokens import Role

# Every route but the open ones: the role it needs, and whether it is closed to tokens limited to scopes.
FLEET, SCOPED = True, False
LAW = {
    "GET /v1/scopes": (Role.VIEWER, SCOPED),
    "GET /v1/scopes/{scope}": (Role.VIEWER, SCOPED),
    "PUT /v1/scopes/{scope}": (Role.ADMIN, SCOPED),
    "DELETE /v1/scopes/{scope}": (Role.ADMIN, SCOPED),
    "POST /v1/scopes/{scope}/vms/{vm}/{operation}": (Role.OPERATOR, SCOPED),
    "POST /v1/scopes/{scope}/maintenance": (Role.OPERATOR, SCOPED),
    "GET /v1/events": (Role.VIEWER, SCOPED),
    "GET /v1/events/{event_id}": (Role.VIEWER, SCOPED),
    "GET /v1/events/{event_id}/explain": (Role.VIEWER, SCOPED),
    "POST /v1/events/{event_id}/{action}": (Role.OPERATOR, SCOPED),
    "GET /v1/history": (Role.VIEWER, SCOPED),
    "GET /v1/stream": (Role.VIEWER, SCOPED),
    "GET /v1/clock": (Role.VIEWER, SCOPED),
    "POST /v1/clock": (Role.ADMIN, FLEET),
    "GET /v1/faults": (Role.VIEWER, FLEET),
    "POST /v1/faults": (Role.ADMIN, FLEET),
    "DELETE /v1/faults": (Role.ADMIN, FLEET),
    "DELETE /v1/faults/{fault_id}": (Role.ADMIN, FLEET),
    "GET /v1/hosts": (Role.VIEWER, FLEET),
    "GET /v1/hosts/{host}": (Role.VIEWER, FLEET),
    "PUT /v1/hosts/{host}": (Role.ADMIN, FLEET),
    "DELETE /v1/hosts/{host}": (Role.ADMIN, FLEET),
    "POST /v1/hosts/{host}/failed": (Role.OPERATOR, FLEET),
    "POST /v1/hosts/{host}/maintenance": (Role.OPERATOR, FLEET),
    "GET /v1/operations": (Role.VIEWER, FLEET),
    "GET /v1/operations/{operation_id}": (Role.VIEWER, FLEET),
    "POST /v1/operations/{operation_id}/cancel": (Role.OPERATOR, FLEET),
    "GET /v1/rollouts": (Role.VIEWER, FLEET),
    "POST /v1/rollouts": (Role.OPERATOR, FLEET),
    "GET /v1/rollouts/{rollout_id}": (Role.VIEWER, FLEET),
    "GET /v1/rollouts/{rollout_id}/plan": (Role.VIEWER, FLEET),
    "POST /v1/rollouts/{rollout_id}/{action}": (Role.OPERATOR, FLEET),
    "GET /v1/tokens": (Role.ADMIN, FLEET),
    "POST /v1/tokens": (Role.ADMIN, FLEET),
    "DELETE /v1/tokens/{name}": (Role.ADMIN, FLEET),
    "GET /metrics": (Role.VIEWER, FLEET),
}
SCOPED_ROUTES = [route for route, (_, fleet_wide) in LAW.items() if not fleet_wide]
FLEET_ROUTES = [route for route, (_, fleet_wide) in LAW.items() if fleet_wide]
EVENT_ROUTES = [route for route in LAW if "{event_id}" in route]
NO_EVENT = "00000000-0000-0000-0000-000000000000"


def test_every_route_is_open_by_name_or_declares_one_role():
    """Whoever adds a route says who may ask it; one that is forgotten fails here."""
    for name, needs, route in routes_of_the_app():
        if route.path in OPEN:
            assert needs == [], name
        else:
            assert isinstance(route, APIRoute), name
            assert len(needs) == 1, f"{name} declares no role"


def test_every_route_declares_what_the_law_says():
    """Viewer: every GET. Operator: operations, maintenance, failures, words on events. Admin: declarations, tokens, clock, faults."""
    declared = {name: (needs[0].role, needs[0].fleet_wide) for name, needs, _ in routes_of_the_app() if needs}

    assert declared == LAW


def test_every_route_that_is_open_to_limited_tokens_knows_what_it_is_about():
    """By `scope` or `event_id` in its path, which `needs` looks at; or it lists, and asks who is asking."""
    for name, needs, route in routes_of_the_app():
        if needs and not needs[0].fleet_wide:
            names = set(re.findall(r"{(\w+)}", route.path))
            asks = caller_of in {one.call for one in route.dependant.dependencies}
            assert names <= {"scope", "vm", "operation", "event_id", "action"}, name
            assert names & {"scope", "event_id"} or asks, name


# -- a server with two scopes and a token of each kind


class Fleet:
    """Scopes `mine` and `theirs`, each with a live and an ended event; hidden things and things that are not there."""

    def __init__(self, lab):
        self.lab = lab
        self.live, self.ended = {}, {}
        for number, scope in enumerate(("mine", "theirs")):
            vms = [{"name": "a", "addresses": [f"127.0.9.{number}"], "host": "h-1"}, {"name": "b"}]
            lab.declare(scope, *vms, listening="always")
            self.ended[scope] = lab.made(scope, "b", "restart")["id"]
            assert lab.control("POST", f"/v1/events/{self.ended[scope]}/cancel").status == 200
            self.live[scope] = lab.made(scope, "a", "restart")["id"]
        self.secrets = {None: ""}
        for role in Role:
            self.secrets[role] = self.create(name=f"all-{role}", role=role)
            self.secrets[role, "mine"] = self.create(name=f"mine-{role}", role=role, scopes=["MINE", "planned"])

    def create(self, **wanted):
        reply = self.lab.control("POST", "/v1/tokens", wanted)
        assert reply.status == 201, reply
        return reply.json["secret"]

    def ask(self, who, method, path, body=None):
        """Status and bytes; of an answer that goes on for ever only the status."""
        line = http.client.HTTPConnection(*self.lab.control_address, timeout=30)
        headers = {"Content-Type": "application/json"}
        if self.secrets[who]:
            headers["Authorization"] = f"Bearer {self.secrets[who]}"
        try:
            line.request(method, path, None if body is None else json.dumps(body), headers)
            answer = line.getresponse()
            endless = answer.status == 200 and path.startswith("/v1/stream")
            return answer.status, b"" if endless else answer.read()
        finally:
            line.close()

    def json(self, who, path):
        status, body = self.ask(who, "GET", path)
        assert status == 200, body
        return json.loads(body)

    def told(self):
        """Everything there is, as the admin sees it."""
        paths = ("/v1/scopes", "/v1/events?status=Cancelled&status=Scheduled", "/v1/hosts", "/v1/tokens")
        return [self.lab.control("GET", path).body for path in paths]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with open_lab(lab_settings(tmp_path_factory.mktemp("roles") / "state")) as lab:
        yield Fleet(lab)


def filled(route, **names):
    """A route as a request on things that are not there, unless they are named."""
    method, path = route.split()
    given = {
        "scope": "nowhere", "vm": "a", "operation": "restart", "event_id": NO_EVENT, "action": "approve",
        "host": "nowhere", "name": "nobody", "operation_id": NO_EVENT, "rollout_id": NO_EVENT, "fault_id": "f0", **names,
    }  # fmt: skip
    body = {} if method in ("PUT", "POST") and "/vms/" not in path and "{action}" not in path else None
    return method, path.format(**given), {"type": "Reboot"} if "maintenance" in path else body


@pytest.mark.parametrize("route", LAW)
def test_without_a_token_every_route_is_closed(fleet, route):
    """401 for whoever says nothing about who they are."""
    status, body = fleet.ask(None, *filled(route))

    assert status == 401
    assert json.loads(body)["error"]["code"] == "unauthorized"


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("route", [route for route in LAW if not route.startswith(("PUT", "DELETE"))])
def test_a_route_is_answered_for_its_role_and_those_above(fleet, route, role):
    """403 `forbidden` below it, with the role that is needed; anything but 401 and 403 from it on."""
    needed = LAW[route][0]
    status, body = fleet.ask(role, *filled(route))

    if role.includes(needed):
        assert status not in (401, 403), body
    else:
        error = json.loads(body)["error"]
        assert (status, error["code"]) == (403, "forbidden")
        assert error["facts"] == {"needed": needed, "role": role}
        assert f"role {needed}" in error["message"]


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
@pytest.mark.parametrize("route", [route for route in LAW if route.startswith(("PUT", "DELETE"))])
def test_nobody_below_an_admin_declares_or_removes(fleet, route, role):
    """Also things that are there: they stay as they are."""
    before = fleet.told()

    status, body = fleet.ask(role, *filled(route, scope="mine", host="h-1", name="all-viewer"))

    assert (status, json.loads(body)["error"]["code"]) == (403, "forbidden")
    assert fleet.told() == before


def test_a_viewer_cannot_restart(fleet):
    """The issue's own words. Nothing is made, and history knows of nothing."""
    before = fleet.told()

    for path in ("vms/b/restart", "vms/b/terminate", "maintenance"):
        assert fleet.ask(Role.VIEWER, "POST", f"/v1/scopes/mine/{path}", {})[0] == 403
    for action in ("approve", "cancel", "complete"):
        assert fleet.ask(Role.VIEWER, "POST", f"/v1/events/{fleet.live['mine']}/{action}")[0] == 403

    assert fleet.told() == before


# -- limits


def test_a_limited_token_sees_its_own_scope_whole(fleet):
    """Limited is not blind: its scope, its events, its history, under any letter case of the name."""
    who = (Role.VIEWER, "mine")

    assert [scope["name"] for scope in fleet.json(who, "/v1/scopes")["scopes"]] == ["mine"]
    assert fleet.json(who, "/v1/scopes/Mine")["name"] == "mine"
    assert fleet.json(who, f"/v1/events/{fleet.live['mine']}")["scope"] == "mine"
    assert fleet.json(who, f"/v1/events/{fleet.ended['mine']}")["status"] == "Cancelled"
    assert fleet.json(who, f"/v1/events/{fleet.live['mine']}/explain")
    assert {record["scope"] for record in fleet.json(who, "/v1/history")["history"]} == {"mine"}
    assert fleet.json(who, f"/v1/history?event={fleet.ended['mine']}")["history"]


def test_lists_show_a_limited_token_its_own_scopes_alone(fleet):
    """Scopes, events of every status, history newest and from the start: no record of another scope, and none of no scope."""
    who = (Role.VIEWER, "mine")
    asked = [
        "/v1/scopes", "/v1/events", "/v1/events?status=Cancelled", "/v1/history", "/v1/history?after=0&limit=1000",
        f"/v1/history?event={fleet.live['theirs']}", "/v1/history?scope=theirs", "/v1/events?status=Cancelled&scope=theirs",
    ]  # fmt: skip

    for path in asked:
        seen = json.dumps(fleet.json(who, path))
        for hidden in ("theirs", fleet.live["theirs"], fleet.ended["theirs"], "token created", "all-admin"):
            assert hidden not in seen, path
    assert fleet.json(who, "/v1/history?scope=")["history"] == []


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("route", [route for route in SCOPED_ROUTES if "{scope}" in route])
def test_another_scope_is_answered_like_one_that_is_not_there(fleet, route, role):
    """Byte for byte, name aside, whatever is asked of it: whoever may not see it cannot find out that it is there."""
    before = fleet.told()
    answers = []
    for scope in ("theirs", "nobody"):
        for operation in ("restart", "nonsense"):
            status, body = fleet.ask((role, "mine"), *filled(route, scope=scope, operation=operation))
            answers.append((status, body.replace(scope.encode(), b"*")))

    assert len(set(answers)) == 1
    status, body = answers[0]
    if role.includes(LAW[route][0]):
        code = "forbidden" if route.startswith("PUT") else "unknown_scope"
        assert json.loads(body)["error"]["code"] == code
    else:
        assert status == 403
    assert fleet.told() == before


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("route", EVENT_ROUTES)
def test_another_scopes_event_is_answered_like_one_that_is_not_there(fleet, route, role):
    """Live, ended, or never made; with an action or with nonsense: the same bytes but for the id."""
    before = fleet.told()
    answers = []
    for event_id in (fleet.live["theirs"], fleet.ended["theirs"], NO_EVENT):
        for action in ("approve", "nonsense"):
            status, body = fleet.ask((role, "mine"), *filled(route, event_id=event_id, action=action))
            answers.append((status, body.replace(event_id.encode(), b"*")))

    assert len(set(answers)) == 1
    status, body = answers[0]
    assert (status, json.loads(body)["error"]["code"]) == (
        (404, "unknown_event") if role.includes(LAW[route][0]) else (403, "forbidden")
    )
    assert fleet.told() == before


@pytest.mark.parametrize("path", ["/v1/events?scope=*", "/v1/events?scope=*&status=Failed", "/v1/history?scope=*"])
def test_asking_for_another_scope_by_query_is_like_asking_for_none(fleet, path):
    """`?scope=` of one that is hidden and of one that is not there."""
    answers = set()
    for scope in ("theirs", "nobody"):
        status, body = fleet.ask((Role.VIEWER, "mine"), "GET", path.replace("*", scope))
        answers.add((status, body.replace(scope.encode(), b"*")))

    assert len(answers) == 1


@pytest.mark.parametrize("route", FLEET_ROUTES)
def test_what_belongs_to_no_scope_is_closed_to_limited_tokens(fleet, route):
    """Hosts, tokens, the clock, metrics: 403 `forbidden` even for an admin, and it says what the token is limited to."""
    before = fleet.told()

    for host in ("h-1", "nowhere"):
        status, body = fleet.ask((Role.ADMIN, "mine"), *filled(route, host=host, name="all-viewer"))

        error = json.loads(body)["error"]
        assert (status, error["code"]) == (403, "forbidden")
        assert error["facts"] == {"scopes": ["MINE", "planned"]}
    assert fleet.told() == before


def test_a_limited_admin_declares_its_own_scopes_and_learns_nothing_by_their_addresses(fleet):
    """An address that is taken elsewhere is refused without saying by whom."""
    who = (Role.ADMIN, "mine")
    status, _ = fleet.ask(who, "PUT", "/v1/scopes/planned", {"vms": [{"name": "c"}]})
    assert status == 201

    status, body = fleet.ask(who, "PUT", "/v1/scopes/planned", {"vms": [{"name": "c", "addresses": ["127.0.9.1"]}]})

    assert (status, json.loads(body)["error"]["code"]) == (409, "address_taken")
    assert b"theirs" not in body
    assert fleet.ask(who, "DELETE", "/v1/scopes/planned")[0] == 204


def test_a_limited_operator_works_on_its_own_scope(fleet):
    """And its name stands beside what it did."""
    who = (Role.OPERATOR, "mine")
    status, body = fleet.ask(who, "POST", "/v1/scopes/mine/vms/b/redeploy")
    assert status == 202
    made = json.loads(body)
    assert made["made_by"] == "operator mine-operator"

    assert fleet.ask(who, "POST", f"/v1/events/{made['id']}/cancel")[0] == 200


def test_a_limited_token_is_told_the_time_and_not_what_is_due_elsewhere(fleet):
    """`--not-before +20m` counts from the server's clock; the next due time may be another scope's."""
    shown = fleet.json((Role.VIEWER, "mine"), "/v1/clock")

    assert shown["next_due"] is None
    assert shown["now"] == fleet.json(Role.VIEWER, "/v1/clock")["now"]
    assert fleet.json(Role.VIEWER, "/v1/clock")["next_due"]


@pytest.mark.parametrize("route", LAW)
def test_the_metadata_listener_answers_no_route_of_the_control_api(fleet, route):
    """SPEC §5: the control API never answers on the metadata listener, token or not."""
    method, path, body = filled(route)
    for headers in ({"Metadata": "true"}, {"Metadata": "true", "Authorization": f"Bearer {fleet.lab.server.token}"}):
        reply = fleet.lab.request(fleet.lab.metadata, method, path, json.dumps(body) if body else None, headers)
        assert reply.status == 404, reply


@pytest.mark.parametrize(
    "path", ["/metadata/scheduledevents", "/metadata/scheduledEvents/", "/metadata/instance", "/metadata/versions"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_control_listener_answers_no_path_of_the_metadata_service(fleet, method, path):
    """Nor the other way round: with a token there is no such route, without one there is nothing."""
    target = f"{path}?api-version=2020-07-01"
    body = json.dumps({"StartRequests": [{"EventId": fleet.live["mine"]}]}) if method == "POST" else None
    with_token = {"Metadata": "true", "Authorization": f"Bearer {fleet.lab.server.token}"}

    assert fleet.lab.request(fleet.lab.control_address, method, target, body, with_token).status == 404
    assert fleet.lab.request(fleet.lab.control_address, method, target, body, {"Metadata": "true"}).status == 401
    assert fleet.json(Role.VIEWER, f"/v1/events/{fleet.live['mine']}")["status"] == "Scheduled"
