"""Reading: what a tolerant client makes of a document, and of trouble on the way (SPEC §2; REFERENCE §2, §11)."""

import json
import socket
import threading
from datetime import UTC, datetime

import pytest
from odd_server import EVENT, OTHER, Act, OddServer, answer, document, event
from turned_clock import TurnedClock

from notbefore.client import EndpointError, Patience, ScheduledEvents
from notbefore.client.conversation import Conversation
from notbefore.client.document import moment, parsed_document
from notbefore.client.endpoint import checked_endpoint
from notbefore.client.steps import Answer

NOON = datetime(2026, 3, 2, 12, 15, tzinfo=UTC)


@pytest.fixture
def clock():
    return TurnedClock()


def asked(clock, *acts, **options):
    """What document() makes of these acts, and the questions it took."""
    with OddServer(*acts) as server, ScheduledEvents(server.url, clock=clock, **options) as client:
        try:
            return client.document(), server.questions
        except EndpointError as error:
            return error, server.questions


# -- tolerance


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Mon, 02 Mar 2026 12:15:00 GMT", NOON),
        ("Fri, 02 Mar 2026 12:15:00 GMT", NOON),
        ("2026-03-02T12:15:00Z", NOON),
        ("2026-03-02T13:15:00+01:00", NOON),
        ("2026-03-02 12:15:00", NOON),
        ("", None),
        ("soon", None),
        (None, None),
        (17, None),
        ("Mon, 99 Mar 2026 12:15:00 GMT", None),
    ],
)
def test_not_before_is_read_as_anybody_wrote_it(written, read):
    """Empty once Started; RFC 1123, the wrong weekday too; ISO 8601; what is no date is not "due now"."""
    assert moment(written) == read


def test_what_is_not_known_passes_through():
    """Unknown fields, types and statuses: as they came."""
    odd = event(EventType="Relocate", EventStatus="Postponed", Why={"because": [1]})

    (seen,) = parsed_document(json.dumps(document("12", odd)).encode()).events

    assert (seen.type, seen.status, seen.raw["Why"]) == ("Relocate", "Postponed", {"because": [1]})
    assert not seen.is_started


@pytest.mark.parametrize(("written", "read"), [(7, 7), ("7", 7), (None, None), ("x", None), (True, None), ([], None)])
def test_an_incarnation_is_a_number_or_nothing(written, read):
    """The first samples wrote it as a string [seed]; it is only compared for inequality."""
    assert parsed_document(json.dumps(document(written)).encode()).incarnation == read


def test_the_oldest_document_has_no_incarnation():
    """The preview of 2016 [real]."""
    assert parsed_document(b'{"Events":[]}').incarnation is None


@pytest.mark.parametrize("body", [b"", b"  \r\n"])
def test_an_empty_body_is_no_events(clock, body):
    """An operator saw it [real]; it is no error."""
    seen, _ = asked(clock, answer(200, body))

    assert (seen.incarnation, seen.events) == (None, ())


def test_entries_that_cannot_be_spoken_of_are_left_out(caplog):
    """No id, no object, the same id twice: the rest is read, the log says so."""
    whole = {"Events": [event(), {}, "x", {"EventId": 5}, event(EVENT.lower()), event(OTHER)]}

    seen = parsed_document(json.dumps(whole).encode())

    assert [one.id for one in seen.events] == [EVENT, OTHER]
    assert len(caplog.records) == 4


def test_fields_of_a_wrong_kind_break_nothing():
    """Strings where lists belong, words where numbers do."""
    odd = event(Resources="web-1", DurationInSeconds="?", Description=None, EventSource=3)

    (seen,) = parsed_document(json.dumps(document(1, odd)).encode()).events

    assert (seen.resources, seen.duration_s, seen.description, seen.source) == (("web-1",), -1, "", "3")


# -- how the question goes out


def test_every_question_carries_the_header_and_one_version(clock):
    """SPEC §2.1; and nobody else's header: nothing of a proxy."""
    _, (question,) = asked(clock, answer(200, document(1)), api_version="2017-08-01")

    assert question.target == "/metadata/scheduledevents?api-version=2017-08-01"
    assert question.headers["metadata"] == "true"
    assert "x-forwarded-for" not in question.headers


def test_proxies_are_ignored(clock, monkeypatch):
    """The endpoint is on the VM's own link, whatever the environment says of proxies."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")

    assert asked(clock, answer(200, document(1)))[0].incarnation == 1


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_refused(clock, status):
    """Nobody sends a VM elsewhere."""
    error, questions = asked(clock, answer(status, Location="http://127.0.0.1:1/"), answer(200, document(1)))

    assert str(status) in error.message
    assert len(questions) == 1


def test_one_connection_is_kept():
    """And used for what comes next, approvals too."""
    with OddServer(answer(200, document(1))) as server, ScheduledEvents(server.url) as client:
        client.document()
        client.approve(EVENT)
        client.document()

    assert [question.connection for question in server.questions] == [1, 1, 1]


def test_a_kept_connection_that_the_server_closed_is_opened_again(clock):
    """At once, without counting as trouble."""
    closing = answer(200, document(1))
    closing.closes = True
    with OddServer(closing) as server, ScheduledEvents(server.url, clock=clock) as client:
        assert [client.document().incarnation for _ in range(3)] == [1, 1, 1]

    assert clock.slept == []
    assert [question.connection for question in server.questions] == [1, 2, 3]


def test_a_closed_client_opens_again_when_it_is_asked():
    with OddServer(answer(200, document(1))) as server, ScheduledEvents(server.url) as client:
        client.document()
        client.close()
        client.document()

    assert [question.connection for question in server.questions] == [1, 2]


def test_two_threads_do_not_wait_for_each_other():
    """Who asks while the kept connection is busy gets one of its own."""
    acts = [Act(hangs=True), answer(200, document(1))]
    with OddServer(*acts) as server, ScheduledEvents(server.url, patience=Patience(first_s=20)) as client:
        watching = threading.Thread(target=lambda: next(client.watch(), None))
        watching.start()
        server.was_asked(1)
        assert client.document().incarnation == 1
        server.acts[:] = [answer(200, document(1, event()))]
        for line in list(server._lines):
            line.shutdown(socket.SHUT_RDWR)
        watching.join(20)

    assert not watching.is_alive()


def test_an_etag_is_given_back_and_304_is_the_same_document():
    """SPEC §2.3: If-None-Match gives 304 when it matches."""
    with (
        OddServer(answer(200, document(7, event()), ETag="7"), answer(304)) as server,
        ScheduledEvents(server.url) as client,
    ):
        first, second = client.document(), client.document()

    assert second == first
    assert server.questions[1].headers["if-none-match"] == "7"


def test_what_another_thread_forgets_is_still_known_to_who_asked_about_it():
    """One client serves several threads: trouble with an approval is none of a document's that is under way."""
    talk = Conversation(checked_endpoint("http://127.0.0.1:1"), "2020-07-01", Patience())
    shown = Answer(200, {"etag": "7"}, json.dumps(document(7, event())).encode(), 100.0, 100.0)

    first = ended(talk.document(100.0), shown)
    reading, approving = talk.document(101.0), talk.approval([EVENT], 101.0)
    assert next(reading).headers == {"If-None-Match": "7"}
    next(approving)
    approving.send(Answer(500, {}, b"", 101.0, 101.0))
    with pytest.raises(StopIteration) as read:
        reading.send(Answer(304, {}, b"", 101.0, 101.0))

    assert read.value.value is first


def ended(plan, answered):
    """What a plan comes to that asks once and is answered so."""
    next(plan)
    with pytest.raises(StopIteration) as end:
        plan.send(answered)
    return end.value.value


# -- patience


@pytest.mark.parametrize("status", [404, 408, 429, 500, 502, 503])
def test_what_passes_is_asked_again_a_few_times(clock, status):
    """Waits double, with some chance in them; in the end the answer is an error."""
    error, questions = asked(clock, answer(status, {"error": "Later"}))

    assert error.facts == {"status": status}
    assert len(questions) == 5
    assert clock.slept == [0.75, 1.5, 3.0, 6.0]


@pytest.mark.parametrize("status", [400, 401, 403, 405, 413, 418])
def test_what_stays_is_not_asked_again(clock, status):
    """400 is not retried, nor is any other refusal."""
    error, questions = asked(clock, answer(status, {"error": "No"}), answer(200, document(1)))

    assert f"answered {status}: No" in error.message
    assert len(questions) == 1


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("Later", "Later."),
        ("Not now!", "Not now!"),
        ("No\nCRITICAL all is lost\x1b[2J", "No CRITICAL all is lost [2J."),
        ("x" * 100_000, "x" * 200 + "..."),
        ({"code": 1}, '{"code": 1}.'),
        (" ", "it gave no reason."),
    ],
)
def test_what_the_endpoint_says_is_said_back_on_one_line(clock, told, said):
    """It ends up in somebody's log, at every try."""
    error, _ = asked(clock, answer(403, {"error": told}))

    assert error.message.endswith(f" answered 403: {said}")


def test_410_is_put_up_with_for_70_seconds(clock):
    """The service is being updated [real]."""
    error, _ = asked(clock, answer(410))

    assert error.facts == {"status": 410}
    assert 70 <= clock.steady_s() - 1000 < 80


def test_410_for_half_a_minute_passes(clock):
    updating = answer(410)
    updating.lasts = lambda: clock.steady_s() < 1030

    assert asked(clock, updating, answer(200, document(3)))[0].incarnation == 3


@pytest.mark.parametrize(
    ("headers", "slept"),
    [
        ({"Retry_After": "7"}, 7.5),
        ({"Retry_After": "86400"}, 120.5),
        ({"Retry_After": "soon"}, 0.75),
        ({"Retry_After": "Mon, 02 Mar 2026 12:00:09 GMT", "Date": "Mon, 02 Mar 2026 12:00:00 GMT"}, 9.5),
        ({"Retry_After": "Mon, 02 Mar 2026 12:00:09 GMT"}, 0.75),
    ],
)
def test_retry_after_is_waited_for_within_reason(clock, headers, slept):
    """429 (`Retry-After`): seconds or a date, at most two minutes."""
    asked(clock, answer(429, **headers), answer(200, document(1)))

    assert clock.slept == [slept]


def test_silence_is_asked_again(clock):
    """A hang costs the time for an answer, then another try on another connection."""
    seen, questions = asked(clock, Act(hangs=True), answer(200, document(1)), patience=Patience(first_s=1.0))

    assert seen.incarnation == 1
    assert [question.connection for question in questions] == [1, 2]


def test_an_answer_that_drips_has_no_more_time_than_another(clock):
    """The limit holds for the whole answer."""
    begun = Act(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{", hangs=True)

    error, _ = asked(clock, begun, patience=Patience(first_s=0.2, attempts=1))

    assert "did not answer in time (limit 0.2 s)" in error.message


def test_an_answer_that_never_ends_has_no_more_time_either(clock):
    """There is always something more to read: `100 Continue`, for ever."""
    endless = Act(repeats=b"HTTP/1.1 100 Continue\r\n\r\n" * 500)

    error, _ = asked(clock, endless, patience=Patience(first_s=0.2, attempts=1))

    assert "did not answer in time (limit 0.2 s)" in error.message


def test_the_first_answer_has_two_minutes_and_the_others_five_seconds():
    """The first call enables the service [seed]; after a day without a question it is the first again [real]."""
    patience = Patience()

    assert patience.for_answer_s(100.0, None) == 120
    assert patience.for_answer_s(100.0, 90.0) == 5
    assert patience.for_answer_s(90.0 + 24 * 3600, 90.0) == 120


def test_who_knows_its_name_still_waits_long_for_the_first_document():
    """The instance metadata answers at once; it is the first question for events that enables the service [seed]."""
    talk = Conversation(checked_endpoint("http://127.0.0.1:1"), "2020-07-01", Patience())

    def asked_and_answered(plan, body):
        ask = next(plan)
        with pytest.raises(StopIteration):
            plan.send(Answer(200, {}, body, 100.0, 100.0))
        return ask.timeout_s

    assert asked_and_answered(talk.name(100.0), b'{"compute":{"name":"web-1"}}') == 5
    assert asked_and_answered(talk.document(100.0), b'{"Events":[]}') == 120
    assert asked_and_answered(talk.document(100.0), b'{"Events":[]}') == 5
    assert asked_and_answered(talk.approval([EVENT], 100.0), b"") == 5


@pytest.mark.parametrize(
    ("act", "why"),
    [
        (Act(b"SSH-2.0-OpenSSH_9.2\r\n", closes=True), "no HTTP"),
        (Act(closes=True), "hung up without an answer"),
        (Act(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", closes=True), "cut short"),
        (Act(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{", closes=True), "cut short"),
        (Act(b"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n{"), "9999999 bytes"),
        (Act(b"HTTP/1.1 200 OK\r\n\r\n" + b" " * 5_000_000, closes=True), "more than 4194304 bytes"),
        (Act(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000 + b"\r\n\r\n", closes=True), "header line"),
    ],
)
def test_what_is_no_answer_has_a_reason(clock, act, why):
    """Bounded in size, and never an exception of another kind."""
    error, questions = asked(clock, act, patience=Patience(attempts=2))

    assert why in error.message
    assert len(questions) == 2


def test_where_nobody_is_nothing_is_asked_twice(clock):
    """A refused connection is no outage of a service, as far as one question can tell."""
    with pytest.raises(EndpointError, match=r"Nothing answers at .* \(connection refused\)"):
        ScheduledEvents("http://127.0.0.1:1", clock=clock).document()

    assert clock.slept == []


def test_304_to_a_plain_question_is_no_answer(clock):
    error, _ = asked(clock, answer(304))

    assert "304" in error.message


def test_credentials_are_refused_and_not_said_back():
    """The service has none; what is in a URL ends up in a log."""
    with pytest.raises(EndpointError, match="a user or a password") as refused:
        ScheduledEvents("http://me:secret@127.0.0.1:1")

    assert "secret" not in f"{refused.value.message} {refused.value.hint} {refused.value.facts}"


def test_the_environment_may_name_the_endpoint(monkeypatch):
    """An argument beats it; where neither is given the endpoint is discovered."""
    with OddServer(answer(200, document(4))) as server:
        monkeypatch.setenv("NOTBEFORE_ENDPOINT", server.url)
        assert ScheduledEvents().document().incarnation == 4
        with pytest.raises(EndpointError, match="not an endpoint"):
            ScheduledEvents("")
