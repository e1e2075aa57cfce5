"""How patient the client is, and how long it waits before it asks again (REFERENCE §2.5).

Rule 1: 410 means that the service is being updated, which takes up to 70 s [real]; other troubles are counted.
Rule 2: waits double, up to ten seconds, so that a notice of half a minute still leaves time to act; each has some
chance in it. What the service asks for in Retry-After is waited for at least.
"""

from dataclasses import dataclass

from notbefore.client.steps import Wait
from notbefore.client.verdicts import Trouble

WAIT_MIN_S = 1.0
WAIT_MAX_S = 10.0
DOUBLINGS_MAX = 10
JITTER_S = 1.0
IDLE_MAX_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait, and how often to try.

    `first_s`: for the first answer, which enables the service and may take two minutes [seed]; also after a day without
    a question, when the service was disabled [real]. `later_s`: for every other answer. `connect_s`: for a connection.
    `attempts`: how often a single question is asked in all. `gone_s`: how long 410 is put up with.
    """

    first_s: float = 120.0
    later_s: float = 5.0
    connect_s: float = 5.0
    attempts: int = 5
    gone_s: float = 70.0

    def for_answer_s(self, now_s: float, answered_s: float | None) -> float:
        """How long to wait for an answer now, when the last one came at `answered_s`."""
        is_first = answered_s is None or now_s - answered_s >= IDLE_MAX_S
        return self.first_s if is_first else self.later_s


class Retries:
    """The troubles of one question, or of a watcher since the last good answer."""

    def __init__(self, patience: Patience, *, endless: bool = False) -> None:
        self._patience = patience
        self._endless = endless
        self.count = 0
        self._counted = 0
        self._gone_since_s: float | None = None

    def wait_after(self, trouble: Trouble, at_s: float) -> Wait | None:
        """How long to wait before the next try, or None when there is none."""
        self.count += 1
        if self._is_over(trouble, at_s) and not self._endless:
            return None
        if trouble.retry_after_s is not None:
            return Wait(trouble.retry_after_s, trouble.retry_after_s + JITTER_S)
        span_s = min(WAIT_MIN_S * 2 ** min(self.count - 1, DOUBLINGS_MAX), WAIT_MAX_S)
        return Wait(span_s / 2, span_s)

    def end(self) -> int:
        """A good answer came: how many troubles there were before it."""
        count = self.count
        self.count = self._counted = 0
        self._gone_since_s = None
        return count

    def _is_over(self, trouble: Trouble, at_s: float) -> bool:
        if not trouble.is_gone:
            self._counted += 1
            return not trouble.passes or self._counted >= self._patience.attempts
        self._gone_since_s = at_s if self._gone_since_s is None else self._gone_since_s
        return at_s - self._gone_since_s >= self._patience.gone_s
