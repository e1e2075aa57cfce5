"""Windows: days, hours and time zones, and the two nights a year that are shorter or longer (issue 6)."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import pairwise, takewhile
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from journeys import PROOF

from notbefore.core.errors import Invalid
from notbefore.core.windows import DAYS, Window, check_window, first_fit_ms, openings_from

PRAGUE, LORD_HOWE = "Europe/Prague", "Australia/Lord_Howe"
EVERY_DAY = DAYS
MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000


def at(text: str, zone: str = "UTC", fold: int = 0) -> int:
    """`2026-03-29 01:30`, as the clocks of that zone show it."""
    return round(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).timestamp() * 1000)


def window(hours: str, days=EVERY_DAY, zone: str = "UTC") -> Window:
    """`22:00-04:00`."""
    ends = [int(hour) * 60 + int(minute) for hour, minute in (end.split(":") for end in hours.split("-"))]
    return Window(tuple(days), *ends, zone)


def opened(windows, since: str, days: float = 1.0) -> list[str]:
    """When it is open in that time, in UTC."""
    since_ms = at(since)
    until_ms = since_ms + round(days * DAY_MS)
    found = takewhile(lambda one: one[0] < until_ms, openings_from(windows, since_ms))
    return [f"{shown(begin_ms)} - {shown(end_ms)}" for begin_ms, end_ms in found]


def shown(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms // 1000, UTC):%d %H:%M}"


# -- Days and hours


def test_without_windows_it_is_always_open():
    """A rollout that names none may touch VMs at any time."""
    assert first_fit_ms((), 12_345, 10**9) == 12_345


def test_a_window_is_open_on_its_days_only():
    """2026-03-07 is a Saturday."""
    weekend = window("09:00-12:00", ["Sat", "Sun"])

    assert opened([weekend], "2026-03-02 00:00", 8) == ["07 09:00 - 07 12:00", "08 09:00 - 08 12:00"]


def test_a_window_over_midnight_belongs_to_the_day_it_begins_on():
    """Rule 3: one that ends at or before its beginning ends on the next day."""
    friday_night = window("22:00-04:00", ["Fri"])

    assert opened([friday_night], "2026-03-02 00:00", 7) == ["06 22:00 - 07 04:00"]
    assert first_fit_ms([friday_night], at("2026-03-07 03:00"), HOUR_MS) == at("2026-03-07 03:00")


@pytest.mark.parametrize("hours", ["00:00-24:00", "00:00-00:00", "07:30-07:30"])
def test_a_window_of_a_whole_day_every_day_never_closes(hours):
    """Rule 3, and windows that touch are one."""
    always = window(hours)

    assert first_fit_ms([always], at("2026-03-02 12:00"), 300 * DAY_MS) == at("2026-03-02 12:00")


def test_windows_that_touch_or_overlap_are_one():
    """A wave may begin in one and end in the next."""
    evening, night, late = window("20:00-22:00"), window("22:00-01:00"), window("00:30-02:00")

    assert opened([night, late, evening], "2026-03-02 12:00") == ["02 20:00 - 03 02:00"]
    assert first_fit_ms([night, late, evening], at("2026-03-02 12:00"), 6 * HOUR_MS) == at("2026-03-02 20:00")


def test_a_window_of_another_zone_is_not_lost_though_its_date_is_a_later_one():
    """It is Tuesday 01:00 in Tokyo before it is Monday 22:00 in Los Angeles."""
    tokyo = window("01:00-05:00", zone="Asia/Tokyo")
    angeles = window("22:00-23:00", zone="America/Los_Angeles")

    assert opened([angeles, tokyo], "2026-01-05 12:00", 1) == ["05 16:00 - 05 20:00", "06 06:00 - 06 07:00"]


def test_hours_are_those_of_the_windows_zone():
    """Prague is an hour ahead in winter and two in summer."""
    night = window("22:00-23:00", zone=PRAGUE)

    assert opened([night], "2026-01-10 00:00") == ["10 21:00 - 10 22:00"]
    assert opened([night], "2026-07-10 00:00") == ["10 20:00 - 10 21:00"]


def test_the_first_fit_is_now_when_there_is_enough_left_and_else_a_later_opening():
    """What is asked for is time enough from there on, to the last millisecond."""
    night = [window("22:00-02:00")]
    inside, end_ms = at("2026-03-02 23:30"), at("2026-03-03 02:00")

    assert first_fit_ms(night, inside, end_ms - inside) == inside
    assert first_fit_ms(night, inside, end_ms - inside + 1) == at("2026-03-03 22:00")
    assert first_fit_ms(night, inside + 1, end_ms - inside) == at("2026-03-03 22:00")
    assert first_fit_ms(night, end_ms, 0) == at("2026-03-03 22:00")


def test_where_no_window_is_long_enough_there_is_no_fit():
    """None within a year and more: the plan says so instead of waiting for ever."""
    assert first_fit_ms([window("22:00-02:00")], at("2026-03-02 12:00"), 4 * HOUR_MS + 1) is None


# -- Daylight saving. Prague: 2026-03-29 02:00 -> 03:00 (01:00 UTC), 2026-10-25 03:00 -> 02:00 (01:00 UTC).


def test_a_window_inside_the_gap_is_skipped():
    """Rule 1: what daylight saving skips does not exist."""
    assert opened([window("02:00-03:00", zone=PRAGUE)], "2026-03-28 12:00", 1) == []
    assert opened([window("02:15-02:45", zone=PRAGUE)], "2026-03-28 12:00", 2) == ["30 00:15 - 30 00:45"]


def test_a_window_that_reaches_into_the_gap_is_that_much_shorter():
    """01:00 to 02:30 where 02:00 is 03:00: one hour."""
    assert opened([window("01:00-02:30", zone=PRAGUE)], "2026-03-28 12:00", 1) == ["29 00:00 - 29 01:00"]


def test_a_window_that_begins_in_the_gap_begins_after_it():
    """02:30 to 05:00 is 03:00 to 05:00."""
    assert opened([window("02:30-05:00", zone=PRAGUE)], "2026-03-28 12:00", 1) == ["29 01:00 - 29 03:00"]


def test_a_window_around_the_gap_has_an_hour_less():
    """22:00 to 04:00 is five hours that night."""
    assert opened([window("22:00-04:00", zone=PRAGUE)], "2026-03-28 12:00", 1) == ["28 21:00 - 29 02:00"]


def test_an_hour_that_comes_twice_counts_once():
    """Rule 2: the first time."""
    assert opened([window("02:00-03:00", zone=PRAGUE)], "2026-10-24 12:00", 1) == ["25 00:00 - 25 01:00"]
    assert opened([window("02:15-02:45", zone=PRAGUE)], "2026-10-24 12:00", 1) == ["25 00:15 - 25 00:45"]


def test_a_window_around_the_overlap_is_closed_while_the_hour_is_repeated():
    """22:00 to 04:00: until the clocks go back, and again from 03:00."""
    night = window("22:00-04:00", zone=PRAGUE)

    assert opened([night], "2026-10-24 12:00", 1) == ["24 20:00 - 25 01:00", "25 02:00 - 25 03:00"]
    assert first_fit_ms([night], at("2026-10-25 02:30", PRAGUE, fold=1), 0) == at("2026-10-25 03:00", PRAGUE)
    assert first_fit_ms([night], at("2026-10-25 02:30", PRAGUE), 0) == at("2026-10-25 02:30", PRAGUE)


def test_a_window_from_the_repeated_hour_on_begins_the_first_time():
    """02:30 to 05:00: half an hour, a pause of an hour, two hours."""
    assert opened([window("02:30-05:00", zone=PRAGUE)], "2026-10-24 12:00", 1) == [
        "25 00:30 - 25 01:00",
        "25 02:00 - 25 04:00",
    ]


def test_a_change_of_half_an_hour_skips_and_repeats_half_an_hour():
    """Lord Howe: 2026-04-05 02:00 -> 01:30, 2026-10-04 02:00 -> 02:30."""
    night = window("01:00-03:00", zone=LORD_HOWE)

    assert opened([night], "2026-04-04 10:00", 0.5) == ["04 14:00 - 04 15:00", "04 15:30 - 04 16:30"]
    assert opened([night], "2026-10-03 10:00", 0.5) == ["03 14:30 - 03 16:00"]


def test_a_day_that_a_zone_left_out_has_no_window():
    """Samoa had no 2011-12-30, a Friday."""
    friday = window("09:00-17:00", ["Fri"], "Pacific/Apia")

    assert opened([friday], "2011-12-28 00:00", 7) == []


# -- Against a count of minutes


def is_open(windows, at_ms: int) -> bool:
    """Rules 1 to 3 in their own words, for one minute."""
    return any(is_open_at(one, datetime.fromtimestamp(at_ms // 1000, ZoneInfo(one.time_zone))) for one in windows)


def is_open_at(one: Window, local: datetime) -> bool:
    minute = local.hour * 60 + local.minute
    today, yesterday = (DAYS[(local - timedelta(days=ago)).weekday()] in one.days for ago in (0, 1))
    over_night = one.to_min <= one.from_min
    return local.fold == 0 and (
        (today and one.from_min <= minute and (over_night or minute < one.to_min))
        or (over_night and yesterday and minute < one.to_min)
    )


CHANGES = [
    *(("2026-03-29", PRAGUE), ("2026-10-25", PRAGUE), ("2026-03-08", "America/New_York")),
    *(("2026-11-01", "America/New_York"), ("2026-04-05", LORD_HOWE), ("2026-10-04", LORD_HOWE)),
    *(("2018-11-04", "America/Sao_Paulo"), ("2018-02-18", "America/Sao_Paulo"), ("2010-11-07", "America/St_Johns")),
    *(("2011-12-30", "Pacific/Apia"), ("2024-03-31", "America/Scoresbysund"), ("2026-06-15", "Asia/Kathmandu")),
]
minutes = st.one_of(st.integers(0, 1439), st.sampled_from([0, 30, 60, 90, 119, 120, 121, 150, 180, 240, 1380, 1439]))
days = st.sets(st.sampled_from(DAYS), min_size=1).map(lambda some: tuple(sorted(some)))


@st.composite
def windows_around_a_change(draw):
    day, zone = draw(st.sampled_from(CHANGES))
    zones = st.sampled_from([zone, zone, zone, "UTC", PRAGUE, "Pacific/Kiritimati", "Pacific/Midway"])
    each = st.builds(Window, days, minutes, st.one_of(minutes, st.just(1440)), zones)
    since_ms = at(day, zone) - draw(st.integers(0, 36 * 60)) * MINUTE_MS
    return since_ms // MINUTE_MS * MINUTE_MS, tuple(draw(st.lists(each, min_size=1, max_size=4)))


def many(examples, in_proof):
    return settings(max_examples=in_proof if PROOF else examples, deadline=None, database=None)


@many(60, 5000)
@given(windows_around_a_change())
@example(
    (
        at("2026-01-05 12:00"),
        (window("22:00-23:00", zone="Pacific/Midway"), window("00:00-01:00", zone="Pacific/Kiritimati")),
    )
)
def test_openings_are_what_counting_minutes_finds(case):
    """Rules 1 to 3, minute by minute over two days around changes of clocks, in zones near and far."""
    since_ms, windows = case
    until_ms = since_ms + 2 * DAY_MS
    found = list(takewhile(lambda one: one[0] < until_ms, openings_from(windows, since_ms)))

    counted = [at_ms for at_ms in range(since_ms, until_ms, MINUTE_MS) if is_open(windows, at_ms)]
    listed = [
        at_ms
        for begin_ms, end_ms in found
        for at_ms in range(max(begin_ms, since_ms), min(end_ms, until_ms), MINUTE_MS)
    ]
    assert listed == counted
    assert all(one[1] < other[0] for one, other in pairwise(found))


@many(40, 2000)
@given(windows_around_a_change(), st.integers(0, 6 * 60))
def test_the_first_fit_is_the_first_minute_from_which_it_stays_open(case, need_min):
    """By counting minutes: none of those before would have done."""
    since_ms, windows = case
    need_ms = need_min * MINUTE_MS
    fit_ms = first_fit_ms(windows, since_ms, need_ms)

    lasting = 0
    for at_ms in range(since_ms, since_ms + 2 * DAY_MS, MINUTE_MS):
        lasting = lasting + 1 if is_open(windows, at_ms) else 0
        if lasting and lasting >= need_min:
            # Openings begin at whole minutes, so the first fit does too.
            assert fit_ms == at_ms - (max(need_min, 1) - 1) * MINUTE_MS
            return
    assert fit_ms is None or fit_ms + need_ms > since_ms + 2 * DAY_MS - MINUTE_MS


# -- Refused


@pytest.mark.parametrize(
    ("wrong", "field", "named"),
    [
        (Window((), 0, 60), "windows.days", "none"),
        (Window(("Mon", "Caturday"), 0, 60), "windows.days", "Caturday"),
        (Window(("mon",), 0, 60), "windows.days", "mon"),
        (Window(EVERY_DAY, -1, 60), "windows", "24:00"),
        (Window(EVERY_DAY, 1440, 60), "windows", "24:00"),
        (Window(EVERY_DAY, 0, 1441), "windows", "24:00"),
        *((Window(EVERY_DAY, 0, 60, zone), "windows.time_zone", zone) for zone in ("Mars/Base", "../../etc/passwd")),
        *((Window(EVERY_DAY, 0, 60, zone), "windows.time_zone", "time zone") for zone in ("", "/etc/passwd", "a\0b")),
        (Window(EVERY_DAY, 0, 60, "Europe"), "windows.time_zone", "Europe"),
        (Window(EVERY_DAY, 0, 60, "x" * 5000), "windows.time_zone", "time zone"),
        (Window(EVERY_DAY, 0, 60, "Straße"), "windows.time_zone", "Straße"),
    ],
)
def test_a_window_that_cannot_be_is_refused_and_names_its_field(wrong, field, named):
    """Rule 4, and no zone is a way into the file system."""
    with pytest.raises(Invalid) as refused:
        check_window(wrong)

    assert refused.value.facts["field"] == field
    assert named in refused.value.message


@pytest.mark.parametrize("right", [window("00:00-24:00"), window("22:00-04:00", ["Sat"], LORD_HOWE)])
def test_a_window_that_can_be_is_taken(right):
    check_window(right)


def test_zones_are_known_where_the_system_has_none():
    """Slim containers have no tz database of their own: the package `tzdata` comes along."""
    program = (
        "from zoneinfo import TZPATH; from notbefore.core.windows import Window, check_window;"
        "check_window(Window(('Mon',), 0, 60, 'Europe/Prague')); print(TZPATH)"
    )
    bare = {**os.environ, "PYTHONTZPATH": ""}
    run = subprocess.run([sys.executable, "-c", program], env=bare, capture_output=True, text=True, check=False)

    assert (run.returncode, run.stdout, run.stderr) == (0, "()\n", "")
