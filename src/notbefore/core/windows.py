"""Windows: the hours of the week in which a rollout may touch VMs.

Rule 1: a window is told in local time. What daylight saving skips does not exist: a window that lies in the gap is
skipped, one that reaches into it is that much shorter.
Rule 2: an hour that comes twice counts once, the first time.
Rule 3: a window that ends at or before its beginning ends on the next day.
Rule 4: the rules of time zones are constants, kept by `zoneinfo`; an unknown zone is refused when a window is made.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from heapq import merge
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from notbefore.core.errors import Invalid
from notbefore.core.times import SECOND_MS

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DAY_MIN = 24 * 60
LOOKED_AHEAD_DAYS = 400
WINDOWS_MAX = 20

Opening = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Window:
    """Days of the week on which it begins, from and to in minutes after midnight."""

    days: tuple[str, ...]
    from_min: int
    to_min: int
    time_zone: str = "UTC"


def check_window(window: Window) -> None:
    unknown = [day for day in window.days if day not in DAYS]
    if not window.days or unknown:
        raise Invalid(
            f"A window's days are some of {', '.join(DAYS)}, not {', '.join(unknown) or 'none'}.",
            facts={"field": "windows.days"},
        )
    if not (0 <= window.from_min < DAY_MIN and 0 <= window.to_min <= DAY_MIN):
        raise Invalid("A window goes from 00:00 to 24:00.", facts={"field": "windows"})
    try:
        ZoneInfo(window.time_zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise Invalid(
            f"There is no time zone {window.time_zone!r}.",
            "Name one of the tz database, such as Europe/Prague or UTC.",
            {"field": "windows.time_zone", "time_zone": window.time_zone},
        ) from None


def first_fit_ms(windows: Sequence[Window], at_ms: int, need_ms: int) -> int | None:
    """From `at_ms` on the first time at which a window stays open for so long; None when there is none in a year."""
    if not windows:
        return at_ms
    for begin_ms, end_ms in openings_from(windows, at_ms):
        start_ms = max(begin_ms, at_ms)
        if start_ms + need_ms <= end_ms:
            return start_ms
    return None


def closes_ms(windows: Sequence[Window], at_ms: int) -> int | None:
    """When the window that is open at that time closes; None when there are no windows."""
    return next((end_ms for _, end_ms in openings_from(windows, at_ms)), None)


def openings_from(windows: Sequence[Window], at_ms: int) -> Iterator[Opening]:
    """When it is open, in order, windows that touch or overlap as one; from the one that `at_ms` lies in."""
    last: Opening | None = None
    for begin_ms, end_ms in merge(*(openings_of(window, at_ms) for window in windows)):
        if last and begin_ms <= last[1]:
            last = (last[0], max(last[1], end_ms))
            continue
        if last:
            yield last
        last = (begin_ms, end_ms)
    if last:
        yield last


def openings_of(window: Window, at_ms: int) -> Iterator[Opening]:
    """Of one window, in order. Of several, a later day may come first: each has the days of its own zone."""
    first_day = datetime.fromtimestamp(at_ms // SECOND_MS, UTC).date() - timedelta(days=2)
    for day in range(LOOKED_AHEAD_DAYS):
        for opening in openings_on(window, first_day + timedelta(days=day)):
            if opening[1] > at_ms:
                yield opening


def openings_on(window: Window, day: date) -> list[Opening]:
    """Of the window that begins on this local day; none, one, or two with the repeated hour between them."""
    if DAYS[day.weekday()] not in window.days:
        return []
    zone = ZoneInfo(window.time_zone)
    midnight = datetime(day.year, day.month, day.day)  # noqa: DTZ001  local time, whose zone comes with `instant`
    over_night = DAY_MIN if window.to_min <= window.from_min else 0
    begin = instant(midnight + timedelta(minutes=window.from_min), zone)
    end = instant(midnight + timedelta(minutes=window.to_min + over_night), zone)
    return [(in_ms(one), in_ms(other)) for one, other in once_each(begin, end, zone) if one < other]


def instant(local: datetime, zone: ZoneInfo) -> datetime:
    """When clocks show this: the first time; and where they skip it, the moment they do."""
    found = local.replace(tzinfo=zone).astimezone(UTC)
    if found.astimezone(zone).replace(tzinfo=None) == local:
        return found
    return change_between(local.replace(tzinfo=zone, fold=1).astimezone(UTC), found, zone)


def once_each(begin: datetime, end: datetime, zone: ZoneInfo) -> list[tuple[datetime, datetime]]:
    """Without the hour that clocks show for the second time."""
    repeated = offset_at(begin, zone) - offset_at(end, zone)
    if repeated <= timedelta():
        return [(begin, end)]
    turned_back = change_between(begin, end, zone)
    return [(begin, turned_back), (turned_back + repeated, end)]


def change_between(low: datetime, high: datetime, zone: ZoneInfo) -> datetime:
    """The second at which the zone's offset changes."""
    before = offset_at(low, zone)
    while high - low > timedelta(seconds=1):
        middle = low + timedelta(seconds=(high - low) // timedelta(seconds=2))
        low, high = (middle, high) if offset_at(middle, zone) == before else (low, middle)
    return high


def offset_at(at: datetime, zone: ZoneInfo) -> timedelta:
    return at.astimezone(zone).utcoffset() or timedelta()


def in_ms(at: datetime) -> int:
    return int(at.timestamp()) * SECOND_MS
