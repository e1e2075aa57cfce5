"""The query: api-version, format, and parameters given twice (SPEC §2.1)."""

from notbefore.conformance import expect
from notbefore.conformance.check import Chapter
from notbefore.conformance.subject import Subject

_NEWEST = '"newest-versions":["2020-07-01","2019-08-01","2019-04-01"]'
_REFUSED = "api-version is invalid or was not specified in the request. For more information refer to aka.ms/azureimds"
WRONG_VERSION = f'{{"error":"Bad request. {_REFUSED}",{_NEWEST}}}'.encode()
LATEST_REFUSED = f'{{"error":"Bad request (latest is no longer supported). {_REFUSED}",{_NEWEST}}}'.encode()

chapter = Chapter("2.1")


def is_refused_with(subject: Subject, query: str, body: bytes) -> None:
    answer = subject.get(target=subject.endpoint.path + query)
    expect.status(answer, 400, f"the query {query!r}")
    expect.equal(answer.body, body, f"the query {query!r}: the body")


@chapter.check("`api-version`: mandatory: 400 with newest-versions")
def version_missing(subject: Subject) -> None:
    for query in ("", "?", "?format=json"):
        is_refused_with(subject, query, WRONG_VERSION)


@chapter.check("`api-version`: one of the seven: 400 with newest-versions")
def version_unknown(subject: Subject) -> None:
    for version in ("", "2018-02-01", "2020-07-02", "1", "2020-07-01x"):
        is_refused_with(subject, f"?api-version={version}", WRONG_VERSION)


@chapter.check('`latest`, `{latest}`: refused with " (latest is no longer supported)" before the first full stop')
def version_latest(subject: Subject) -> None:
    for version in ("latest", "%7Blatest%7D"):
        is_refused_with(subject, f"?api-version={version}", LATEST_REFUSED)


@chapter.check("repeated query parameter: refused: 400")
def repeated_parameter(subject: Subject) -> None:
    version = f"api-version={subject.version}"
    for query in (f"?{version}&{version}", f"?{version}&format=json&format=json", f"?{version}&x=1&x=2"):
        expect.error(subject.get(target=subject.endpoint.path + query), 400, f"the query {query!r}")


@chapter.check("`format=json`: accepted and ignored")
def format_json(subject: Subject) -> None:
    expect.status(subject.get(target=f"{subject.target}&format=json"), 200, "format=json")


@chapter.check("`format`: other values refused: 400")
def format_other(subject: Subject) -> None:
    for value in ("text", "xml", ""):
        expect.error(subject.get(target=f"{subject.target}&format={value}"), 400, f"format={value}")
