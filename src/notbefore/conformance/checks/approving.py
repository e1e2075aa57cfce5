"""Approving an event that is there (SPEC §2.4). The order counts: the first leaves it, the second lets it start."""

from notbefore.conformance import expect
from notbefore.conformance.check import Chapter
from notbefore.conformance.exchange import METADATA
from notbefore.conformance.subject import UNKNOWN_ID, Json, Subject

FORM = ("Content-Type", "application/x-www-form-urlencoded")

chapter = Chapter("2.4")


def scheduled(subject: Subject) -> Json:
    found = [one for one in subject.events() if one.get("EventStatus") == "Scheduled"]
    return expect.some(found, "Scheduled event")[0]


def id_of(event: Json) -> str:
    return str(event.get("EventId"))


@chapter.check("All or nothing: a request with one bad id changes nothing", approves=True)
def one_bad_id_changes_nothing(subject: Subject) -> None:
    event = scheduled(subject)
    expect.error(subject.approve(id_of(event), UNKNOWN_ID), 400, "a known id and an unknown one")
    expect.true(event in subject.events(), "the event changed, although its request was refused")


@chapter.check(
    "200 with empty body; a DocumentIncarnation that is not the current one does not fail the request", approves=True
)
def approval_is_taken(subject: Subject) -> None:
    event = scheduled(subject)
    number = subject.document().get("DocumentIncarnation", 0)
    # As clients do it: the id in small letters, a number of their own as text, and curl's own Content-Type.
    answer = subject.approve(id_of(event).lower(), extra={"DocumentIncarnation": "5"}, headers=(*METADATA, FORM))
    expect.status(answer, 200, "approving a Scheduled event")
    expect.equal(answer.body, b"", "the body of an approval's answer")
    after = subject.document()
    if event not in after.get("Events", ()):
        expect.true(after.get("DocumentIncarnation", 0) > number, "the event changed, and the incarnation did not rise")


@chapter.check("again 200 when repeated or already Started (agents retry)", approves=True)
def approval_may_be_repeated(subject: Subject) -> None:
    event = expect.some(subject.events(), "event")[0]
    for time in ("first", "second"):
        expect.status(subject.approve(id_of(event)), 200, f"the {time} of two more approvals of one event")


@chapter.check("a `DocumentIncarnation` beside it (number or string) is accepted", approves=True)
def incarnation_may_be_a_number(subject: Subject) -> None:
    event = expect.some(subject.events(), "event")[0]
    number = subject.document().get("DocumentIncarnation", 0)
    expect.status(subject.approve(id_of(event), extra={"DocumentIncarnation": number}), 200, "with the number")


@chapter.check("`NotBefore`: Empty string once Started (key stays)", approves=True)
def approved_event_is_shown_rightly(subject: Subject) -> None:
    started = [one for one in subject.events() if one.get("EventStatus") == "Started"]
    for event in expect.some(started, "Started event"):
        expect.equal(event.get("NotBefore"), "", "NotBefore of an event that was approved")
