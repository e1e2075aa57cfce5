"""What an operator may set per scope, and the defaults [seed, real].

Not here: the server's own settings (settings.py at the top).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from notbefore.core.kinds import EventType, Eviction, Listening, Policy

# The notice each type gets at least [seed: Freeze, Reboot, Redeploy; real: Preempt, Terminate].
DEFAULT_NOTICE_S: Mapping[EventType, int] = {
    EventType.FREEZE: 15 * 60,
    EventType.REBOOT: 15 * 60,
    EventType.REDEPLOY: 10 * 60,
    EventType.PREEMPT: 30,
    EventType.TERMINATE: 5 * 60,
}
TERMINATE_NOTICE_MAX_S = 15 * 60
NOTICE_MAX_S = 30 * 24 * 3600
RECOVERY_MAX_S = 24 * 3600
USER_OPERATIONS_MAX = 1000
DEFAULT_POLICY = "default"


@dataclass(frozen=True, slots=True)
class ScopeSettings:
    listening: Listening = Listening.AUTO
    # Policy per event type; DEFAULT_POLICY names the rest.
    approval: Mapping[str, Policy] = field(default_factory=lambda: {DEFAULT_POLICY: Policy.ANY})
    auto_approve: tuple[str, ...] = ()
    notice_s: Mapping[EventType, int] = field(default_factory=dict)
    user_events: bool = True
    user_operations_max: int = 10
    recovery_s: int = 0
    legacy_underscore: bool = False
    eviction: Eviction = Eviction.DEALLOCATE

    def notice_for(self, event_type: EventType) -> int:
        return self.notice_s.get(event_type, DEFAULT_NOTICE_S[event_type])

    def policy_for(self, event_type: EventType) -> Policy:
        return self.approval.get(event_type, self.approval.get(DEFAULT_POLICY, Policy.ANY))
