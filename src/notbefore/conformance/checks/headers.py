"""The Metadata header, and X-Forwarded-For (SPEC §2.1)."""

from notbefore.conformance import expect
from notbefore.conformance.check import Chapter
from notbefore.conformance.exchange import METADATA, Answer
from notbefore.conformance.subject import Subject

HEADER_MISSING = b'{ "error": "Bad request: . Required metadata header not specified" }'
NEEDED = "header Metadata: true: needed on every request"
ANY_CASE = "name and value in any letter case"
BYTES = "400 with those exact bytes, the odd `: . ` and inner spaces included"
ORDER = "The first broken rule answers, in this order: HTTP syntax, header, X-Forwarded-For, path, method, query"

chapter = Chapter("2.1")


def is_header_missing(answer: Answer, what: str) -> None:
    expect.status(answer, 400, what)
    expect.equal(answer.body, HEADER_MISSING, f"{what}: the body")


@chapter.check(f"{NEEDED}: {BYTES}")
def get_without_header(subject: Subject) -> None:
    is_header_missing(subject.get(headers=()), "a GET without the header")


@chapter.check(f"{NEEDED}: {BYTES}")
def post_without_header(subject: Subject) -> None:
    is_header_missing(subject.post(b"{}", headers=()), "a POST without the header")


@chapter.check(f"{NEEDED}: {BYTES}")
def header_with_another_value(subject: Subject) -> None:
    for value in ("false", "1", ""):
        is_header_missing(subject.get(headers=(("Metadata", value),)), f"Metadata: {value}")


@chapter.check(ANY_CASE)
def header_in_any_letter_case(subject: Subject) -> None:
    for name, value in (("metadata", "true"), ("METADATA", "True"), ("Metadata", "TRUE")):
        expect.status(subject.get(headers=((name, value),)), 200, f"{name}: {value}")


@chapter.check("header X-Forwarded-For: must be absent: a forwarded request is not from the VM: 400")
def forwarded_request(subject: Subject) -> None:
    for name in ("X-Forwarded-For", "x-forwarded-for"):
        answer = subject.get(headers=(*METADATA, (name, "10.0.0.4")))
        expect.error(answer, 400, f"a GET with {name}")
        expect.true(
            answer.body != HEADER_MISSING, "a forwarded GET is refused for its Metadata header, which was there"
        )


@chapter.check(ORDER)
def header_comes_first(subject: Subject) -> None:
    is_header_missing(subject.endpoint.send("GET", "/nowhere", ()), "no header and an unknown path")
    is_header_missing(subject.endpoint.send("PUT", subject.target, ()), "no header and another method")
    is_header_missing(subject.get(target=subject.endpoint.path, headers=()), "no header and no api-version")


@chapter.check(ORDER)
def path_comes_before_method_and_query(subject: Subject) -> None:
    expect.error(subject.endpoint.send("PUT", "/metadata/nowhere"), 404, "an unknown path and another method")
    expect.error(subject.endpoint.send("PUT", subject.endpoint.path), 405, "another method and no api-version")
