"""The control API's bodies (SPEC §5), sent by somebody with the token and no sense: refused as JSON, never a breakdown."""

import json

import pytest
from hostile_json import NEVER_APPROVING

KEYS = 100_000
DEEP = 100_000
WIDER = {
    "100,000 keys": b"{" + b",".join(b'"k%d":1' % n for n in range(KEYS // 2)) + b"}",
    "100,000 tags": b'{"vms":[{"name":"a","tags":{' + b",".join(b'"%x":""' % n for n in range(KEYS)) + b"}}]}",
    "very deep arrays": b"[" * DEEP + b"]" * DEEP,
    "very deep objects": b'{"settings":' * (DEEP // 2) + b"{}" + b"}" * (DEEP // 2),
    "a million digits": b'{"settings":{"recovery_s":' + b"9" * 1_000_000 + b"}}",
    "an infinite number": b'{"settings":{"recovery_s":1e999999}}',
    "NaN as a number": b'{"settings":{"recovery_s":NaN}}',
    "a name with NUL": b'{"vms":[{"name":"a\\u0000b"}]}',
    "a name with a line end": b'{"vms":[{"name":"a\\nb"}]}',
    "a name half a character": b'{"vms":[{"name":"\\ud800"}]}',
    "an address half a character": b'{"vms":[{"name":"a","addresses":["\\udfff"]}]}',
    "a tag half a character": b'{"vms":[{"name":"a","tags":{"\\ud800":"\\udfff"}}]}',
    "a long name": b'{"vms":[{"name":"' + b"n" * 900_000 + b'"}]}',
    "a long word": b'{"kind":"' + b"n" * 900_000 + b'"}',
    "too many VMs": b'{"vms":[' + b",".join(b'{"name":"%d"}' % n for n in range(40_000)) + b"]}",
    "an unknown name": b'{"\\u0000\\n\\"":1}',
}
TOO_LONG = b'{"kind":"' + b"n" * 1024 * 1024 + b'"}'
PLACES = ["PUT /v1/scopes/hostile", "POST /v1/scopes/demo/vms/FrontEnd_IN_1/restart", "POST /v1/clock"]


@pytest.fixture(scope="module")
def demo(shared_demo):
    return shared_demo


def send(lab, place, body):
    method, path = place.split()
    headers = {"Authorization": f"Bearer {lab.server.token}", "Content-Type": "application/json"}
    return lab.request(lab.control_address, method, path, body, headers)


def scopes_and_events(lab):
    return [lab.control("GET", path).json for path in ("/v1/scopes", "/v1/events", "/v1/clock")]


@pytest.mark.parametrize("place", PLACES)
def test_a_hostile_body_is_refused_as_json_and_changes_nothing(demo, place):
    """DESIGN §5: one shape of error for whatever was wrong with a body."""
    before = scopes_and_events(demo)
    for name, body in {**NEVER_APPROVING, **WIDER}.items():
        if not body.strip():
            continue  # No body is a body with nothing in it, and asks for the defaults.
        reply = send(demo, place, body)

        assert 400 <= reply.status < 500, name
        assert set(reply.json["error"]) == {"code", "message", "hint", "facts"}, name
        assert b"\n" not in reply.body, name
    assert scopes_and_events(demo) == before


def test_a_body_over_a_mebibyte_is_refused(demo):
    """A limit on everything: 1 MiB for the control API."""
    assert send(demo, PLACES[0], TOO_LONG).status == 413


def test_a_name_given_twice_counts_as_its_last(demo):
    """RFC 8259 §4 leaves it open; here the last one counts."""
    reply = send(demo, "PUT /v1/scopes/twice", b'{"kind":"standalone","kind":"availability-set"}')

    assert reply.json["kind"] == "availability-set"
    assert demo.control("DELETE", "/v1/scopes/twice").status in (200, 204)


@pytest.mark.parametrize("token", ["", "x", "\xff", "a" * 10_000, "' or 1=1 --"])
def test_without_the_token_no_body_is_looked_at(demo, token):
    """The control API never answers without a token."""
    reply = demo.control("PUT", "/v1/scopes/hostile", {"kind": "standalone"}, token=token)

    assert reply.status == 401
    assert json.loads(reply.body)["error"]["code"] == "unauthorized"
