"""What an answer means: good, trouble that passes, or a refusal that stays (REFERENCE §2.4, §2.5).

Rule 1: 404, 408, 410, 429, 5xx and silence pass; 400 and every other refusal stays; a redirect is a refusal.
Rule 2: whatever it means, it has a sentence: one line that can be logged, however much was said.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from notbefore.client.document import Document, parsed_document
from notbefore.client.endpoint import EndpointError
from notbefore.client.steps import Answer, Loss, Lost, Outcome

FINE = range(200, 300)
BAD_REQUEST, NOT_FOUND, NOT_MODIFIED = 400, 404, 304
GONE, TOO_MANY = 410, 429
PASSING = frozenset((NOT_FOUND, 408, GONE, TOO_MANY))
SERVER_FAULTS = range(500, 600)
REDIRECTS = range(300, 400)
RETRY_AFTER_MAX_S = 120.0
SAID_MAX_CHARS = 200
NO_REASON = "it gave no reason."

HINTS: Mapping[int, str] = {
    403: "The endpoint knows a VM by the address it asks from; ask from the VM itself.",
    TOO_MANY: "Ask less often: five times a second is the usual limit.",
}


@dataclass(frozen=True, slots=True)
class Trouble:
    """No answer to go by. `passes`: a single question is worth repeating; a watcher goes on in any case."""

    error: EndpointError
    passes: bool = True
    is_gone: bool = False
    retry_after_s: float | None = None

    @property
    def why(self) -> str:
        return self.error.message


@dataclass(frozen=True, slots=True)
class Refused:
    """The endpoint said no, and would say it again."""

    error: EndpointError
    status: int


def verdict_on(outcome: Outcome, endpoint: str) -> Answer | Trouble | Refused:
    """By the status alone: an Answer is fine or not modified."""
    if isinstance(outcome, Lost):
        return _lost(outcome, endpoint)
    status = outcome.status
    if status in FINE or status == NOT_MODIFIED:
        return outcome
    sentence = f"{endpoint} answered {status}: {_told(outcome)}"
    error = EndpointError(sentence, HINTS.get(status, ""), {"status": status})
    if status in PASSING or status in SERVER_FAULTS:
        return Trouble(error, is_gone=status == GONE, retry_after_s=retry_after_s(outcome.headers))
    return Refused(error, status)


def document_in(answer: Answer, endpoint: str) -> Document | Trouble:
    try:
        return parsed_document(answer.body)
    except ValueError:
        sentence = f"{endpoint} answered with something that is no document of events."
        return Trouble(EndpointError(sentence, facts={"endpoint": endpoint}), passes=False)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds, or a date seen from the answer's own Date; never more than two minutes."""
    written = headers.get("retry-after", "").strip()
    if not written:
        return None
    try:
        wanted = float(written) if written.isdecimal() else _seconds_between(headers.get("date", ""), written)
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(0.0, wanted), RETRY_AFTER_MAX_S)


def _seconds_between(earlier: str, later: str) -> float:
    from email.utils import parsedate_to_datetime  # noqa: PLC0415  it comes with HTTP, when there is an answer

    return (parsedate_to_datetime(later) - parsedate_to_datetime(earlier)).total_seconds()


def _lost(lost: Lost, endpoint: str) -> Trouble:
    sentence = {
        Loss.TIMED_OUT: f"{endpoint} did not answer in time ({lost.why}).",
        Loss.UNREACHABLE: f"Nothing answers at {endpoint} ({lost.why}).",
        Loss.BROKEN: f"What answers at {endpoint} does not speak HTTP as it should ({lost.why}).",
    }[lost.loss]
    return Trouble(EndpointError(sentence, facts={"endpoint": endpoint}), passes=lost.loss is not Loss.UNREACHABLE)


def _told(answer: Answer) -> str:
    if answer.status in REDIRECTS:
        return "it points elsewhere, and nobody sends a VM elsewhere."
    try:
        told = json.loads(answer.body)["error"]
        return _sentence(told if isinstance(told, str) else json.dumps(told))
    except (ValueError, KeyError, TypeError, RecursionError):
        return NO_REASON


def _sentence(told: str) -> str:
    """On one line, and not all of it when it is long."""
    said = told[: SAID_MAX_CHARS + 1]
    line = " ".join("".join(char if char.isprintable() else " " for char in said).split())
    if len(said) > SAID_MAX_CHARS:
        return f"{line[:SAID_MAX_CHARS]}..."
    return (line if line.endswith((".", "!", "?")) else f"{line}.") if line else NO_REASON
