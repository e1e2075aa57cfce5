"""Bodies nobody should send (SPEC §2.1, §2.4): refused in one line of JSON, changing nothing."""

import json

import pytest
from hostile_json import NEVER_APPROVING

from lab import start_requests

BODY_MAX_BYTES = 64 * 1024


def is_one_line_of_json(body):
    return body.isascii() and body.decode().isprintable() and isinstance(json.loads(body)["error"], str)


@pytest.mark.parametrize(
    "content_type", ["application/json", "application/x-www-form-urlencoded", "text/plain; charset=utf-16"]
)
@pytest.mark.parametrize("name", NEVER_APPROVING)
def test_a_hostile_body_is_refused_in_one_line_and_changes_nothing(target, name, content_type):
    """SPEC §2.4: 400 with `error` when JSON is bad, StartRequests is missing, empty, not a list, or an id is unknown."""
    headers = {"Metadata": "true", "Content-Type": content_type}

    reply = target.lab.ask(method="POST", body=NEVER_APPROVING[name], headers=headers)

    assert reply.status == 400
    assert is_one_line_of_json(reply.body)
    assert target.is_untouched()


@pytest.mark.parametrize("name", ["long EventId", "long EventId of NULs", "EventId with line ends"])
def test_an_error_is_a_sentence_however_long_the_id_was(target, name):
    """SPEC §2.1: … in one line a person can act on: an id of 60,000 letters is not said back."""
    reply = target.lab.ask(method="POST", body=NEVER_APPROVING[name])

    assert len(reply.body) < 1000


def test_one_bad_id_among_good_ones_changes_nothing(target):
    """SPEC §2.4: all or nothing, wherever the bad one stands and whatever it is."""
    for bad in (
        "",
        "\x00",
        "\ud800",
        "E" * 1000,
        target.event_id + "\n",
        " " + target.event_id,
        target.event_id + "\x00",
    ):
        for ids in ((target.event_id, bad), (bad, target.event_id)):
            assert target.lab.approve(*ids).status == 400
    assert target.is_untouched()


@pytest.mark.parametrize(
    ("names", "status"),
    [(("StartRequests", "startrequests"), 200), (("startrequests",), 400), (("STARTREQUESTS",), 400)],
)
def test_names_count_in_their_own_letter_case(own_target, names, status):
    """SPEC §2.4 writes StartRequests; another spelling is another name."""
    body = json.dumps({name: [{"EventId": own_target.event_id}] for name in names})

    assert own_target.lab.ask(method="POST", body=body).status == status


@pytest.mark.parametrize("last_is_good", [True, False])
@pytest.mark.parametrize("twice", ["StartRequests", "EventId"])
def test_of_a_name_given_twice_the_last_counts(own_target, twice, last_is_good):
    """RFC 8259 §4 leaves it open; here the last one counts, always, for the document and for an entry."""
    ids = ["nobody", own_target.event_id] if last_is_good else [own_target.event_id, "nobody"]
    if twice == "EventId":
        body = '{"StartRequests":[{"EventId":"first","EventId":"last"}]}'
    else:
        body = '{"StartRequests":[{"EventId":"first"}],"StartRequests":[{"EventId":"last"}]}'
    body = body.replace("first", ids[0]).replace("last", ids[1])

    assert own_target.lab.ask(method="POST", body=body).status == (200 if last_is_good else 400)
    assert own_target.is_approved() is last_is_good


@pytest.mark.parametrize("incarnation", ["1e999999999", "-1", "NaN", "9" * 4000, '"\\ud800"', "[[[]]]", "null", "{}"])
def test_whatever_stands_as_the_incarnation_is_ignored(own_target, incarnation):
    """SPEC §2.4: a DocumentIncarnation that is not the current one does not fail the request; approval is by EventId."""
    body = f'{{"DocumentIncarnation":{incarnation},' + start_requests(own_target.event_id)[1:]

    assert own_target.lab.ask(method="POST", body=body).status == 200
    assert own_target.is_approved()


@pytest.mark.parametrize(
    "encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]
)
def test_json_in_any_of_its_encodings_is_json(own_target, encoding):
    """SPEC §2.1: parsed as JSON whatever Content-Type says. PowerShell's redirections write UTF-16 with a mark."""
    reply = own_target.lab.ask(method="POST", body=start_requests(own_target.event_id).encode(encoding))

    assert reply.status == 200
    assert own_target.is_approved()


@pytest.mark.parametrize(("beyond", "status"), [(0, 200), (1, 413)])
@pytest.mark.parametrize("chunked", [False, True], ids=["a length", "chunks"])
def test_a_body_is_at_most_64_kib(own_target, beyond, status, chunked):
    """SPEC §2.1: ≤ 64 KiB; 413 when longer, counted to the byte, whichever way it comes."""
    approval = start_requests(own_target.event_id).encode()
    body = approval + b" " * (BODY_MAX_BYTES + beyond - len(approval))
    pieces = (body[n : n + 1000] for n in range(0, len(body), 1000))

    reply = own_target.lab.ask(method="POST", body=pieces if chunked else body)

    assert reply.status == status
    assert own_target.is_approved() is (status == 200)
