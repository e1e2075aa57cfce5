"""POSTs that have to be refused, and so change nothing (SPEC §2.1, §2.4)."""

import json

from notbefore.conformance import expect
from notbefore.conformance.check import Chapter
from notbefore.conformance.exchange import METADATA
from notbefore.conformance.subject import UNKNOWN_ID, Subject

BODY_MAX = 64 * 1024
IDS_MAX = 100
WRONG = "400 with `error` when JSON is bad, `StartRequests` is missing, empty, not a list, or an id is unknown"
CONTENT_TYPES = ("application/x-www-form-urlencoded", "text/plain", "application/json")

chapter = Chapter("2.4")


def refused(subject: Subject, body: bytes, what: str) -> None:
    expect.error(subject.post(body), 400, what)


@chapter.check(WRONG)
def empty_body(subject: Subject) -> None:
    refused(subject, b"", "a POST without a body")


@chapter.check(WRONG)
def bad_json(subject: Subject) -> None:
    for body in (b"{", b"StartRequests=1", b"\xff\xfe", b"[]", b"null", b'"x"'):
        refused(subject, body, f"the body {body!r}")


@chapter.check(WRONG)
def start_requests_missing(subject: Subject) -> None:
    for body in (b"{}", b'{"DocumentIncarnation":1}'):
        refused(subject, body, f"the body {body!r}")


@chapter.check(WRONG)
def start_requests_of_another_kind(subject: Subject) -> None:
    for value in ("[]", "{}", "null", '"x"', "[1]", "[{}]", '[{"EventId":5}]'):
        refused(subject, f'{{"StartRequests":{value}}}'.encode(), f"StartRequests {value}")


@chapter.check(WRONG)
def unknown_id(subject: Subject) -> None:
    expect.error(subject.approve(UNKNOWN_ID), 400, "an id that no event has")
    expect.error(subject.approve("not-a-guid"), 400, "an id that is no GUID")


@chapter.check("Up to 100 ids")
def too_many_ids(subject: Subject) -> None:
    expect.error(subject.approve(*[UNKNOWN_ID] * (IDS_MAX + 1)), 400, "101 ids")


@chapter.check("parsed as JSON whatever Content-Type says (form-urlencoded, text/plain, json, none all occur)")
def content_type_is_ignored(subject: Subject) -> None:
    plain = subject.approve(UNKNOWN_ID)
    for kind in CONTENT_TYPES:
        answer = subject.approve(UNKNOWN_ID, headers=(*METADATA, ("Content-Type", kind)))
        expect.equal((answer.status, answer.body), (plain.status, plain.body), f"the answer with Content-Type {kind}")


@chapter.check("body of POST: ≤ 64 KiB; 413 when longer")
def long_body(subject: Subject) -> None:
    body = json.dumps({"StartRequests": [{"EventId": UNKNOWN_ID}]}).encode()
    expect.error(subject.post(body.ljust(BODY_MAX)), 400, "a body of 64 KiB with an unknown id")
    expect.error(subject.post(body.ljust(BODY_MAX + 1)), 413, "a body of one byte more than 64 KiB")


@chapter.check("`api-version`: mandatory, on POST as on GET")
def post_needs_a_version(subject: Subject) -> None:
    answer = subject.endpoint.send("POST", subject.endpoint.path, METADATA, b"{}")
    expect.error(answer, 400, "a POST without api-version")
    expect.true(b"newest-versions" in answer.body, "a POST without api-version is not told the newest-versions")
