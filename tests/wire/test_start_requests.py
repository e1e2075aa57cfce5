"""The body of an approval (SPEC §2.4): what is understood, and what is refused in one sentence."""

import json

import pytest
from wire_builders import EVENT

from notbefore.wire.approval import parse_start_requests, render_start_requests

SEEDS_CURL = b'{"DocumentIncarnation":"5", "StartRequests": [{"EventId": "f020ba2e-3bc0-4c40-a10b-86575a9eabd5"}]}'
EXPECTED = r'expected \{"StartRequests":\[\{"EventId":"\.\.\."\}\]\}'


def test_the_seeds_own_body_is_understood():
    """SPEC §2.4: a DocumentIncarnation beside it (number or string) is accepted [seed: the curl example]."""
    assert parse_start_requests(SEEDS_CURL) == ("f020ba2e-3bc0-4c40-a10b-86575a9eabd5",)


@pytest.mark.parametrize("incarnation", [5, "5", 0, None, [], {}])
def test_a_document_incarnation_beside_it_is_accepted_whatever_it_is(incarnation):
    """SPEC §2.4: accepted; one that is not the current one does not fail the request: approval is by EventId."""
    body = json.dumps({"DocumentIncarnation": incarnation, "StartRequests": [{"EventId": EVENT}]}).encode()

    assert parse_start_requests(body) == (EVENT,)


def test_several_ids_are_kept_in_order():
    """SPEC §2.4: `{"StartRequests":[{"EventId":"…"}, …]}`."""
    assert parse_start_requests(b'{"StartRequests":[{"EventId":"B"},{"EventId":"A","Extra":1}]}') == ("B", "A")


def test_an_id_is_passed_on_as_it_was_sent():
    """SPEC §2.3: accepted in any case; the core compares."""
    assert parse_start_requests(render_start_requests([EVENT.lower()])) == (EVENT.lower(),)


def test_what_the_client_writes_the_server_reads():
    """DESIGN §2: wire/ is shared by server and client so that they cannot drift."""
    assert json.loads(render_start_requests(["A", "B"])) == {"StartRequests": [{"EventId": "A"}, {"EventId": "B"}]}
    assert parse_start_requests(render_start_requests(["A", "B"])) == ("A", "B")


def test_utf_8_with_a_byte_order_mark_is_json_all_the_same():
    """SPEC §2.1: parsed as JSON whatever Content-Type says; PowerShell likes to begin with a mark."""
    assert parse_start_requests(b"\xef\xbb\xbf" + SEEDS_CURL) == ("f020ba2e-3bc0-4c40-a10b-86575a9eabd5",)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"StartRequests", b'{"StartRequests":[{"EventId":"A"}]', b"\xff\xfe\xfd", b"[" * 100_000, b"1" * 5000],
    ids=["empty", "cut", "text", "cut later", "no text", "too deep", "too long a number"],
)
def test_bad_json_is_refused(body):
    """SPEC §2.4: 400 with `error` when JSON is bad; one sentence a person can act on (§2.1)."""
    with pytest.raises(ValueError, match=EXPECTED) as refusal:
        parse_start_requests(body)

    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("body", [b"{}", b"[]", b"null", b'"StartRequests"', b"5", b'{"startrequests":[]}'])
def test_missing_start_requests_are_refused(body):
    """SPEC §2.4: 400 when `StartRequests` is missing."""
    with pytest.raises(ValueError, match="StartRequests is missing"):
        parse_start_requests(body)


@pytest.mark.parametrize("value", ["[]", "null", "{}", '"A"', "5", '{"EventId":"A"}', "true"])
def test_start_requests_that_are_empty_or_no_list_are_refused(value):
    """SPEC §2.4: 400 when it is empty, or not a list."""
    with pytest.raises(ValueError, match="must be a list with at least one EventId"):
        parse_start_requests(f'{{"StartRequests":{value}}}'.encode())


@pytest.mark.parametrize("entry", ["{}", "null", '"A"', '{"EventId":5}', '{"EventId":null}', '{"eventid":"A"}', "[]"])
def test_an_entry_without_an_id_is_refused(entry):
    """SPEC §2.4: each entry names an EventId; all or nothing."""
    with pytest.raises(ValueError, match='object with a string "EventId"'):
        parse_start_requests(f'{{"StartRequests":[{{"EventId":"A"}},{entry}]}}'.encode())


def test_up_to_a_hundred_ids_are_accepted():
    """SPEC §2.4: "Up to 100 ids"."""
    assert len(parse_start_requests(render_start_requests(["A"] * 100))) == 100


def test_more_than_a_hundred_ids_are_refused_with_the_limit():
    """SPEC §2.4: "Up to 100 ids"."""
    with pytest.raises(ValueError, match="has 101 entries; at most 100"):
        parse_start_requests(render_start_requests(["A"] * 101))
