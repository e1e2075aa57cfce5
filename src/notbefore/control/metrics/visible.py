"""From a decision to its being visible here: own commits, and those of other nodes as the feed brings them.

Rule 1: an own commit is timed from when it was handed to the store until the snapshot has it.
Rule 2: of what other nodes committed, the oldest of each look at the feed is timed, from the time in its history
record; that it is one sample a look keeps the measuring cheaper than what it measures.
Rule 3: what is there when the server starts is not late: timing begins when the feed has been empty once.
Called by: measured_store.py.
"""

from collections.abc import Sequence

from notbefore.control.metrics.meters import Meters
from notbefore.core.model import Scope
from notbefore.core.times import SECOND_MS
from notbefore.ports import Clock, HistoryQuery, Store, Stored


class Visible:
    def __init__(self, store: Store, clock: Clock, meters: Meters) -> None:
        self._store = store
        self._clock = clock
        self._own = meters.visible.labels("this_node")
        self._others = meters.visible.labels("other_node")
        self._handed_over_s: dict[str, float] = {}
        self._own_revisions: set[int] = set()
        self._has_caught_up = False
        self._sample: int | None = None
        self._applied_ms: int | None = None

    # -- own commits

    def hand_over(self, scope: Scope) -> None:
        self._handed_over_s[scope.key] = self._clock.steady_s()

    def committed(self, stored: Stored) -> None:
        self._own_revisions.add(stored.revision)

    def not_committed(self, scope: Scope) -> None:
        self._handed_over_s.pop(scope.key, None)

    def applied(self, scope: Scope) -> None:
        """The snapshot has it, whether the turn brought it or the feed did."""
        began_s = self._handed_over_s.pop(scope.key, None)
        if began_s is not None:
            self._own.observe(self._clock.steady_s() - began_s)

    # -- commits of others

    def look(self) -> None:
        """The feed is looked at again, so what it brought last has been applied."""
        if self._sample is not None and self._applied_ms is None:
            self._applied_ms = self._clock.now().wall_ms

    def brought(self, changes: Sequence[Stored]) -> None:
        if not changes:
            self._has_caught_up = True
            return
        if self._has_caught_up and self._sample is None:
            self._sample = next((one.revision for one in changes if self._is_foreign(one)), None)
            self._applied_ms = None
        newest = changes[-1].revision
        self._own_revisions = {one for one in self._own_revisions if one > newest}

    async def time_sample(self) -> None:
        """Asked while the follower has nothing else to do. A commit without a record has no time of its own."""
        revision, self._sample = self._sample, None
        applied_ms, self._applied_ms = self._applied_ms, None
        if revision is None or applied_ms is None:
            return
        for stored in await self._store.history(HistoryQuery(after=revision - 1, limit=1)):
            if stored.revision == revision:
                self._others.observe(max(0, applied_ms - stored.record.at_ms) / SECOND_MS)

    def _is_foreign(self, stored: Stored) -> bool:
        return stored.revision not in self._own_revisions and stored.scope.key not in self._handed_over_s
