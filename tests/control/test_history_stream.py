"""GET /v1/stream: history as it happens (DESIGN §5: server-sent events, resumable by Last-Event-ID)."""

import asyncio
import logging
import socket

import pytest
from history_followers import following

from lab import lab_settings, open_lab
from notbefore.control.streams import CUT_OFF_REMEMBERED_MAX, StreamLimits
from notbefore.control_client import ControlClient


def limited(lab, **limits):
    """The streams of this server with other limits from now on."""
    lab.server.streams.limits = StreamLimits(**limits)


async def until(holds):
    while not holds():
        await asyncio.sleep(0.01)


# -- what comes


def test_each_record_comes_as_one_event_as_history_shows_it(demo):
    """`id:` is the revision, `event: history`, `data:` the record."""
    with following(demo) as stream:
        made = demo.made("demo", "FrontEnd_IN_0", "restart")
        record = stream.record()

    assert record == demo.history()[-1]
    assert record["changes"][0]["event"]["id"] == made["id"]
    assert stream.response.headers["Content-Type"].startswith("text/event-stream")
    assert stream.response.headers["Cache-Control"] == "no-store"


def test_without_an_id_it_begins_now_and_says_where_that_is(demo):
    """Who is cut off before the first record came resumes without a gap."""
    with following(demo) as stream:
        first = stream.message()

    assert first == {"retry": "1000", "id": str(demo.history()[-1]["revision"])}
    demo.made("demo", "FrontEnd_IN_0", "restart")
    with following(demo, last_id=stream.last_id) as again:
        assert again.record() == demo.history()[-1]


@pytest.mark.parametrize("how", ["header", "parameter"])
def test_it_begins_after_the_last_event_id_or_after(demo, how):
    """Last-Event-ID beats `after`, because a reconnecting reader repeats its first address."""
    for vm in ("FrontEnd_IN_0", "FrontEnd_IN_1", "BackEnd_IN_0"):
        demo.made("demo", vm, "restart")
    revisions = [record["revision"] for record in demo.history()]
    where = {"query": f"?after={revisions[1]}"}
    if how == "header":
        where = {"query": "?after=0", "last_id": revisions[1]}

    with following(demo, **where) as stream:
        assert [one["revision"] for one in stream.records(2)] == revisions[2:]


def test_nothing_is_lost_and_nothing_comes_twice_across_reconnects(demo):
    """Each time with the last id that came."""
    came, last_id = [], 0
    for _ in range(10):
        event = demo.made("demo", "FrontEnd_IN_0", "restart")["id"]
        demo.control("POST", f"/v1/events/{event}/cancel")
        with following(demo, last_id=last_id) as stream:
            came.append(stream.record())
            last_id = stream.last_id
    with following(demo, last_id=last_id) as stream:
        came += stream.records(21 - len(came))

    assert came == demo.history()


def test_who_is_away_for_100_changes_gets_exactly_those_100_in_order(demo):
    """Issue: an SSE client away for 100 changes gets exactly those 100 on return, in order."""
    with following(demo) as stream:
        demo.made("demo", "FrontEnd_IN_0", "restart")
        seen = stream.record()
    for n in range(100):
        demo.control("PUT", f"/v1/hosts/rack-{n}", {"executor": "simulate"})

    with following(demo, last_id=stream.last_id) as again:
        came = again.records(100)
        demo.control("PUT", "/v1/hosts/the-next", {"executor": "simulate"})
        after = again.record()

    whole = demo.history("after=0&limit=1000")
    assert came == [record for record in whole if record["revision"] > seen["revision"]][:100]
    assert after == whole[-1]
    assert after["revision"] > came[-1]["revision"]


def test_what_a_second_server_commits_comes_as_well(tmp_path):
    """Whoever committed: two servers on one store."""
    settings = lab_settings(tmp_path / "state", clock="real", demo=True)
    with open_lab(settings) as here, open_lab(settings) as there, following(here) as stream:
        for vm in ("FrontEnd_IN_0", "FrontEnd_IN_1", "BackEnd_IN_0", "BackEnd_IN_1"):
            for lab in (here, there):
                reply = lab.operate("demo", vm, "restart")
                assert reply.status in (202, 409)
        came = stream.records(4)

        assert came == here.history()[-4:]


def test_who_is_ahead_of_history_is_told_and_misses_nothing_from_now_on(demo):
    """A store that was put back from a backup gives out its revisions once more."""
    newest = demo.history()[-1]["revision"]
    with following(demo, last_id=newest + 50) as stream:
        assert stream.message() == {"retry": "1000", "id": str(newest)}
        assert stream.message() == {"event": "rewound", "data": f'{{"newest":{newest}}}'}
        demo.made("demo", "FrontEnd_IN_0", "restart")

        assert stream.record()["revision"] == newest + 1


def test_records_that_concern_no_scope_come_too(lab):
    """Hosts and tokens are changes like others."""
    with following(lab) as stream:
        lab.control("PUT", "/v1/hosts/rack-1", {"executor": "simulate"})

        assert stream.record()["scope"] == ""


@pytest.mark.parametrize(
    ("query", "expected"),
    [("?scope=WEB", ["declared", "scheduled"]), ("?what=scheduled", ["scheduled"]), ("?vm=db-1", ["declared"])],
)
def test_a_stream_takes_the_filters_of_history(lab, query, expected):
    """Scopes and VMs in any letter case."""
    with following(lab, query) as stream:
        lab.declare("db", "db-1", listening="always")
        lab.declare("web", "web-1", listening="always")
        lab.made("web", "web-1", "restart")

        assert [stream.record()["changes"][0]["what"] for _ in expected] == expected


def test_a_stream_says_that_it_is_still_there(demo):
    """A heartbeat when nothing happens, in real time, with the revision up to which was looked."""
    limited(demo, heartbeat_s=0.01)

    with following(demo) as stream:
        stream.message()
        beat = stream.message()

    assert beat == {"": "still here", "id": str(demo.history()[-1]["revision"])}
    assert StreamLimits().heartbeat_s == 15


# -- what is refused


@pytest.mark.parametrize(("query", "named"), [("?scop=x", "scop"), ("?limit=5", "limit"), ("?after=-1", "after")])
def test_what_is_not_understood_is_refused_by_name(shared_demo, query, named):
    """DESIGN §5: unknown fields are refused by name."""
    with following(shared_demo, query) as stream:
        assert stream.status == 400
        assert named in stream.response.read().decode()


@pytest.mark.parametrize("last_id", ["abc", "-1", "99999999999999999999", "1.5"])
def test_a_last_event_id_that_is_no_revision_is_refused(shared_demo, last_id):
    """It was not one of ours."""
    with following(shared_demo, last_id=last_id) as stream:
        assert stream.status == 400


def test_a_stream_needs_a_token(shared_demo):
    """SPEC §5: the control API has its own tokens."""
    with following(shared_demo, token="wrong") as stream:
        assert stream.status == 401


def test_so_many_streams_and_no_more(demo):
    """503 beyond the limit; one that ends makes room."""
    limited(demo, streams_max=2)

    with following(demo) as first, following(demo):
        first.message()
        with following(demo) as third:
            assert third.status == 503
            assert b"too_many_streams" in third.response.read()
    demo.run(until(lambda: demo.server.streams.open == 0))
    with following(demo) as fourth:
        assert fourth.status == 200


# -- how it ends


def test_a_reader_that_goes_leaves_nothing_behind(demo):
    """A closed connection ends its stream."""
    with following(demo) as stream:
        stream.message()
        assert demo.server.streams.open == 1

    demo.run(until(lambda: demo.server.streams.open == 0))


def test_a_reader_that_takes_nothing_is_cut_off(demo, caplog):
    """Nothing is buffered without limit: what is not taken in time is not waited for."""
    caplog.set_level(logging.WARNING)
    limited(demo, send_max_s=0.2)
    tags = {f"t{n}": "x" * 900 for n in range(60)}
    with socket.create_connection(demo.control_address) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.sendall(
            f"GET /v1/stream?after=0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {demo.server.token}\r\n\r\n".encode()
        )
        demo.run(until(lambda: demo.server.streams.open == 1))
        n = 0
        while demo.server.streams.open:
            n += 1
            demo.declare("big", {"name": f"vm-{n}", "tags": tags})

        assert n < 1000
    assert "too slow" in caplog.text
    assert "Exception in ASGI" not in caplog.text
    assert "without completing" not in caplog.text
    limited(demo)
    reason = {"event": "cut-off", "data": '{"reason":"You took nothing for 0.2 s; this goes on after your last id."}'}
    with following(demo, last_id=0) as again:
        assert [again.message() for _ in range(2)] == [{"retry": "1000", "id": "0"}, reason]
        assert again.record() == demo.history("after=0")[0]
    with following(demo, last_id=0) as once_more:
        assert [once_more.message().get("event") for _ in range(2)] == [None, "history"]
    assert "notbefore_streams_cut_off_total 1.0" in demo.control("GET", "/metrics").body.decode()


def test_of_readers_that_were_cut_off_so_many_are_remembered_and_no_more(demo):
    """A limit on everything; the oldest is forgotten first, and who begins anew hears nothing of it."""
    streams = demo.server.streams
    for n in range(CUT_OFF_REMEMBERED_MAX + 1):
        streams.cut(("ops", f"10.0.0.{n}", ""), "slow")

    assert streams.reason_for(("ops", "10.0.0.0", "")) == ""
    assert streams.reason_for(("ops", "10.0.0.1", "")) == "slow"
    assert streams.reason_for(("ops", "10.0.0.1", "")) == ""
    assert streams.cut_off == CUT_OFF_REMEMBERED_MAX + 1


def test_a_server_that_stops_ends_its_streams_with_a_whole_answer(tmp_path):
    """It does not wait for readers that would never go."""
    with open_lab(lab_settings(tmp_path / "state", demo=True)) as lab:
        stream = following(lab)
        follower = stream.__enter__()
        follower.message()

    assert follower.message() is None
    assert follower.response.isclosed()
    stream.__exit__(None, None, None)


def test_a_revoked_token_ends_its_stream(demo):
    """Issue: a revoked token is refused at once."""
    created = demo.control("POST", "/v1/tokens", {"name": "watcher", "role": "viewer"})
    assert created.status == 201, created

    with following(demo, token=created.json["secret"]) as stream:
        assert stream.message()
        assert demo.control("DELETE", "/v1/tokens/watcher").status == 204

        while stream.message() is not None:
            pass


def test_a_token_limited_to_scopes_sees_their_records_alone(lab):
    """Issue: a scope-limited operator cannot see another scope; fleet-wide records neither."""
    lab.declare("mine", "m-1", listening="always")
    secret = lab.control("POST", "/v1/tokens", {"name": "me", "role": "viewer", "scopes": ["MINE"]}).json["secret"]
    with following(lab, "?after=0", token=secret) as stream:
        lab.declare("theirs", "t-1")
        lab.control("PUT", "/v1/hosts/rack-1", {"executor": "simulate"})
        lab.made("mine", "m-1", "restart")
        came = stream.records(2)

    assert {record["scope"] for record in came} == {"mine"}
    assert lab.control("GET", "/v1/history", token=secret).json["history"] == came
    assert lab.control("GET", "/v1/history?scope=theirs", token=secret).json["history"] == []


# -- the client


def test_the_typed_client_finds_and_follows(demo):
    """`notbefore.control_client`: the same filters, and records as they come."""
    with ControlClient(demo.server.control_url, demo.server.token) as client:
        stream = client.follow(scope="DEMO", what="scheduled", after=0)
        demo.made("demo", "FrontEnd_IN_0", "restart")
        record = next(stream)
        stream.close()

        page = client.history(vm="frontend_in_0", by="admin", since="2000-01-01")

    assert record.changes[0].what == "scheduled"
    assert [one.revision for one in page.history] == [record.revision]
    assert not page.more
