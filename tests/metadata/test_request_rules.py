"""SPEC §2.1, row by row, over real sockets: each rule answered as written, byte for byte where bytes are given."""

import json

import pytest

from lab import PATH, lab_settings, open_lab, start_requests

HEADER_BYTES = b'{ "error": "Bad request: . Required metadata header not specified" }'
FORWARDED_BYTES = b'{"error":"Bad request. X-Forwarded-For is not allowed: ask from the VM itself"}'
VERSION_BYTES = (
    b'{"error":"Bad request. api-version is invalid or was not specified in the request. For more information refer to'
    b' aka.ms/azureimds","newest-versions":["2020-07-01","2019-08-01","2019-04-01"]}'
)
LATEST_BYTES = VERSION_BYTES.replace(b"Bad request.", b"Bad request (latest is no longer supported).")


@pytest.fixture(scope="module")
def demo(shared_demo):
    """Nothing here changes an event, but for the tests that make their own."""
    return shared_demo


def answer(raw):
    head, _, body = raw.partition(b"\r\n\r\n")
    status, *headers = head.split(b"\r\n")
    return int(status.split()[1]), dict(line.lower().split(b": ", 1) for line in headers), body


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"BREW /metadata HTTP/1.1\r\nHost: a\r\n\r\n", id="unknown verb"),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
            id="conflicting lengths",
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            id="length and chunks",
        ),
        pytest.param(b"GET / HTTP/1.1\nHost: a\n\n", id="bare LF"),
        pytest.param(b"GET / HTTP/1.1\r\nMetadata : true\r\n\r\n", id="space before the colon"),
        pytest.param(b"hello\r\n\r\n", id="no HTTP at all"),
    ],
)
def test_what_is_not_http_is_answered_with_400_as_json_and_closed(demo, sent):
    """SPEC §2.1 HTTP syntax: llhttp's, strict; unknown verb, conflicting lengths, bare LF: 400, close."""
    status, headers, body = answer(demo.raw(sent))

    assert status == 400
    assert headers[b"connection"] == b"close"
    assert json.loads(body)["error"].startswith("Bad request. ")


@pytest.mark.parametrize("ending", [b"\r\n\r\n", b""], ids=["complete", "never ended"])
def test_a_head_over_16_kib_is_answered_with_431_and_closed(demo, ending):
    """SPEC §2.1 HTTP syntax: oversized head (16 KiB): 431, close."""
    sent = f"GET {PATH}?api-version=2020-07-01 HTTP/1.1\r\nMetadata: true\r\nX-Long: ".encode() + b"a" * 16400 + ending

    status, headers, body = answer(demo.raw(sent))

    assert status == 431
    assert headers[b"connection"] == b"close"
    assert "16384" in json.loads(body)["error"]


def test_a_head_just_under_16_kib_is_served(demo):
    """SPEC §2.1 HTTP syntax: the limit is 16 KiB, not less."""
    assert demo.ask(headers={"Metadata": "true", "X-Long": "a" * 16000}).status == 200


@pytest.mark.parametrize("headers", [{}, {"Metadata": "false"}, {"Metadata": ""}, {"Metadata": "1"}])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_without_the_metadata_header_the_real_bytes_are_answered(demo, headers, method):
    """SPEC §2.1: `Metadata: true` is needed on every request: 400 with those exact bytes, odd spaces included [real]."""
    reply = demo.ask(method=method, headers=headers)

    assert (reply.status, reply.body) == (400, HEADER_BYTES)


@pytest.mark.parametrize(("name", "value"), [("metadata", "TRUE"), ("METADATA", "True"), ("MetaData", "true")])
def test_the_metadata_header_counts_in_any_letter_case(demo, name, value):
    """SPEC §2.1: name and value in any letter case [seed, real]."""
    assert demo.ask(headers={name: value}).status == 200


def test_a_forwarded_request_is_refused(demo):
    """SPEC §2.1: X-Forwarded-For must be absent: a forwarded request is not from the VM [real]."""
    reply = demo.ask(headers={"Metadata": "true", "X-Forwarded-For": "10.0.0.1"})

    assert (reply.status, reply.body) == (400, FORWARDED_BYTES)


@pytest.mark.parametrize("path", [PATH, "/metadata/scheduledEvents", "/METADATA/SCHEDULEDEVENTS", PATH + "/"])
def test_the_path_counts_in_any_letter_case_and_with_one_trailing_slash(demo, path):
    """SPEC §2.1: letter case ignored (`/metadata/scheduledEvents` is used in the wild); one trailing slash tolerated."""
    assert demo.ask(path=path).status == 200


@pytest.mark.parametrize(
    "path", ["/", "/metadata", PATH + "//", PATH + "/x", "/metadata//scheduledevents", "/v1/scopes"]
)
def test_another_path_is_404_as_json(demo, path):
    """SPEC §2.1: 404 JSON `error`; the control API's paths are not here (SPEC §5)."""
    reply = demo.ask(path=path)

    assert reply.status == 404
    assert PATH in reply.json["error"]


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "PURGE"])
def test_another_known_verb_is_405_with_allow(demo, method):
    """SPEC §2.1: GET and POST; other known verbs: 405 with `Allow: GET, POST`."""
    reply = demo.ask(method=method)

    assert reply.status == 405
    assert reply.headers["allow"] == "GET, POST"
    assert "error" in reply.json


def test_head_is_405_without_a_body(demo):
    """SPEC §2.1: HEAD is a known verb that is neither GET nor POST."""
    reply = demo.ask(method="HEAD")

    assert (reply.status, reply.headers["allow"], reply.body) == (405, "GET, POST", b"")


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("", id="none"),
        pytest.param("api-version=", id="empty"),
        pytest.param("api-version=2020-07-02", id="unknown"),
        pytest.param("api-version=2021-12-13", id="one of the instance list"),
        pytest.param("api-version=2020-07-01&api-version=2020-07-01", id="twice"),
        pytest.param("apiversion=2020-07-01", id="misspelt"),
    ],
)
def test_a_missing_or_unknown_version_is_answered_with_the_given_bytes(demo, query):
    """SPEC §2.1: api-version is mandatory, once [seed]; one of the seven: else 400 with those bytes."""
    reply = demo.ask(query=query)

    assert (reply.status, reply.body) == (400, VERSION_BYTES)


@pytest.mark.parametrize("version", ["latest", "%7Blatest%7D", "{latest}", "Latest"])
def test_latest_is_refused_with_a_note(demo, version):
    """SPEC §2.1: `latest`, `{latest}`: refused as above with the note before the full stop of the first sentence [seed]."""
    reply = demo.ask(query=f"api-version={version}")

    assert (reply.status, reply.body) == (400, LATEST_BYTES)


def test_a_repeated_query_parameter_is_refused(demo):
    """SPEC §2.1: repeated query parameter: refused [real]."""
    reply = demo.ask(query="api-version=2020-07-01&format=json&format=json")

    assert reply.status == 400
    assert "more than once" in reply.json["error"]


@pytest.mark.parametrize(("value", "status"), [("json", 200), ("text", 400), ("", 400), ("xml", 400)])
def test_format_json_is_accepted_and_other_values_refused(demo, value, status):
    """SPEC §2.1: `format=json` accepted and ignored; other values refused: 400."""
    assert demo.ask(query=f"api-version=2020-07-01&format={value}").status == status


def test_an_unknown_caller_is_403_as_json(demo):
    """SPEC §2.1: the caller must be a VM known to the service (§5): 403 JSON `error`."""
    reply = demo.ask(source="127.9.9.9")

    assert reply.status == 403
    assert reply.headers["content-type"] == "application/json; charset=utf-8"
    assert "VM" in reply.json["error"]


def test_a_vm_that_asks_too_fast_gets_429_with_retry_after_and_others_do_not(tmp_path):
    """SPEC §2.1: 5 requests/s per VM by default; 429 with `Retry-After`; the limit is per VM."""
    settings = lab_settings(tmp_path, demo=True, rate_limit_per_s=5)
    with open_lab(settings) as lab:
        replies = [lab.ask() for _ in range(12)]

        assert [reply.status for reply in replies[:5]] == [200] * 5
        refused = [reply for reply in replies if reply.status == 429]
        assert refused
        assert refused[0].headers["retry-after"] == "1"
        assert "error" in refused[0].json
        assert lab.ask(source="127.0.0.2").status == 200


@pytest.mark.parametrize("content_type", ["application/x-www-form-urlencoded", "text/plain", "application/json", None])
def test_a_body_is_parsed_as_json_whatever_its_content_type(demo, content_type):
    """SPEC §2.1: parsed as JSON whatever Content-Type says (form-urlencoded, text/plain, json, none all occur) [real]."""
    event = demo.made("demo", "FrontEnd_IN_0", "restart")
    headers = {"Metadata": "true"} | ({"Content-Type": content_type} if content_type else {})

    reply = demo.ask(method="POST", body=start_requests(event["id"]), headers=headers)

    assert (reply.status, reply.body) == (200, b"")


@pytest.mark.parametrize(
    ("length", "status"),
    [pytest.param(64 * 1024, 400, id="at the limit"), pytest.param(64 * 1024 + 1, 413, id="over it")],
)
def test_a_body_of_64_kib_is_read_and_a_longer_one_refused(demo, length, status):
    """SPEC §2.1: body of POST ≤ 64 KiB: 400 when bad, 413 when longer."""
    reply = demo.ask(method="POST", body=b" " * length)

    assert reply.status == status
    assert "error" in reply.json


def test_a_chunked_body_over_64_kib_is_413(demo):
    """SPEC §2.1: the limit counts bytes that come, not bytes that are announced."""
    head = (
        f"POST {PATH}?api-version=2020-07-01 HTTP/1.1\r\nMetadata: true\r\n"
        "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    ).encode()
    chunk = b"4000\r\n" + b" " * 0x4000 + b"\r\n"

    status, _, body = answer(demo.raw(head + chunk * 5 + b"0\r\n\r\n"))

    assert status == 413
    assert "65536" in json.loads(body)["error"]


RULES_IN_ORDER = [
    ("header", {"headers": {"X-Forwarded-For": "a"}}, 400, b"metadata header"),
    ("forwarded", {"headers": {"Metadata": "true", "X-Forwarded-For": "a"}, "path": "/x"}, 400, b"X-Forwarded-For"),
    ("path", {"path": "/x", "method": "PUT", "query": ""}, 404, b"Not found"),
    ("method", {"method": "PUT", "query": "", "source": "127.9.9.9"}, 405, b"Method not allowed"),
    ("query", {"query": "", "source": "127.9.9.9", "method": "POST", "body": "x"}, 400, b"api-version"),
    ("caller", {"source": "127.9.9.9", "method": "POST", "body": "x" * 70000}, 403, b"Forbidden"),
]


@pytest.mark.parametrize(("rule", "wanted", "status", "said"), RULES_IN_ORDER, ids=[row[0] for row in RULES_IN_ORDER])
def test_the_first_broken_rule_answers(demo, rule, wanted, status, said):
    """SPEC §2.1: in this order: HTTP syntax, header, X-Forwarded-For, path, method, query, caller, rate, body."""
    reply = demo.ask(**wanted)

    assert reply.status == status
    assert said in reply.body


def test_rate_comes_before_body(tmp_path):
    """SPEC §2.1: in this order: … caller, rate, body."""
    settings = lab_settings(tmp_path, demo=True, rate_limit_per_s=1)
    with open_lab(settings) as lab:
        statuses = [lab.ask(method="POST", body="not json").status for _ in range(6)]

    assert statuses[0] == 400
    assert 429 in statuses
