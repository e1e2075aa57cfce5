"""Time as the core sees it: a reading with two hands, and a promise that has to pass on both.

Rule 1: a wall clock can be stepped, a boot clock cannot; a promise is kept when both say so (SPEC §4).
Rule 2: readings of two boots cannot be compared, so after another boot the wall clock decides alone.
Not here: reading a clock (clock.py), the dates of each api-version (wire/times.py).
"""

from dataclasses import dataclass
from datetime import UTC, datetime

SECOND_MS = 1000
HOUR_MS = 3600 * SECOND_MS


@dataclass(frozen=True, slots=True)
class Moment:
    """One reading of the clock: the wall's time, and the time since boot with the boot it belongs to."""

    wall_ms: int
    boot_ms: int
    boot_id: str


@dataclass(frozen=True, slots=True)
class Span:
    """A promise made at `since` that nothing happens before the wall clock shows `until_ms`."""

    since: Moment
    until_ms: int

    def remaining_ms(self, now: Moment) -> int:
        """How long both hands still have to move; 0 when the promise is kept."""
        on_the_wall = self.until_ms - now.wall_ms
        if now.boot_id != self.since.boot_id:
            return max(0, on_the_wall)
        promised = self.until_ms - self.since.wall_ms
        really = promised - (now.boot_ms - self.since.boot_ms)
        return max(0, on_the_wall, really)

    def has_passed(self, now: Moment) -> bool:
        return self.remaining_ms(now) == 0


def rounded_up_to_second(at_ms: int) -> int:
    """NotBefore is shown to the second, so it is rounded up: the shown time never comes too early."""
    return -(-at_ms // SECOND_MS) * SECOND_MS


def iso(at_ms: int) -> str:
    """Kept to the millisecond, shown to the second: `2016-09-19T18:29:47Z` [seed]."""
    return datetime.fromtimestamp(at_ms // SECOND_MS, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
