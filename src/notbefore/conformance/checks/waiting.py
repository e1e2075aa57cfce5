"""Questions that are held (SPEC §2.6). An endpoint need not hold any; one that does says so."""

from notbefore.conformance import expect
from notbefore.conformance.check import Chapter, Missing
from notbefore.conformance.checks.incarnation import asked_again
from notbefore.conformance.exchange import METADATA
from notbefore.conformance.subject import Subject

WAIT_MAX_S = 60

chapter = Chapter("2.6")


@chapter.check("Without `If-None-Match` the answer is immediate")
def nothing_known_is_answered_at_once(subject: Subject) -> None:
    answer = subject.get(headers=(*METADATA, ("Prefer", f"wait={WAIT_MAX_S}")))
    expect.status(answer, 200, f"Prefer: wait={WAIT_MAX_S} without If-None-Match")


@chapter.check("A plain client never sees it")
def plain_question_is_not_held(subject: Subject) -> None:
    number, answer = asked_again(subject, str)
    expect.equal(answer.header("Preference-Applied"), None, f"Preference-Applied of If-None-Match: {number} alone")


@chapter.check("held until the document changes or N seconds pass (then 304), and carries `Preference-Applied: wait=N`")
def held_question_says_so(subject: Subject) -> None:
    number = subject.document().get("DocumentIncarnation")
    known = ("If-None-Match", str(number))
    answer = subject.get(headers=(*METADATA, known, ("Prefer", "wait=1")))
    applied = answer.header("Preference-Applied")
    if applied is None and answer.status in (200, 304):
        raise Missing("the endpoint does not hold questions")
    expect.equal(applied, "wait=1", "Preference-Applied")
    # It may have changed meanwhile.
    if answer.status == 200:
        shown = (answer.json() or {}).get("DocumentIncarnation")
        expect.true(shown != number, f"a held question was answered with the document {number} that was known")
    else:
        expect.status(answer, 304, "a question that was held for a second")
