"""How often a VM may ask: a bucket per VM that fills at the limit and holds one second's worth (SPEC §2.1).

Rule 1: real time, never the domain's clock.
Rule 2: a VM that kept quiet for a second has a full bucket, so its entry can go: memory follows the traffic.
"""

from notbefore.ports import Clock
from notbefore.runtime.snapshot import VmRef

FORGET_AFTER_S = 2.0


class RateLimit:
    def __init__(self, per_second: float, clock: Clock) -> None:
        self._per_second = per_second
        self._clock = clock
        self._recent: dict[VmRef, tuple[float, float]] = {}
        self._former: dict[VmRef, tuple[float, float]] = {}
        self._turned_s = clock.steady_s()

    def allows(self, caller: VmRef) -> bool:
        if self._per_second <= 0:
            return True
        now_s = self._clock.steady_s()
        if now_s - self._turned_s > FORGET_AFTER_S:
            self._former, self._recent, self._turned_s = self._recent, {}, now_s
        full = max(1.0, self._per_second)
        left, at_s = self._recent.get(caller) or self._former.get(caller) or (full, now_s)
        left = min(full, left + (now_s - at_s) * self._per_second)
        allowed = left >= 1.0
        self._recent[caller] = (left - 1.0 if allowed else left, now_s)
        return allowed
