"""What a plan asks of whoever carries it out, and what it is told back.

Rule 1: a plan is a generator of steps. It does no I/O and reads no clock; two thin drivers, a blocking one and
one for asyncio, carry the same plans out.
Rule 2: every outcome says when it was asked and when it came, on the driver's steady clock.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TypeVar

from notbefore.client.changes import Change


@dataclass(frozen=True, slots=True)
class Ask:
    """Send this, and wait so long for the whole answer."""

    method: str
    target: str
    timeout_s: float
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """Let between `low_s` and `high_s` pass, counted from `since_s` when that is given."""

    low_s: float
    high_s: float
    since_s: float | None = None

    def seconds(self, now_s: float, chance: float) -> float:
        wanted_s = self.low_s + (self.high_s - self.low_s) * chance
        passed_s = 0.0 if self.since_s is None else now_s - self.since_s
        return max(0.0, wanted_s - passed_s)


@dataclass(frozen=True, slots=True)
class Tell:
    """Hand this to whoever watches."""

    change: Change


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that came whole. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    asked_s: float
    at_s: float


class Loss(Enum):
    """Why no answer came."""

    TIMED_OUT = auto()
    UNREACHABLE = auto()
    BROKEN = auto()
    """It was hung up, cut short, too long, or no HTTP."""


@dataclass(frozen=True, slots=True)
class Lost:
    loss: Loss
    why: str
    asked_s: float
    at_s: float


Outcome = Answer | Lost
Step = Ask | Wait | Tell
Result = TypeVar("Result")
Plan = Generator[Step, Outcome | None, Result]
"""Sent an Outcome after an Ask, None after anything else."""


def asked(ask: Ask) -> Plan[Outcome]:
    """One question and what came of it."""
    outcome = yield ask
    assert outcome is not None
    return outcome
