"""ask and the client: what the endpoint says, asked as a VM asks it (SPEC §2, DESIGN §7)."""

import json
import signal
from datetime import UTC, datetime

import pytest
from cli_fakes import EVENT, OTHER_EVENT, document, shown_to_vm
from cli_runs import PROGRAM, ended

from notbefore.client import Document, EndpointError, EventView, ScheduledEvents

PATH = "/metadata/scheduledevents"
QUARTER_PAST = datetime(2026, 3, 2, 12, 15, tzinfo=UTC)


def test_a_document_is_read_whole(server):
    """The incarnation, the events, and the text as it was received."""
    server.answers("GET", PATH, document(shown_to_vm()))

    seen = ScheduledEvents(server.url).document()

    assert seen == Document(
        incarnation=7,
        events=(
            EventView(
                id=EVENT,
                status="Scheduled",
                type="Reboot",
                resources=("web-1", "web-2"),
                not_before=QUARTER_PAST,
                description="Host server is undergoing maintenance.",
                source="Platform",
                duration_s=9,
            ),
        ),
        raw=json.dumps(document(shown_to_vm())),
    )


def test_every_request_carries_the_header_and_one_version(server):
    """SPEC §2.1: `Metadata: true` on every request, api-version mandatory, once."""
    server.answers("GET", PATH, document())
    server.answers("POST", PATH, b"")
    service = ScheduledEvents(server.url, api_version="2017-08-01")

    service.document()
    service.approve(EVENT)

    assert [request.headers["metadata"] for request in server.requests] == ["true", "true"]
    assert [request.query for request in server.requests] == [{"api-version": ["2017-08-01"]}] * 2


def test_the_newest_version_is_spoken_by_default(server):
    """SPEC §2.2: the last of the seven."""
    server.answers("GET", PATH, document())

    ScheduledEvents(server.url).document()

    assert server.requests[0].query == {"api-version": ["2020-07-01"]}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2026-03-02T12:15:00Z", QUARTER_PAST),
        ("Mon, 02 Mar 2026 12:15:00 GMT", QUARTER_PAST),
        ("", None),
    ],
)
def test_not_before_is_read_as_every_version_writes_it(server, written, read):
    """SPEC §2.2: ISO 8601 in 2017-03-01, RFC 1123 from then on; §2.3: empty once Started."""
    server.answers("GET", PATH, document(shown_to_vm(NotBefore=written)))

    assert ScheduledEvents(server.url).document().events[0].not_before == read


def test_fields_that_a_version_does_not_know_are_nothing(server):
    """SPEC §2.2: a field that a version does not know is left out, not sent empty."""
    known = {key: value for key, value in shown_to_vm().items() if key not in ("Description", "EventSource")}
    del known["DurationInSeconds"]
    server.answers("GET", PATH, document(known))

    (seen,) = ScheduledEvents(server.url).document().events

    assert (seen.description, seen.source, seen.duration_s) == ("", "", -1)


def test_approving_posts_start_requests(server):
    """SPEC §2.4: POST {"StartRequests":[{"EventId":"…"}, …]}; 200 with an empty body."""
    server.answers("POST", PATH, b"")

    ScheduledEvents(server.url).approve(EVENT, OTHER_EVENT)

    assert server.requests[0].body == {"StartRequests": [{"EventId": EVENT}, {"EventId": OTHER_EVENT}]}


def test_approving_nothing_asks_nothing(server):
    """SPEC §2.4: an empty list would be refused; there is nothing to say."""
    ScheduledEvents(server.url).approve()

    assert server.requests == []


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}", b'{"Events":null}', b"\xff", b"[" * 100_000])
def test_an_answer_that_is_no_document_is_an_endpoint_error(server, body):
    """Whatever goes wrong is one exception with a sentence."""
    server.answers("GET", PATH, body)

    with pytest.raises(EndpointError, match="no document"):
        ScheduledEvents(server.url).document()


@pytest.mark.parametrize("endpoint", ["", "127.0.0.1", "https://127.0.0.1", "ftp://127.0.0.1", "http://127.0.0.1:x"])
def test_what_is_no_endpoint_is_refused_at_once(endpoint):
    """The service is plain HTTP on an address."""
    with pytest.raises(EndpointError, match="not an endpoint"):
        ScheduledEvents(endpoint)


def test_a_redirect_is_not_followed(server):
    """The endpoint is on the VM's own link; nobody sends the VM elsewhere."""
    server.answers("GET", PATH, b"", status=302, Location=f"{server.url}/elsewhere")

    with pytest.raises(EndpointError, match="302"):
        ScheduledEvents(server.url).document()

    assert len(server.requests) == 1


def test_ask_shows_the_events_and_the_incarnation(cli, server):
    """As a VM: what does the endpoint say."""
    server.answers("GET", PATH, document(shown_to_vm(), shown_to_vm(EventId=OTHER_EVENT, NotBefore="")))

    ran = cli("ask")

    assert ran.code == 0
    assert ran.lines[0].split("  ")[0] == "ID"
    assert ran.lines[1].split("  ")[0] == EVENT
    assert "2026-03-02T12:15:00Z  web-1, web-2  Platform  9 s" in ran.lines[1]
    assert ran.lines[3] == "incarnation 7"


def test_ask_says_when_nothing_is_scheduled(cli, server):
    """SPEC §2.3: an empty Events array means nothing is scheduled."""
    server.answers("GET", PATH, document())

    assert cli("ask").lines == ["No events are scheduled.", "incarnation 7"]


def test_ask_prints_the_document_as_received_in_json(cli, server):
    """Byte for byte what the endpoint said, unknown fields included."""
    text = '{"DocumentIncarnation":7,"Events":[],"Later":"ü"}'
    server.answers("GET", PATH, text.encode())

    assert cli("ask", "--json").out == text + "\n"


def test_ask_approves_before_it_asks(cli, server):
    """What it shows is where the events stand after its word."""
    server.answers("POST", PATH, b"")
    server.answers("GET", PATH, document(shown_to_vm(EventStatus="Started", NotBefore="")))

    ran = cli("ask", "--approve", EVENT, "--approve", OTHER_EVENT)

    assert [request.method for request in server.requests] == ["POST", "GET"]
    assert len(server.requests[0].body["StartRequests"]) == 2
    assert "Started" in ran.out


def test_ask_says_why_the_endpoint_refused(cli, server):
    """SPEC §2.1: every error is one line a person can act on, so it is passed on."""
    server.answers("GET", PATH, {"error": "Forbidden. Who are you"}, status=403)

    cli("ask").is_refused_with(server.url, "403: Forbidden. Who are you", "hint: ")


def test_ask_takes_endpoint_and_version_and_address_from_its_options(cli, server):
    """--endpoint beats the environment; --from is the address it asks from."""
    server.answers("GET", PATH, document())
    args = ("--endpoint", server.url, "--api-version", "2017-03-01", "--from", "127.0.0.7")

    assert cli("ask", *args, NOTBEFORE_ENDPOINT="http://127.0.0.1:1").code == 0
    assert server.requests[0].query == {"api-version": ["2017-03-01"]}


def test_ask_says_when_nobody_answers(cli):
    """A sentence with the address and the reason."""
    cli("ask", "--endpoint", "http://127.0.0.1:1").is_refused_with("http://127.0.0.1:1", "connection refused")


def test_ask_says_that_an_event_is_not_there(cli, server):
    """A refused approval is looked into: what is gone is not approved, and a person is told."""
    server.answers("POST", PATH, {"error": "Bad request. No current event has the id"}, status=400)
    server.answers("GET", PATH, document())

    cli("ask", "--approve", EVENT).is_refused_with(f"No current event has the id '{EVENT}'")


def test_ask_finds_the_endpoint_or_is_told_it(cli, server):
    """Not both."""
    cli("ask", "--discover", "--endpoint", server.url).is_wrong_usage_of("--discover")


def test_ask_says_what_went_wrong_on_its_way(cli, server):
    """A trouble that passed is no failure, and is said on stderr."""
    server.answers("GET", PATH, b"", document())
    server.answers_with_status("GET", PATH, 500, 200)

    ran = cli("ask")

    assert ran.code == 0
    assert "answered 500" in ran.err
    assert ran.lines == ["No events are scheduled.", "incarnation 7"]


def test_ask_watches_until_it_is_interrupted(cli, server):
    """A line for each change; what ended without a start says so; an interrupt is its end."""
    scheduled = shown_to_vm()
    server.answers("GET", PATH, document(scheduled), document(scheduled), document())

    with cli.process(PROGRAM, "ask", "--watch") as watching:
        appeared, over = watching.stdout.readline(), watching.stdout.readline()
        watching.send_signal(signal.SIGINT)
        assert ended(watching).code == 130

    assert appeared.startswith(f"appeared  {EVENT}  Reboot  2026-03-02T12:15:00Z  web-1, web-2")
    assert over.startswith(f"ended  {EVENT}")
    assert over.endswith("(never seen as Started)\n")


def test_ask_watches_for_programs(cli, server):
    """One JSON object in a line."""
    server.answers("GET", PATH, document(shown_to_vm(EventStatus="Started", NotBefore="")))

    with cli.process(PROGRAM, "ask", "--watch", "--json") as watching:
        told = [json.loads(watching.stdout.readline()) for _ in range(2)]
        watching.send_signal(signal.SIGINT)
        ended(watching)

    assert [one["change"] for one in told] == ["appeared", "started"]
    assert told[1]["event"]["EventId"] == EVENT
