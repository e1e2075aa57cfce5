"""The document as a whole: bytes, keys, type (SPEC §2.3)."""

import json

from notbefore.conformance import expect
from notbefore.conformance.check import Chapter
from notbefore.conformance.subject import Subject

chapter = Chapter("2.3")


@chapter.check("Content-Type `application/json; charset=utf-8`")
def content_type(subject: Subject) -> None:
    expect.equal(subject.get().header("Content-Type"), "application/json; charset=utf-8", "Content-Type")


@chapter.check("Compact JSON")
def compact_json(subject: Subject) -> None:
    body = subject.get().body
    told = json.loads(body)
    plain = (json.dumps(told, separators=(",", ":"), ensure_ascii=escaped) for escaped in (False, True))
    expect.true(body.decode() in tuple(plain), f"the document is not compact: {body[:80]!r}")


@chapter.check("keys in this order: `DocumentIncarnation`, `Events`")
def document_keys(subject: Subject) -> None:
    expect.equal(tuple(subject.document()), ("DocumentIncarnation", "Events"), "the keys of the document")


@chapter.check("An empty `Events` array means nothing is scheduled")
def events_is_a_list(subject: Subject) -> None:
    expect.true(isinstance(subject.document().get("Events"), list), "Events is no list")
