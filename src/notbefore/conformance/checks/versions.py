"""The seven versions: each answers, with the fields, types and dates it knows (SPEC §2.2)."""

import re
from collections.abc import Mapping

from notbefore.conformance import expect
from notbefore.conformance.check import Chapter
from notbefore.conformance.subject import Json, Subject

BASE = ("EventId", "EventStatus", "EventType", "ResourceType", "Resources", "NotBefore")
FIELDS: Mapping[str, tuple[str, ...]] = {
    "2017-03-01": BASE,
    "2017-08-01": BASE,
    "2017-11-01": BASE,
    "2019-01-01": BASE,
    "2019-04-01": (*BASE, "Description"),
    "2019-08-01": (*BASE, "Description", "EventSource"),
    "2020-07-01": (*BASE, "Description", "EventSource", "DurationInSeconds"),
}
TYPES_SINCE: Mapping[str, str] = {"Preempt": "2017-11-01", "Terminate": "2019-01-01"}
ISO_UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
RFC_1123 = re.compile(
    r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d\d:\d\d:\d\d GMT"
)

chapter = Chapter("2.2")


def dates_of(version: str) -> re.Pattern[str]:
    return ISO_UTC if version == "2017-03-01" else RFC_1123


def _add(version: str) -> None:
    @chapter.check(f"api-version {version} is one of the seven", name=f"{version}-answers")
    def answers(subject: Subject) -> None:
        expect.status(subject.get(version=version), 200, version)
        expect.true("Events" in subject.document(version), f"{version}: there are no Events in the document")

    @chapter.check(
        "A field that a version does not know is left out, not sent empty; keys in this order", name=f"{version}-fields"
    )
    def fields(subject: Subject) -> None:
        for event in expect.some(subject.events(version), "event"):
            expect.equal(tuple(event), FIELDS[version], f"{version}: the fields of an event")

    @chapter.check("A type that a version does not know is left out", name=f"{version}-types")
    def types(subject: Subject) -> None:
        events = expect.some(subject.events(version), "event")
        expect.each(events, lambda event: knows(version, event), f"{version} shows a type it does not know")

    @chapter.check("`NotBefore` as ISO 8601 UTC in 2017-03-01, as RFC 1123 from 2017-08-01 on", name=f"{version}-dates")
    def dates(subject: Subject) -> None:
        times = [event for event in subject.events(version) if event.get("NotBefore")]
        for event in expect.some(times, "event with a NotBefore"):
            text = str(event["NotBefore"])
            expect.true(dates_of(version).fullmatch(text), f"{version}: NotBefore is {text!r}")


def knows(version: str, event: Json) -> bool:
    return version >= TYPES_SINCE.get(str(event.get("EventType")), "")


for _version in FIELDS:
    _add(_version)


@chapter.check("GET and POST versions may differ between calls of one client")
def versions_show_one_scope(subject: Subject) -> None:
    numbers = {subject.document(version).get("DocumentIncarnation") for version in FIELDS}
    if len(numbers) > 1:
        # Something may have changed meanwhile: then they agree now.
        numbers = {subject.document(version).get("DocumentIncarnation") for version in FIELDS}
    expect.equal(len(numbers), 1, f"the count of incarnations that the versions show at one time ({numbers})")
