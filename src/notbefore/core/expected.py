"""How long impacts are expected to take, as whoever carries them out says.

Rule 1: an event that says its own duration is taken at its word; what is usual for its type counts for the others.
Rule 2: after the impact the event stays Started while it is checked that all is well; that is no part of the duration,
and comes on top of it in either case.
Used by: plans (imagined.py) and the windows of rollouts (rollout_fit.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from notbefore.core.kinds import EventType


@dataclass(frozen=True, slots=True)
class Expected:
    usual_s: Mapping[EventType, float] = field(default_factory=dict)
    checks_s: Mapping[EventType, float] = field(default_factory=dict)

    def started_s(self, event_type: EventType, duration_s: int) -> float:
        """From the start of an event to its end; `duration_s` below 0 is not known."""
        impact_s = duration_s if duration_s >= 0 else self.usual_s.get(event_type, 0)
        return impact_s + self.checks_s.get(event_type, 0)
