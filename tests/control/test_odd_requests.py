"""Requests that are nearly right: each is refused with what was wrong with it, and changes nothing."""

import re
import socket

import pytest
from published_schemas import OPERATIONS

from lab import lab_settings, open_lab

FAR = ["9999-12-31T23:59:59.9Z", "9999-12-31T23:59:59-14:00", "9000-01-01T00:00:01Z", "0001-01-01T00:00:00+14:00"]
CLOCK_END_MS = 221_845_392_000_000


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The demo scope, on a server that can be asked for everything."""
    with open_lab(lab_settings(tmp_path_factory.mktemp("odd") / "state", demo=True, allow_faults=True)) as lab:
        yield lab


def refused(reply, status=400):
    assert reply.status == status, reply
    return reply.json["error"]


@pytest.mark.parametrize("at", FAR)
@pytest.mark.parametrize("path", ["/vms/FrontEnd_IN_0/restart", "/maintenance"])
def test_a_time_that_no_date_can_follow_is_refused_by_its_field(demo, path, at):
    """A date ends with the year 9999; what was taken on has to be shown, with everything that follows from it."""
    body = {"not_before": at} | ({"type": "Freeze"} if path == "/maintenance" else {})

    assert refused(demo.control("POST", f"/v1/scopes/demo{path}", body))["facts"] == {"field": "not_before"}
    assert demo.control("GET", "/v1/events").json == {"events": []}


@pytest.mark.parametrize("turn", [{"advance_s": 1}, {"advance_s": 31_622_400}])
def test_the_clock_stops_before_dates_end(tmp_path, turn):
    """The same for the clock of the emulator, however often it is turned."""
    state = tmp_path / "state"
    state.mkdir()
    (state / "manual.clock").write_text(f"{CLOCK_END_MS}\n")
    with open_lab(lab_settings(state, demo=True)) as lab:
        assert lab.control("GET", "/v1/clock").json["now"] == "9000-01-01T00:00:00Z"
        assert refused(lab.control("POST", "/v1/clock", turn), 409)["code"] == "not_allowed"
        assert lab.control("GET", "/v1/clock").json["now"] == "9000-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("method", "path", "parameter"),
    [
        ("PUT", "/v1/scopes/demo?pln=true", "pln"),
        ("PUT", "/v1/scopes/demo?plan=true&plan=false", "plan"),
        ("DELETE", "/v1/scopes/demo?Force=true", "Force"),
        ("DELETE", "/v1/scopes/demo?force=false&force=true", "force"),
        ("GET", "/v1/events?state=Started", "state"),
        ("GET", "/v1/events?scope=demo&scope=shop", "scope"),
        ("GET", "/v1/scopes?scope=demo", "scope"),
        ("POST", "/v1/scopes/demo/maintenance?plan=true", "plan"),
    ],
)
def test_an_unknown_or_repeated_parameter_is_refused_by_name(demo, method, path, parameter):
    """As unknown fields are (DESIGN §5): `?pln=true` must not declare what somebody only wanted to plan."""
    before = demo.control("GET", "/v1/scopes").json
    body = {"type": "Freeze"} if "maintenance" in path else {} if method == "PUT" else None

    assert refused(demo.control(method, path, body))["facts"] == {"parameter": parameter}
    assert demo.control("GET", "/v1/scopes").json == before
    assert demo.control("GET", "/v1/events").json == {"events": []}


@pytest.mark.parametrize("name", [name for name in OPERATIONS if " /v1/" in name])
def test_no_route_takes_a_parameter_that_it_does_not_publish(demo, name):
    method, path = re.sub(r"\{\w+\}", "x", name).split()

    assert refused(demo.control(method, f"{path}?nonsense=1"))["message"] == "Unknown parameter 'nonsense'."


def test_a_parameter_that_is_a_list_may_be_repeated(demo):
    assert demo.control("GET", "/v1/events?status=Queued&status=Started").status == 200


@pytest.mark.parametrize("head", [b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", b"HELLO\r\n\r\n"])
def test_what_is_no_http_is_refused_in_the_one_shape_of_errors(demo, head):
    """DESIGN §5: errors are `{"error":{"code","message","hint","facts"}}`, also of an address too long to be read."""
    with socket.create_connection(demo.control_address, timeout=15) as sent:
        sent.sendall(head)
        answer = b""
        while part := sent.recv(65536):
            answer += part

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"content-type: application/json\r\n" in answer
    assert b'{"error": {"code": "invalid", ' in answer


@pytest.mark.parametrize(
    "odd", ["%00", "%ED%A0%80", "%FF", "%F0%9F%92%A9" * 129, "%E2%80%AE", "a%0D%0Ab", "..%2F..", "%2F"]
)
@pytest.mark.parametrize("name", [name for name in OPERATIONS if "{" in name])
def test_an_odd_name_in_a_path_is_refused_or_not_there(demo, name, odd):
    """Half a character, none at all, or one that turns the line: an error like any other."""
    method, path = re.sub(r"\{\w+\}", odd, name).split()

    reply = demo.control(method, path, {"type": "Freeze"} if "maintenance" in path else None)

    assert reply.status in (400, 404, 405)
    assert set(reply.json["error"]) == {"code", "message", "hint", "facts"}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=" + "9" * 400, "limit"),
        ("limit=1e3", "limit"),
        ("after=-1", "after"),
        ("after=" + "9" * 30, "after"),
        ("since=" + "9" * 20, "since"),
        ("vm=" + "n" * 201, "vm"),
    ],
)
def test_an_odd_value_in_a_query_is_refused_by_its_name(demo, query, field):
    assert refused(demo.control("GET", f"/v1/history?{query}"))["facts"]["field"] == field


@pytest.mark.parametrize("parameter", ["scope", "event", "vm", "by", "what"])
def test_odd_text_in_a_query_finds_nothing(demo, parameter):
    for odd in ("%00", "a%0D%0Ab", "%E2%80%AE"):
        assert demo.control("GET", f"/v1/history?{parameter}={odd}").json["history"] == []


@pytest.mark.parametrize("path", ["/v1/scopes/%FF", "/v1/scopes/a%ED%A0%80?plan=true", "/v1/scopes/demo?releasing=%FF"])
def test_an_address_that_is_no_utf_8_is_refused(demo, path):
    """It would be read with stand-ins, and two names that differ be one."""
    assert refused(demo.control("PUT", path, {}))["message"] == "The address is not UTF-8."


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "\xff"]
)
@pytest.mark.parametrize(
    "place", ["PUT /v1/scopes/odd", "POST /v1/scopes/demo/vms/FrontEnd_IN_0/restart", "POST /v1/tokens"]
)
def test_a_body_that_does_not_say_it_is_json_is_refused(demo, place, kind):
    """No form of a web page declares a scope."""
    method, path = place.split()
    headers = {"Authorization": f"Bearer {demo.server.token}", "Content-Type": kind}

    assert refused(demo.request(demo.control_address, method, path, b"{}", headers))["code"] == "invalid"
    assert demo.control("GET", "/v1/scopes/odd").status == 404
    assert demo.control("GET", "/v1/events").json == {"events": []}
