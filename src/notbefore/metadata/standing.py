"""What a caller that asks the same again is told, while nothing has changed that its answer depends on.

Rule 1: it holds while the scope, who is who, and the era are what they were; then it says so, and the question is
answered from the beginning.
Rule 2: every time is counted as the first: the rate, and who asked.
Made by: service.py. Kept by: fast_path.py with a connection, from its second question on.
"""

import math

from notbefore.core.times import HOUR_MS, MS_NS
from notbefore.metadata.answers import HttpAnswer, error
from notbefore.metadata.node_face import NodeFace
from notbefore.metadata.rate import RateLimit
from notbefore.runtime.snapshot import View, VmRef

BUSY = error(
    429, "Too many requests. Wait a second before the next one; once a second is often enough", (b"retry-after", b"1")
)


class Era:
    """What is the same for all who ask, until settings change or faults begin; and the wall clock, looked at once for
    all who ask at one moment: in one look of the loop.
    """

    __slots__ = ("_wall_ns", "allows", "asked_of", "at_s", "is_over", "now_ms", "snapshot")

    def __init__(self, node: NodeFace, rate: RateLimit) -> None:
        self.snapshot = node.snapshot
        self.asked_of = node.hearing.asked_of
        self.allows = rate.allows
        self.is_over = False
        self._wall_ns = node.clock.wall_ns
        self.at_s, self.now_ms = math.nan, 0

    def look(self, now_s: float) -> None:
        self.at_s, self.now_ms = now_s, self._wall_ns() // MS_NS


class Standing:
    __slots__ = ("_answer", "_caller", "_census", "_era", "_scope", "_view", "_vm")

    def __init__(self, era: Era, caller: VmRef, view: View, answer: HttpAnswer) -> None:
        self._era = era
        self._census = era.snapshot.census
        # Its parts beside it: to take them out of it is a call each.
        self._caller, self._scope, self._vm = caller, caller.scope, caller.vm
        self._view = view
        self._answer = answer

    def again(self, now_s: float) -> HttpAnswer | None:
        """None: it holds no longer, or it is to be written down that somebody asked."""
        era, view = self._era, self._view
        if view.is_old or era.is_over or self._census != era.snapshot.census:
            return None
        if now_s is not era.at_s:
            era.look(now_s)
        asked_ms = era.asked_of(self._scope)
        if asked_ms is None or era.now_ms - view.newest_asked_ms > HOUR_MS:
            return None
        if not era.allows(self._caller, now_s):
            return BUSY
        asked_ms[self._vm] = era.now_ms
        return self._answer
