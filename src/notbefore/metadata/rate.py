"""How often a VM may ask: a bucket per VM that fills at the limit and holds one second's worth (SPEC §2.1).

Rule 1: real time, never the domain's clock. It comes with the question: many are asked at one moment.
Rule 2: one number per VM: the time at which its bucket is full again. Who is past it has a full one, so its entry can
go: memory follows the traffic.
"""

from notbefore.runtime.snapshot import VmRef

FORGET_AFTER_S = 2.0


class RateLimit:
    def __init__(self, per_second: float) -> None:
        self.allows = self._within if per_second > 0 else unlimited
        if per_second > 0:
            self._drop_s = 1.0 / per_second
            # How far from full a bucket may be and still have a whole drop in it.
            self._reach_s = max(1.0, per_second) / per_second - self._drop_s
            self._forget_after_s = max(FORGET_AFTER_S, self._drop_s)
        self._recent: dict[VmRef, float] = {}
        self._former: dict[VmRef, float] = {}
        self._turn_at_s = 0.0

    def _within(self, caller: VmRef, now_s: float) -> bool:
        if now_s > self._turn_at_s:
            self._former, self._recent = self._recent, {}
            self._turn_at_s = now_s + self._forget_after_s
        full_at_s = self._recent.get(caller) or self._former.get(caller, 0.0)
        if full_at_s <= now_s:
            self._recent[caller] = now_s + self._drop_s
            return True
        if full_at_s - now_s > self._reach_s:
            return False
        self._recent[caller] = full_at_s + self._drop_s
        return True


def unlimited(_caller: VmRef, _now_s: float) -> bool:
    return True
