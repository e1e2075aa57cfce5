"""Outgoing webhooks over real sockets, from a server process that is killed."""

import json
import threading

import pytest
from served import ServerProcess

from receiver import SECRET, Receiver, receiving, verified

SCOPES = ("shop", "bank")


def settings_for(tmp_path, receiver, **more):
    secret = tmp_path / "hook.secret"
    secret.write_text(f"{SECRET}\n")
    secret.chmod(0o600)
    file = tmp_path / "notbefore.toml"
    given = "".join(f"{name} = {json.dumps(value)}\n" for name, value in more.items())
    file.write_text(
        "[notify]\nretry_first_s = 0.02\nretry_max_s = 0.1\n"
        f'[[notify.webhook]]\nname = "ops"\nurl = "{receiver.url}"\nsecret_file = "{secret}"\n{given}'
    )
    return file


@pytest.fixture
def receiver():
    with receiving() as opened:
        yield opened


def declare(server, scope):
    vms = [{"name": f"{scope}-{n}"} for n in range(2)]
    reply = server.control("PUT", f"/v1/scopes/{scope}", {"settings": {"listening": "always"}, "vms": vms})
    assert reply[0] == 201, reply


def an_events_life(server, scope):
    event = server.control("POST", f"/v1/scopes/{scope}/vms/{scope}-0/restart", {})[1]["id"]
    assert server.control("POST", f"/v1/events/{event}/approve")[0] == 200
    assert server.control("POST", "/v1/clock", {"advance_s": 60})[0] == 200


def changes_in_history(server):
    """Every change there is, as the receiver should have it: revision and word, in order."""
    records = server.control("GET", "/v1/history?after=0&limit=1000")[1]["history"]
    return [(record["scope"], record["revision"], change["what"]) for record in records for change in record["changes"]]


def told(came):
    data = [one.event["data"] for one in came]
    return [(one["scope"], one["revision"], one["changes"][0]["what"]) for one in data]


def test_a_receiver_that_was_down_gets_every_event_once_it_is_back_also_across_kill_9(tmp_path, receiver):
    """Issue: a webhook receiver down for a minute gets every event with valid signatures and stable ids once it is back."""
    file = settings_for(tmp_path, receiver)
    server = ServerProcess(tmp_path / "state", "--clock", "manual", "--config", str(file)).start()
    try:
        for scope in SCOPES:
            declare(server, scope)
        receiver.wait(lambda came: len(came) >= 2)
        receiver.down()
        for _ in range(3):
            for scope in SCOPES:
                an_events_life(server, scope)
            server.kill()
            server.start()
        for scope in SCOPES:
            an_events_life(server, scope)
        expected = changes_in_history(server)
        receiver.answers = lambda _event: 204
        receiver.up()
        receiver.wait(lambda _: len(receiver.taken()) == len(expected))
    finally:
        server.stop()

    assert len(expected) > 30
    for scope in SCOPES:
        assert [one for one in told(receiver.taken()) if one[0] == scope] == [
            one for one in expected if one[0] == scope
        ]
    assert all(verified(one.headers, one.body, SECRET) for one in receiver.came)
    by_content = {}
    for one in receiver.came:
        assert one.headers["webhook-id"] == one.id
        by_content.setdefault(json.dumps(one.event["data"], sort_keys=True), set()).add((one.id, one.body))
    assert all(len(same) == 1 for same in by_content.values())


def test_an_answer_that_was_lost_brings_the_same_event_again_by_another_server_too(tmp_path, receiver):
    """At least once with a stable id: taken, the answer lost, the server killed; the next one sends it again."""
    file = settings_for(tmp_path, receiver)
    receiver.answers = lambda _event: None
    server = ServerProcess(tmp_path / "state", "--clock", "manual", "--config", str(file)).start()
    try:
        declare(server, "shop")
        receiver.wait(lambda came: len(came) >= 1)
        server.kill()
        receiver.answers = lambda _event: 200
        server.start()
        came = receiver.wait(lambda came: came[-1].status == 200)
    finally:
        server.stop()

    assert {one.id for one in came} == {came[0].id}
    assert {one.body for one in came} == {came[0].body}


def test_a_server_stops_at_once_though_a_receiver_hangs(tmp_path):
    """What is under way to a receiver keeps no server from stopping."""
    silent, hold = Receiver().up(), threading.Event()
    silent.answers = lambda _event: hold.wait(60) and 200
    file = settings_for(tmp_path, silent)
    server = ServerProcess(tmp_path / "state", "--demo", "--config", str(file)).start()
    try:
        declare(server, "shop")
    finally:
        code = server.stop()
        hold.set()

    assert code == 0
    assert "Traceback" not in server.log.read_text()
