"""The incarnation, its ETag, and If-None-Match (SPEC §2.3)."""

from collections.abc import Callable

from notbefore.conformance import expect
from notbefore.conformance.check import Chapter
from notbefore.conformance.exchange import METADATA, Answer
from notbefore.conformance.subject import Subject

TRIES = 3
FAR = 10**15
MATCHES = "`If-None-Match: n` (also quoted, also a list, also `0`) gives 304 when it matches"

chapter = Chapter("2.3")


def asked_again(subject: Subject, header: Callable[[int], str]) -> tuple[int, Answer]:
    """With the number the document has; once more when that has changed meanwhile."""
    for _ in range(TRIES):
        number = subject.document().get("DocumentIncarnation")
        answer = subject.get(headers=(*METADATA, ("If-None-Match", header(number if isinstance(number, int) else 0))))
        if subject.document().get("DocumentIncarnation") == number:
            break
    return number if isinstance(number, int) else 0, answer


def is_not_modified(answer: Answer, what: str) -> None:
    expect.status(answer, 304, what)
    expect.equal(answer.body, b"", f"{what}: the body of a 304")


@chapter.check("`DocumentIncarnation`: integer")
def incarnation_is_an_integer(subject: Subject) -> None:
    number = subject.document().get("DocumentIncarnation")
    expect.true(type(number) is int and number >= 0, f"DocumentIncarnation is {number!r}")


@chapter.check("the same number always means the same content")
def same_number_same_content(subject: Subject) -> None:
    first, second = subject.get(), subject.get()
    if (
        first.json()
        and second.json()
        and first.json().get("DocumentIncarnation") == second.json()["DocumentIncarnation"]
    ):
        expect.equal(second.body, first.body, "the document of one incarnation, asked for twice")


@chapter.check("`ETag` is that number unquoted")
def etag_is_the_number(subject: Subject) -> None:
    answer = subject.get()
    number = (answer.json() or {}).get("DocumentIncarnation")
    expect.equal(answer.header("ETag"), str(number), "ETag")


@chapter.check(MATCHES)
def same_number_is_not_modified(subject: Subject) -> None:
    is_not_modified(asked_again(subject, str)[1], "If-None-Match: n")


@chapter.check(MATCHES)
def quoted_number_is_not_modified(subject: Subject) -> None:
    is_not_modified(asked_again(subject, lambda n: f'"{n}"')[1], 'If-None-Match: "n"')


@chapter.check(MATCHES)
def number_in_a_list_is_not_modified(subject: Subject) -> None:
    is_not_modified(asked_again(subject, lambda n: f'{n + FAR}, "{n}"')[1], "If-None-Match: a list with n in it")


@chapter.check(MATCHES)
def other_number_gets_the_document(subject: Subject) -> None:
    for text in (str(FAR), f'"{FAR}"'):
        answer = subject.get(headers=(*METADATA, ("If-None-Match", text)))
        expect.status(answer, 200, f"If-None-Match: {text}")


@chapter.check(MATCHES)
def zero_matches_only_zero(subject: Subject) -> None:
    number, answer = asked_again(subject, lambda _: "0")
    expect.status(answer, 304 if number == 0 else 200, f"If-None-Match: 0 with incarnation {number}")


@chapter.check("On POST it is ignored")
def if_none_match_on_post(subject: Subject) -> None:
    number = subject.document().get("DocumentIncarnation", 0)
    answer = subject.post(b"{}", headers=(*METADATA, ("If-None-Match", str(number))))
    expect.error(answer, 400, "a POST that is wrong, with If-None-Match")
