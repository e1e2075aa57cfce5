"""HTTP syntax: what is no HTTP is refused, and closed (SPEC §2.1)."""

from notbefore.conformance import expect
from notbefore.conformance.check import Chapter
from notbefore.conformance.exchange import METADATA, request_bytes
from notbefore.conformance.subject import Subject

HEAD_MAX = 16 * 1024
LAW = "HTTP syntax: llhttp's, strict; unknown verb, conflicting lengths, bare LF: 400, close"

chapter = Chapter("2.1")


@chapter.check(LAW)
def unknown_verb_is_refused(subject: Subject) -> None:
    answer = subject.endpoint.send("BREW", subject.target)
    expect.status(answer, 400, "a verb that is none")


@chapter.check(LAW)
def conflicting_lengths_are_refused(subject: Subject) -> None:
    # A GET, which is right in all else: a POST would be refused for its body.
    lengths = (*METADATA, ("Content-Length", "0"), ("Content-Length", "1"))
    answer = subject.endpoint.send("GET", subject.target, lengths, b"x")
    expect.status(answer, 400, "two Content-Length headers that differ")


@chapter.check(LAW)
def bare_line_feeds_are_refused(subject: Subject) -> None:
    proper = request_bytes("GET", subject.target, subject.endpoint.authority, METADATA, None)
    answer = subject.endpoint.exchange(proper.replace(b"\r\n", b"\n"))
    expect.status(answer, 400, "lines that end in LF alone")


@chapter.check("oversized head (16 KiB): 431")
def oversized_head_is_refused(subject: Subject) -> None:
    answer = subject.get(headers=(*METADATA, ("X-Padding", "x" * (HEAD_MAX + 1024))))
    expect.status(answer, 431, "a head of 17 KiB")
