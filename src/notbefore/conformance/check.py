"""A check: the sentence it stands on, and what it says of an endpoint. Checks are registered where they are written."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from notbefore.conformance.subject import Subject
from notbefore.core.errors import Refusal

Look = Callable[[Subject], None]


class Verdict(StrEnum):
    PASS = "pass"  # noqa: S105  a verdict
    FAIL = "fail"
    NOT_APPLICABLE = "n/a"


class Broken(Exception):
    """The endpoint does something else; the message says what."""


class Missing(Exception):
    """There is nothing to look at; the message says what would have to be there."""


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    section: str
    law: str
    look: Look
    approves: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    check: Check
    verdict: Verdict
    says: str = ""


class Chapter:
    """The checks of one part of the SPEC, in the order they are written."""

    def __init__(self, section: str) -> None:
        self._section = section
        self._checks: list[Check] = []

    def __iter__(self) -> Iterator[Check]:
        return iter(self._checks)

    def check(self, law: str, *, approves: bool = False, name: str = "") -> Callable[[Look], Look]:
        def register(look: Look) -> Look:
            called = name or look.__name__.replace("_", "-")
            self._checks.append(Check(called, self._section, law, look, approves))
            return look

        return register


def judged(check: Check, subject: Subject) -> Finding:
    try:
        check.look(subject)
    except Broken as broken:
        return Finding(check, Verdict.FAIL, str(broken))
    except Missing as missing:
        return Finding(check, Verdict.NOT_APPLICABLE, str(missing))
    except Refusal as refusal:
        return Finding(check, Verdict.FAIL, refusal.message)
    except Exception as error:  # noqa: BLE001  an answer that no check expected is the endpoint's doing, not ours
        return Finding(check, Verdict.FAIL, f"the answer cannot be read: {type(error).__name__}: {error}")
    return Finding(check, Verdict.PASS)
