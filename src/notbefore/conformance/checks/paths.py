"""The path (SPEC §2.1)."""

from notbefore.conformance import expect
from notbefore.conformance.check import Chapter
from notbefore.conformance.subject import Subject

chapter = Chapter("2.1")


@chapter.check("path: letter case ignored (`/metadata/scheduledEvents` is used in the wild)")
def path_in_any_letter_case(subject: Subject) -> None:
    for path in (subject.endpoint.path.upper(), subject.endpoint.path.replace("events", "Events")):
        expect.status(subject.get(target=f"{path}?api-version={subject.version}"), 200, path)


@chapter.check("path: one trailing slash tolerated")
def path_with_a_trailing_slash(subject: Subject) -> None:
    target = f"{subject.endpoint.path}/?api-version={subject.version}"
    expect.status(subject.get(target=target), 200, "one trailing slash")


@chapter.check("path: else 404 JSON `error`")
def unknown_path(subject: Subject) -> None:
    version = f"?api-version={subject.version}"
    for path in (f"{subject.endpoint.path}//", f"{subject.endpoint.path}/x", "/metadata/nowhere"):
        expect.error(subject.get(target=path + version), 404, f"the path {path}")
