"""`notbefore replay` as people run it: what was shown is shown again, to whoever asks as a VM asks (SPEC §2)."""

import json
import re
import signal
import socket
import threading
from email.utils import parsedate_to_datetime

import pytest
from flow_runs import (
    BEGAN,
    EMPTY,
    EVENT,
    HEADER,
    OVER,
    PATH,
    REBOOT,
    SCHEDULED,
    STARTED,
    ask,
    document,
    event,
    ran,
    replaying,
    shown,
    start_requests,
    written,
)

from notbefore.client import ScheduledEvents


def asked_when(replay, line):
    """Show the next line, and ask once it is shown."""
    replay.press_enter()
    replay.until(f"+{line['t']} s")
    return ask(replay.url)


# -- what was shown


def test_what_was_recorded_is_served_byte_for_byte(tmp_path):
    """With --verbatim to the last byte: white space, key order and what is no ASCII included."""
    odd = shown(9, '{ "Events" : [ ],\n "DocumentIncarnation":7, "Ü": "é\\u00e9" }\n', '"seven"')
    with replaying(written(tmp_path, HEADER, EMPTY, odd), "--step", "--verbatim") as replay:
        first = ask(replay.url)
        second = asked_when(replay, odd)

    assert (first.status, first.body.decode()) == (200, EMPTY["body"])
    assert (second.body.decode(), second.headers["etag"]) == (odd["body"], '"seven"')
    assert second.headers["content-type"] == "application/json"


def test_the_recorded_number_is_the_etag(tmp_path):
    """SPEC §2.3: If-None-Match with the number gives 304, with another the document."""
    with replaying(written(tmp_path, *REBOOT), "--step") as replay:
        known, other = ask(replay.url, If_None_Match='"1"'), ask(replay.url, If_None_Match="2")

    assert (known.status, known.headers["etag"], known.body) == (304, "1", b"")
    assert other.status == 200


def test_where_no_etag_was_recorded_the_documents_number_is_it(tmp_path):
    with replaying(written(tmp_path, HEADER, shown(0, document(32))), "--step") as replay:
        assert ask(replay.url).headers["etag"] == "32"
        assert ask(replay.url, If_None_Match="32").status == 304


def test_a_client_that_watches_sees_what_the_recorded_vm_saw(tmp_path):
    """Our own client: appeared, started, ended, as it happened then."""
    with replaying(written(tmp_path, *REBOOT), "--step") as replay, ScheduledEvents(replay.url) as client:
        changes = client.watch()
        kinds = []
        for line in (SCHEDULED, STARTED, OVER):
            replay.press_enter()
            replay.until(f"+{line['t']} s")
            change = next(changes)
            kinds.append((change.kind, change.event.id))

    assert kinds == [("appeared", EVENT), ("started", EVENT), ("ended", EVENT)]


def test_a_question_that_waits_is_answered_by_the_next_line(tmp_path):
    """SPEC §2.6: held until what is shown changes."""
    with replaying(written(tmp_path, *REBOOT), "--step") as replay:
        answers = []
        waits = threading.Thread(
            target=lambda: answers.append(ask(replay.url, If_None_Match="1", Prefer="wait=60")), daemon=True
        )
        waits.start()
        replay.press_enter()
        waits.join(60)

    assert (answers[0].status, answers[0].headers["etag"]) == (200, "2")


def test_the_rules_of_requests_are_the_services_own(tmp_path):
    """SPEC §2.1: header, X-Forwarded-For, path, method, version, and what is no HTTP."""
    with replaying(written(tmp_path, *REBOOT), "--step") as replay:
        statuses = [
            ask(replay.url, Metadata="false").status,
            ask(replay.url, X_Forwarded_For="10.0.0.1").status,
            ask(replay.url, path="/metadata/nothing").status,
            ask(replay.url, "DELETE").status,
            ask(replay.url, version="2015-01-01").status,
        ]
        host, _, port = replay.url.removeprefix("http://").rpartition(":")
        with socket.create_connection((host, int(port)), timeout=20) as line:
            line.sendall(b"nonsense\r\n\r\n")
            nonsense = line.recv(65536)

    assert statuses == [400, 400, 404, 405, 400]
    assert nonsense.startswith(b"HTTP/1.1 400")


def test_another_version_gets_the_recorded_bytes_and_is_warned_of_once(tmp_path):
    """What the endpoint would have said in another version nobody knows; so it is not invented."""
    with replaying(written(tmp_path, *REBOOT), "--step") as replay:
        bodies = {ask(replay.url, version=version).body for version in ("2020-07-01", "2017-03-01", "2017-03-01")}
        _, _, err = replay.told()

    assert bodies == {EMPTY["body"].encode()}
    assert err.count("asked in version 2017-03-01 for what was recorded in 2020-07-01") == 1


def test_the_recorded_name_is_told_and_nothing_else(tmp_path):
    """SPEC §2.7: who asks who it is gets the recorded VM's name."""
    with replaying(written(tmp_path, *REBOOT), "--step") as replay:
        name = ask(replay.url, path="/metadata/instance/compute/name", version="2021-02-01&format=text")
        whole = ask(replay.url, path="/metadata/instance", version="2021-02-01")
        with ScheduledEvents(replay.url) as client:
            whoami = client.whoami()

    assert (name.body, json.loads(whole.body), whoami) == (b"web-1", {"compute": {"name": "web-1"}}, "web-1")


def test_where_no_name_was_recorded_none_is_told(tmp_path):
    nameless = {key: value for key, value in HEADER.items() if key != "vm"}
    with replaying(written(tmp_path, nameless, EMPTY), "--step") as replay:
        assert ask(replay.url, path="/metadata/instance", version="2021-02-01").status == 404


# -- NotBefore


def not_before(reply):
    return json.loads(reply.body)["Events"][0]["NotBefore"]


def test_not_before_is_moved_so_that_the_notice_can_be_counted_down(tmp_path):
    """At rate 1 it lies as far behind the replay's beginning as it lay behind the recording's: here 15 minutes."""
    with replaying(written(tmp_path, HEADER, shown(0, document(2, event()), "2")), "--step") as replay:
        reply = ask(replay.url)
        at = parsedate_to_datetime(not_before(reply))
        left_s = (at - parsedate_to_datetime(reply.headers["date"])).total_seconds()

    assert not_before(reply).endswith(" GMT")
    # Whatever the machine took to start and to answer is gone from it, and nothing is added but the second's rest.
    assert 0 < left_s <= 15 * 60 + 1


def test_verbatim_leaves_not_before_alone(tmp_path):
    with replaying(written(tmp_path, HEADER, shown(0, document(2, event()), "2")), "--step", "--verbatim") as replay:
        assert not_before(ask(replay.url)) == "Mon, 02 Mar 2026 12:15:00 GMT"


# -- approvals


def test_an_approval_is_checked_told_and_changes_nothing(tmp_path):
    """The past does not listen: 200 for what is shown now, and the flow goes on as it did."""
    with replaying(written(tmp_path, *REBOOT), "--step") as replay:
        before = asked_when(replay, SCHEDULED)
        approved = ask(replay.url, "POST", start_requests(EVENT.lower()))
        line = replay.until("approved")
        after = ask(replay.url)

    assert (approved.status, approved.body) == (200, b"")
    assert re.match(rf"\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\dZ  approved {EVENT.lower()}", line)
    assert after.body == before.body


@pytest.mark.parametrize(
    "body", [start_requests(EVENT), start_requests(), "{", "[]", '{"StartRequests":[{"EventId":3}]}']
)
def test_an_approval_of_what_is_not_shown_or_none_is_refused(tmp_path, body):
    """SPEC §2.4: 400 with an error."""
    with replaying(written(tmp_path, *REBOOT), "--step") as replay:
        reply = ask(replay.url, "POST", body)

    assert reply.status == 400
    assert "error" in json.loads(reply.body)


# -- trouble


def test_recorded_trouble_is_served_as_it_was(tmp_path):
    """A status with its body, garbage, nothing at all; to approvals as well."""
    updating = shown(1, '{"error":"updating"}', status=410, retry_after="7")
    garbage = {"t": 2, "status": 200, "content_type": "text/html", "body_base64": "PGh0bWw+/w=="}
    odd = shown(3, "", status=520)
    with replaying(written(tmp_path, HEADER, EMPTY, updating, garbage, odd, SCHEDULED), "--step") as replay:
        gone = asked_when(replay, updating)
        refused = ask(replay.url, "POST", start_requests(EVENT))
        html = asked_when(replay, garbage)
        unheard_of = asked_when(replay, odd)
        fine = asked_when(replay, SCHEDULED)

    assert (gone.status, gone.body, gone.headers["retry-after"]) == (410, b'{"error":"updating"}', "7")
    assert refused.status == 410
    assert (html.status, html.headers["content-type"], html.body) == (200, "text/html", b"<html>\xff")
    assert (unheard_of.status, fine.status) == (520, 200)


@pytest.mark.parametrize("error", ["broken", "unreachable"])
def test_where_no_answer_came_the_connection_is_cut(tmp_path, error):
    """Now as then there is no answer, to reading and to approving; what comes afterwards is answered."""
    lost = {"t": 1, "error": error}
    with replaying(written(tmp_path, HEADER, EMPTY, lost, SCHEDULED), "--step") as replay:
        replay.press_enter()
        replay.until(f"no answer: {error}")
        for method, body in (("GET", None), ("POST", start_requests(EVENT))):
            with pytest.raises(ConnectionError):
                ask(replay.url, method, body)
        fine = asked_when(replay, SCHEDULED)
        _, _, err = replay.told()

    assert fine.status == 200
    assert err == ""


def test_who_waits_when_a_server_breaks_down_loses_the_answer(tmp_path):
    """A question that is held is cut with the others."""
    with replaying(written(tmp_path, HEADER, EMPTY, {"t": 1, "error": "broken"}), "--step") as replay:
        host, _, port = replay.url.removeprefix("http://").rpartition(":")
        head = f"GET {PATH}?api-version=2020-07-01 HTTP/1.1\r\nHost: a\r\nMetadata: true\r\n"
        with socket.create_connection((host, int(port)), timeout=60) as line:
            line.sendall(f"{head}If-None-Match: 1\r\nPrefer: wait=60\r\n\r\n".encode())
            replay.press_enter()
            received = line.recv(65536)

    assert received == b""


def test_recorded_silence_is_silence_until_the_connection_is_cut(tmp_path):
    """No answer for some seconds, however it is asked; and no longer than that."""
    with replaying(written(tmp_path, HEADER, EMPTY, {"t": 1, "error": "timeout"}), "--rate", "60", "--stay") as replay:
        replay.until("no answer: timeout")
        for headers in ({}, {"If_None_Match": "1", "Prefer": "wait=60"}):
            with pytest.raises(ConnectionError):
                ask(replay.url, **headers)


def test_it_stops_at_once_although_somebody_is_kept_in_silence(tmp_path):
    with replaying(written(tmp_path, HEADER, {"t": 0, "error": "timeout"}, OVER), "--step") as replay:
        host, _, port = replay.url.removeprefix("http://").rpartition(":")
        with socket.create_connection((host, int(port)), timeout=60) as line:
            line.sendall(f"GET {PATH}?api-version=2020-07-01 HTTP/1.1\r\nHost: a\r\nMetadata: true\r\n\r\n".encode())
            code, _, err = replay.told()

    assert (code, err) == (0, "")


# -- how it goes on, and how it ends


def test_it_goes_through_the_flow_at_a_rate_and_ends_with_it(tmp_path):
    """Exit code 0; a quarter of an hour in moments."""
    with replaying(written(tmp_path, *REBOOT, {"t": 1000, "end": True}), "--rate", "86400") as replay:
        code, out, err = replay.ended()

    assert (code, err) == (0, "")
    assert re.findall(r"\+(\d+) s", out) == ["5", "905", "935"]
    assert out.splitlines()[-1].endswith("the recording is over")


def test_it_stays_when_told_to_and_ends_when_told_to(tmp_path):
    """--stay keeps the last line; SIGTERM is how it ends then, with exit code 0."""
    with replaying(written(tmp_path, *REBOOT), "--rate", "86400", "--stay") as replay:
        replay.until(f"+{OVER['t']} s")
        last = ask(replay.url)
        code, _, err = replay.told(signal.SIGTERM)

    assert last.body.decode() == OVER["body"]
    assert (code, err) == (0, "")


def test_who_presses_enter_no_more_ends_a_stepped_replay(tmp_path):
    """All that was typed still counts."""
    with replaying(written(tmp_path, *REBOOT), "--step") as replay:
        replay.process.stdin.write("\n\n")
        replay.process.stdin.close()
        replay.process.stdin = None
        code, out, _ = replay.ended()

    assert code == 0
    assert re.findall(r"\+(\d+) s", out) == ["5", "905"]


def test_it_says_whose_flow_it_is_and_how_long_it_lasts(tmp_path):
    with replaying(written(tmp_path, *REBOOT, {"t": 1000, "end": True}), "--step") as replay:
        said = "".join(replay.said)

    assert f"recorded  {BEGAN.replace('.000', '')} of web-1, version 2020-07-01" in said
    assert "4 lines in 1000 s" in said


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("--metadata", "0.0.0.0:0"), 1, "may not listen on 0.0.0.0"),
        (("--metadata", "8.8.8.8:80"), 1, "may not listen on 8.8.8.8"),
        (("--metadata", "here"), 2, "is not an address"),
        (("--rate", "0"), 2, "--rate"),
        (("--rate", "nan"), 2, "--rate"),
        (("--rate", "86401"), 2, "--rate"),
        (("--step", "--rate", "2"), 2, "--step"),
    ],
)
def test_it_listens_where_serve_would_and_goes_as_fast_as_it_can(tmp_path, words, code, sentence):
    """SPEC §2: never on a routable address."""
    ended = ran("replay", str(written(tmp_path, *REBOOT)), *words)

    assert ended[0] == code
    assert sentence in ended[2]


def test_a_taken_address_is_said(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, out, err = ran(
            "replay", str(written(tmp_path, *REBOOT)), "--metadata", f"127.0.0.1:{taken.getsockname()[1]}"
        )

    assert (code, out) == (1, "")
    assert "Cannot listen on" in err
