"""Methods (SPEC §2.1)."""

from notbefore.conformance import expect
from notbefore.conformance.check import Chapter
from notbefore.conformance.subject import Subject

OTHERS = ("PUT", "DELETE", "PATCH", "OPTIONS", "HEAD")

chapter = Chapter("2.1")


@chapter.check("method: GET and POST; other known verbs: 405 with `Allow: GET, POST`")
def other_methods(subject: Subject) -> None:
    for method in OTHERS:
        answer = subject.endpoint.send(method, subject.target)
        expect.status(answer, 405, method)
        expect.equal(answer.header("Allow"), "GET, POST", f"{method}: Allow")


@chapter.check('Every error is JSON {"error": "…"} in one line a person can act on')
def refused_method_is_told_in_json(subject: Subject) -> None:
    expect.error(subject.endpoint.send("DELETE", subject.target), 405, "DELETE")
