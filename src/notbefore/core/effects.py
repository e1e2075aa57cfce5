"""What a decision wants done outside: data that is stored with the scope until the outbox has delivered it.

Rule 1: an effect is committed together with the change that caused it, and delivered only afterwards.
Rule 2: each attempt has its own id; whoever claims an effect gets the next attempt, and reports of earlier
attempts are refused. So an impact is carried out at most once per attempt id, also with two servers (S6).
Not here: delivering (runtime/outbox.py), carrying out (executors/).
"""

from dataclasses import dataclass

from notbefore.core.kinds import EventType


@dataclass(frozen=True, slots=True)
class StartImpact:
    """Pause, reboot, move, take away or delete this VM now."""

    event_id: str
    vm: str
    type: EventType
    duration_s: int = -1


Effect = StartImpact


@dataclass(frozen=True, slots=True)
class PendingEffect:
    """An effect on its way out: which attempt is running, where, and when to try again.

    `since_ms` is when it began; an attempt taken over from a crashed node keeps that.
    """

    effect: Effect
    since_ms: int
    attempt: int = 0
    claimed_by: str = ""
    failures: int = 0
    retry_at_ms: int | None = None

    @property
    def key(self) -> str:
        return f"{self.effect.event_id}/{self.effect.vm}"

    @property
    def attempt_id(self) -> str:
        return f"{self.key}#{self.attempt}"
