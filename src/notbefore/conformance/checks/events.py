"""The events of the document, field by field (SPEC §2.3)."""

import re

from notbefore.conformance import expect
from notbefore.conformance.check import Chapter, Missing
from notbefore.conformance.checks.versions import FIELDS, dates_of
from notbefore.conformance.subject import NEWEST, Json, Subject

GUID = re.compile(r"[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}")
TYPES = ("Freeze", "Reboot", "Redeploy", "Preempt", "Terminate")

chapter = Chapter("2.3")


def shown(subject: Subject) -> list[Json]:
    return expect.some(subject.events(), "event")


def field(event: Json, name: str) -> object:
    return event.get(name)


@chapter.check("`EventId`: GUID, upper case")
def event_id_is_an_upper_case_guid(subject: Subject) -> None:
    expect.each((one.get("EventId") for one in shown(subject)), lambda text: GUID.fullmatch(str(text)), "EventId")


@chapter.check("`EventId`: the same from first sight to removal")
def event_ids_are_unique_and_stay(subject: Subject) -> None:
    before = [one.get("EventId") for one in shown(subject)]
    expect.equal(len(set(before)), len(before), "the count of different EventIds")
    elsewhere = {one.get("EventId") for version in FIELDS for one in subject.events(version)}
    now = {one.get("EventId") for one in subject.events(NEWEST)} | set(before)
    expect.each(elsewhere, lambda one: one in now, "an EventId that another version shows")


@chapter.check("`EventStatus`: `Scheduled` or `Started` only")
def event_status(subject: Subject) -> None:
    statuses = (one.get("EventStatus") for one in shown(subject))
    expect.each(statuses, lambda status: status in ("Scheduled", "Started"), "EventStatus")


@chapter.check("`EventType`: Freeze, Reboot, Redeploy, Preempt, Terminate")
def event_type(subject: Subject) -> None:
    expect.each((one.get("EventType") for one in shown(subject)), lambda kind: kind in TYPES, "EventType")


@chapter.check("`ResourceType`: `VirtualMachine`. `Resources`: names")
def resources(subject: Subject) -> None:
    for event in shown(subject):
        expect.equal(event.get("ResourceType"), "VirtualMachine", "ResourceType")
        names = event.get("Resources")
        expect.true(
            isinstance(names, list) and names and all(isinstance(name, str) and name for name in names),
            f"Resources is {names!r}",
        )


@chapter.check("`NotBefore`: rounded up to the second; a Scheduled event has one")
def scheduled_has_not_before(subject: Subject) -> None:
    for event in with_status(subject, "Scheduled"):
        text = str(event.get("NotBefore"))
        expect.true(dates_of(subject.version).fullmatch(text), f"NotBefore of a Scheduled event is {text!r}")


@chapter.check("`NotBefore`: Empty string once Started (key stays)")
def started_has_an_empty_not_before(subject: Subject) -> None:
    for event in with_status(subject, "Started"):
        expect.equal(event.get("NotBefore"), "", "NotBefore of a Started event")


@chapter.check("field `Description`: a text, from 2019-04-01 on")
def description(subject: Subject) -> None:
    events = expect.some(subject.events(NEWEST), "event")
    expect.each((one.get("Description") for one in events), lambda text: isinstance(text, str), "Description")


@chapter.check("field `EventSource`: `Platform` or `User`")
def event_source(subject: Subject) -> None:
    events = expect.some(subject.events(NEWEST), "event")
    expect.each((one.get("EventSource") for one in events), lambda one: one in ("Platform", "User"), "EventSource")


@chapter.check("field `DurationInSeconds`: integer; -1 unknown or not applicable, 0 no interruption")
def duration(subject: Subject) -> None:
    events = expect.some(subject.events(NEWEST), "event")
    spans = (one.get("DurationInSeconds") for one in events)
    expect.each(spans, lambda span: type(span) is int and span >= -1, "DurationInSeconds")


def with_status(subject: Subject, status: str) -> list[Json]:
    found = [one for one in subject.events() if one.get("EventStatus") == status]
    if not found:
        raise Missing(f"there is no event that is {status}")
    return found
