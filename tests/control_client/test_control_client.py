"""The typed client against a real server: every method, the types of what comes back, refusals as the classes they were."""

import json
import select
import socket
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from notbefore.control_client import (
    ControlClient,
    Event,
    HistoryRecord,
    NoServer,
    NoToken,
    Scope,
    StrangeAnswer,
    Vm,
    connect,
    refusals,
)
from notbefore.control_client.shapes import shaped
from notbefore.core import errors
from notbefore.core.errors import REFUSALS, LiveEvent, Refusal, TooEarly, Unauthorized, UnknownEvent, UnknownScope

FLEET = {
    "kind": "availability-set",
    "settings": {"listening": "always", "notice_s": {"Reboot": 60}, "approval": "all"},
    "vms": [
        {"name": "web-1", "addresses": ["127.0.0.1"], "tags": {"tier": "front"}, "host": "rack1"},
        {"name": "web-2", "update_domain": 1, "addresses": ["127.0.0.2"], "spot": True},
    ],
}


@pytest.fixture
def client(lab):
    with ControlClient(lab.server.control_url, lab.server.token) as opened:
        yield opened


@pytest.fixture
def shop(client):
    return client.put_scope("shop", FLEET)


def test_a_scope_is_typed_whole(client, shop):
    """Names, numbers, tables and times, each as what it is."""
    assert client.scopes() == (shop,)
    assert client.scope("SHOP") == shop
    assert isinstance(shop, Scope)
    assert shop.settings.approval == {"default": "all"}
    assert shop.settings.notice_s["Reboot"] == 60
    assert shop.vms[0] == Vm("web-1", addresses=("127.0.0.1",), tags={"tier": "front"}, host="rack1")
    assert shop.last_asked is None
    assert shop.raw["name"] == "shop"


def test_an_event_is_typed_whole_with_times_in_utc(client, shop):
    made = client.restart("shop", "web-1", duration_s=9, description="new disk")

    assert isinstance(made, Event)
    assert (made.type, made.status, made.source, made.vms) == ("Reboot", "Scheduled", "User", ("web-1",))
    assert (made.duration_s, made.description) == (9, "new disk")
    assert made.not_before - made.visible_since == timedelta(seconds=60)
    assert made.not_before.tzinfo is UTC
    assert client.event(made.id.lower()) == made
    assert client.events("shop", ["Scheduled"]) == (made,)


def test_a_time_may_be_a_datetime(client, shop):
    """With its offset; without one it is UTC."""
    later = client.clock().now + timedelta(hours=3)

    assert client.restart("shop", "web-1", not_before=later).not_before == later
    assert client.restart("shop", "web-2", not_before=later.replace(tzinfo=None)).not_before == later


@pytest.mark.parametrize(
    ("method", "event_type"),
    [
        ("restart", "Reboot"),
        ("redeploy", "Redeploy"),
        ("freeze", "Freeze"),
        ("evict", "Preempt"),
        ("terminate", "Terminate"),
    ],
)
def test_each_operation_is_a_method(client, shop, method, event_type):
    assert getattr(client, method)("shop", "web-2").type == event_type


def test_an_event_is_approved_completed_and_told(client, shop):
    made = client.restart("shop", "web-1")
    approved = client.approve(made.id)

    assert approved.status == "Started"
    assert approved.approvals[0].by == "operator admin"
    assert isinstance(approved.approvals[0].at, datetime)
    assert client.complete(made.id).status == "Completed"
    page = client.history("shop", made.id)
    assert isinstance(page.history[0], HistoryRecord)
    assert [change.what for record in page.history for change in record.changes if change.event][-1].startswith(
        "completed"
    )
    assert page.next == page.history[-1].revision
    assert client.history(after=page.next).history == ()


def test_a_cancelled_event_is_explained(client, shop):
    made = client.restart("shop", "web-1")

    assert client.explain(made.id).event == made
    assert client.explain(made.id).waiting_for == made.waiting_for
    assert client.cancel(made.id).status == "Cancelled"


def test_maintenance_is_planned_and_made(client, shop):
    planned = client.maintain("shop", "Freeze", plan=True)
    made = client.maintain("shop", "Freeze", update_domains=[1])

    assert [event.vms for event in (*planned.events, *planned.queued)] == [("web-1",), ("web-2",)]
    assert [event.vms for event in made.events] == [("web-2",)]


def test_hosts_are_declared_listed_failed_and_removed(client, shop):
    assert client.put_host("rack2", {"executor": "simulate"}).declared
    assert {host.name: dict(host.vms) for host in client.hosts()} == {"rack1": {"shop": 1}, "rack2": {}}
    assert client.host_failed("rack1").events[0].status == "Started"
    client.remove_host("rack2")
    assert [host.name for host in client.hosts()] == ["rack1"]


def test_tokens_are_created_used_and_revoked(client, lab, shop):
    """The secret is in the answer that creates it, and in no repr."""
    made = client.create_token("dashboard", "viewer", scopes=["shop"], expires_in_s=3600)

    assert made.secret
    assert made.secret not in repr(made)
    assert made.scopes == ("shop",)
    assert [one.name for one in client.tokens()] == ["dashboard"]
    with ControlClient(lab.server.control_url, made.secret) as viewer:
        assert viewer.scopes() == (shop,)
        client.revoke_token("dashboard")
        with pytest.raises(Unauthorized):
            viewer.scopes()


def test_the_clock_is_read_and_turned(client, shop):
    client.restart("shop", "web-1")
    before = client.clock()
    turned = client.advance(60)

    assert turned.now - before.now == timedelta(seconds=60)
    assert any(change.what.startswith("started") for record in turned.happened for change in record.changes)
    assert client.to_next().now > turned.now


def test_a_plan_changes_nothing(client, shop):
    planned = client.put_scope("shop", {"kind": "scale-set"}, plan=True)
    client.remove_scope("shop", plan=True)

    assert planned.kind == "scale-set"
    assert client.scope("shop") == shop


def test_refusals_come_back_as_the_classes_they_were(client, shop):
    """STYLE 10: the client maps the code back to the same class, with message, hint and facts."""
    made = client.restart("shop", "web-1")

    with pytest.raises(UnknownScope) as unknown:
        client.scope("none")
    with pytest.raises(UnknownEvent):
        client.approve("00000000-0000-0000-0000-000000000000")
    with pytest.raises(TooEarly) as early:
        client.restart("shop", "web-2", not_before=client.clock().now)
    with pytest.raises(LiveEvent) as live:
        client.remove_scope("shop")
    assert unknown.value.message == "There is no scope 'none'."
    assert unknown.value.hint
    assert early.value.facts["earliest"]
    assert live.value.facts["event"] == made.id
    client.remove_scope("shop", force=True)
    assert client.scopes() == ()


@pytest.mark.parametrize("code", REFUSALS)
def test_every_code_comes_back_as_its_class(code):
    with answering(409, {"error": {"code": code, "message": "No.", "hint": "Do.", "facts": {"a": 1}}}) as url:
        with pytest.raises(REFUSALS[code]) as refused:
            ControlClient(url, "token").scopes()
        assert (refused.value.message, refused.value.hint, refused.value.facts) == ("No.", "Do.", {"a": 1})


def test_a_code_of_a_newer_server_is_a_refusal():
    with answering(418, {"error": {"code": "teapot", "message": "No."}}) as url, pytest.raises(Refusal, match=r"No\."):
        ControlClient(url, "token").scopes()


def test_every_class_of_refusal_has_its_code():
    """So that none is lost on its way."""
    kinds = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, Refusal)]

    assert {one for one in kinds if one is not Refusal} == set(REFUSALS.values())


def test_every_class_of_refusal_can_be_caught_by_the_clients_own_name():
    """What is imported from elsewhere in the program may change at any time."""
    assert {*REFUSALS.values(), Refusal} <= {getattr(refusals, name) for name in refusals.__all__}


def test_what_a_newer_server_adds_is_ignored_and_what_an_older_one_lacks_has_its_default():
    raw = {"name": "shop", "mood": "fine", "vms": [{"name": "vm", "colour": "red"}], "settings": {"new": 1}}

    shop = shaped(Scope, raw)

    assert shop.vms == (Vm("vm"),)
    assert shop.kind == "standalone"
    assert shop.raw is raw


@pytest.mark.parametrize("raw", [{}, [], 3, None, {"name": "x", "vms": 3}, {"name": "x", "last_asked": "noon"}])
def test_what_is_no_scope_is_a_strange_answer(raw):
    with pytest.raises(StrangeAnswer):
        shaped(Scope, raw)


def test_many_requests_go_over_one_connection(client):
    """One keep-alive connection, however much is asked."""
    client.scopes()
    first = client.raw._connection.sock.getsockname()

    for _ in range(20):
        client.scopes()

    assert client.raw._connection.sock.getsockname() == first


def test_a_connection_that_the_server_closed_is_made_anew():
    """It was idle for too long, or the server was restarted; nothing is lost by it."""
    with hanging_up() as url, ControlClient(url, "token") as client:
        client.scopes()
        select.select([client.raw._connection.sock], [], [], 10)
        client.scopes()


def test_the_server_is_found_as_the_command_line_finds_it(lab, tmp_path):
    """NOTBEFORE_URL and NOTBEFORE_TOKEN, or the token in the state directory."""
    with connect({"NOTBEFORE_URL": lab.server.control_url, "NOTBEFORE_TOKEN": lab.server.token}) as client:
        assert client.scopes() == ()
    with connect({"NOTBEFORE_URL": lab.server.control_url, "NOTBEFORE_STATE": str(tmp_path / "state")}) as client:
        assert client.scopes() == ()
    with pytest.raises(NoToken):
        connect({"NOTBEFORE_STATE": str(tmp_path / "none")})


def test_nobody_there_is_said_so():
    with pytest.raises(NoServer, match="connection refused"):
        ControlClient("http://127.0.0.1:1", "token").scopes()


@pytest.mark.parametrize("token", ["", "two\nlines", "ümlaut"])
def test_a_token_that_cannot_be_sent_is_refused_without_showing_it(token):
    with pytest.raises(NoToken) as refused:
        ControlClient("http://127.0.0.1:1", token)
    assert not token or token not in refused.value.message


# -- Others at the address, by name


class answering:  # noqa: N801  reads as a sentence where it is used
    """Somebody who answers everything with one status and one body."""

    def __init__(self, status, body):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                content = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                """Nobody reads it."""

        self._http = HTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))

    def __enter__(self):
        self._thread.start()
        return f"http://127.0.0.1:{self._http.server_port}"

    def __exit__(self, *_):
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class hanging_up:  # noqa: N801
    """Answers one request on each connection, promises to stay, and leaves."""

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self):
        self._thread.start()
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _serve(self):
        while True:
            try:
                line, _ = self._listener.accept()
            except OSError:
                return
            with line:
                line.recv(65536)
                line.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{"scopes":[]}')
