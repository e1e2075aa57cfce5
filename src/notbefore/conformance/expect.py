"""What checks say when it is not so: the words of a failure, in one place."""

from collections.abc import Iterable
from typing import Any

from notbefore.conformance.check import Broken, Missing
from notbefore.conformance.exchange import Answer
from notbefore.conformance.subject import Json


def equal(found: object, wanted: object, what: str) -> None:
    if found != wanted:
        raise Broken(f"{what} is {found!r}, not {wanted!r}")


def true(holds: object, says: str) -> None:
    if not holds:
        raise Broken(says)


def status(answer: Answer, wanted: int, what: str) -> None:
    if answer.status != wanted:
        raise Broken(f"{what}: {wanted} expected, came {answer}")


def error(answer: Answer, wanted: int, what: str) -> None:
    """A refusal as all of them are: the status, and JSON with one line that a person can act on."""
    status(answer, wanted, what)
    told = answer.json()
    sentence = told.get("error") if isinstance(told, dict) else None
    if not isinstance(sentence, str) or not sentence.strip() or "\n" in sentence:
        raise Broken(f'{what}: the body is no JSON with an "error" of one line: {answer}')


def some(things: list[Json], what: str) -> list[Json]:
    if not things:
        raise Missing(f"there is no {what} to look at")
    return things


def each(things: Iterable[Any], is_right: Any, what: str) -> None:
    wrong = [one for one in things if not is_right(one)]
    if wrong:
        raise Broken(f"{what}: {wrong[0]!r}")
