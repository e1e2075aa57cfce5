"""The neighbours: who a VM is, and the versions of that (SPEC §2.7). They do not apply where there are none."""

from collections.abc import Iterator
from typing import Any

from notbefore.conformance import expect
from notbefore.conformance.check import Chapter, Missing
from notbefore.conformance.checks.headers import is_header_missing
from notbefore.conformance.exchange import Answer
from notbefore.conformance.subject import Subject

# One that every list of the last years has.
VERSION = "2021-02-01"
NOT_FOUND = 404
LIST = "a list of versions"

chapter = Chapter("2.7")


def asked(subject: Subject, path: str, query: str = f"?api-version={VERSION}") -> Answer:
    answer = subject.get(target=f"{subject.beside(path)}{query}")
    if answer.status == NOT_FOUND:
        raise Missing(f"there is no {subject.beside(path)}")
    return answer


def compute(subject: Subject) -> Any:
    answer = asked(subject, "instance")
    expect.status(answer, 200, "the instance metadata")
    told = answer.json()
    found = told.get("compute") if isinstance(told, dict) else None
    expect.true(isinstance(found, dict), f"there is no compute in the instance metadata: {answer}")
    return found


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from leaves(one)
    else:
        yield value


@chapter.check("`GET /metadata/instance?api-version=…`: compute: name; known clients ask it who they are")
def instance_tells_the_name(subject: Subject) -> None:
    name = compute(subject).get("name")
    expect.true(isinstance(name, str) and name, f"compute.name is {name!r}")


@chapter.check("all values strings, unknown ones empty")
def instance_values_are_strings(subject: Subject) -> None:
    expect.each(leaves(compute(subject)), lambda value: isinstance(value, str), "a value of compute")


@chapter.check("sub-paths with `format=text` for a leaf")
def leaf_is_told_as_text(subject: Subject) -> None:
    name = compute(subject).get("name")
    answer = asked(subject, "instance/compute/name", f"?api-version={VERSION}&format=text")
    expect.status(answer, 200, "compute/name as text")
    expect.equal(answer.body.decode(errors="replace"), name, "compute/name as text")


@chapter.check("any version of the real list: another is refused: 400")
def instance_needs_a_version(subject: Subject) -> None:
    for query in ("", "?api-version=1999-01-01"):
        expect.error(asked(subject, "instance", query), 400, f"the instance metadata with the query {query!r}")


@chapter.check("`GET /metadata/versions`")
def versions_are_listed(subject: Subject) -> None:
    answer = asked(subject, "versions", "")
    expect.status(answer, 200, LIST)
    told = answer.json()
    names = told.get("apiVersions") if isinstance(told, dict) else None
    expect.true(isinstance(names, list) and VERSION in names, f"{LIST} is {answer}")
    expect.equal(names, sorted(map(str, names or ())), LIST)


@chapter.check("header Metadata: true: needed on every request")
def neighbours_need_the_header(subject: Subject) -> None:
    for path, query in (("instance", f"?api-version={VERSION}"), ("versions", "")):
        asked(subject, path, query)
        answer = subject.get(target=f"{subject.beside(path)}{query}", headers=())
        is_header_missing(answer, f"{path} without the header")
