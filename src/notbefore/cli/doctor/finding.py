"""A finding: what was looked at, how it is, and what to do about it."""

from dataclasses import dataclass

OK, WARN, FAIL = "ok", "warn", "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    level: str
    says: str
    do: str = ""


def ok(check: str, says: str) -> Finding:
    return Finding(check, OK, says)


def warn(check: str, says: str, do: str) -> Finding:
    return Finding(check, WARN, says, do)


def fail(check: str, says: str, do: str) -> Finding:
    return Finding(check, FAIL, says, do)
