"""Time as the core sees it: a reading with two hands, and a promise that has to pass on both.

Rule 1: a wall clock can be stepped, a boot clock cannot; a promise is kept when both say so (SPEC §4).
Rule 2: boot clocks of two boots cannot be compared. A process that learned how old another boot's reading is
counts on from there on its own boot clock (`Now`); where nobody did, the wall clock decides alone.
Rule 3: what was learned stays in the process that learned it; promises are made by `promise`, which leaves it out.
Not here: reading a clock (clock.py), the dates of each api-version (wire/times.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

SECOND_MS = 1000
MS_NS = 1_000_000
HOUR_MS = 3600 * SECOND_MS
# Dates end with the year 9999; whatever follows from the latest time there may be can still be written.
LATEST_MS = int(datetime(9000, 1, 1, tzinfo=UTC).timestamp()) * SECOND_MS


@dataclass(frozen=True, slots=True)
class Moment:
    """One reading of the clock: the wall's time, and the time since boot with the boot it belongs to."""

    wall_ms: int
    boot_ms: int
    boot_id: str

    def elapsed_ms_since(self, earlier: "Moment") -> int | None:
        """What has really elapsed, or None when this reading cannot tell: the other is of another boot."""
        return self.boot_ms - earlier.boot_ms if self.boot_id == earlier.boot_id else None

    def promise(self, until_ms: int) -> "Span":
        """A promise made now. It keeps a bare reading, because it is stored and read by others."""
        return Span(Moment(self.wall_ms, self.boot_ms, self.boot_id), until_ms)


@dataclass(frozen=True, slots=True)
class Now(Moment):
    """A reading in the hands of a process that knows more.

    `learned`: what its own boot clock showed, or would have shown, when readings of other boots were taken.
    """

    learned: Mapping[Moment, int]

    def elapsed_ms_since(self, earlier: Moment) -> int | None:
        learned_ms = self.learned.get(earlier)
        if learned_ms is None:
            return Moment.elapsed_ms_since(self, earlier)
        return self.boot_ms - learned_ms


@dataclass(frozen=True, slots=True)
class Span:
    """A promise made at `since` that nothing happens before the wall clock shows `until_ms`."""

    since: Moment
    until_ms: int

    def remaining_ms(self, now: Moment) -> int:
        """How long both hands still have to move; 0 when the promise is kept."""
        on_the_wall = self.until_ms - now.wall_ms
        elapsed_ms = now.elapsed_ms_since(self.since)
        if elapsed_ms is None:
            return max(0, on_the_wall)
        promised_ms = self.until_ms - self.since.wall_ms
        return max(0, on_the_wall, promised_ms - elapsed_ms)

    def has_passed(self, now: Moment) -> bool:
        return self.remaining_ms(now) == 0


def is_still_to_come(until_ms: int, now: Moment, most_ms: int) -> bool:
    """For short waits that are no promises: one that a wall clock set back makes too long is over."""
    return 0 < until_ms - now.wall_ms <= most_ms


def rounded_up_to_second(at_ms: int) -> int:
    """NotBefore is shown to the second, so it is rounded up: the shown time never comes too early."""
    return -(-at_ms // SECOND_MS) * SECOND_MS


@lru_cache(1024)  # the same few times stand in many records
def iso(at_ms: int) -> str:
    """Kept to the millisecond, shown to the second: `2016-09-19T18:29:47Z` [seed]."""
    return datetime.fromtimestamp(at_ms // SECOND_MS, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
