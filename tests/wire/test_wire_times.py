"""Dates on the wire (SPEC §2.2): ISO 8601 and RFC 1123, in English and in UTC."""

import pytest
from wire_builders import NOT_BEFORE_MS

from notbefore.wire.times import iso, parse_iso, rfc1123


def test_iso_as_the_seeds_print_it():
    """SPEC §2.2: `2016-09-19T18:29:47Z` [seed]."""
    assert iso(NOT_BEFORE_MS) == "2016-09-19T18:29:47Z"


def test_rfc_1123_as_the_real_service_prints_it():
    """SPEC §2.2: `Mon, 19 Sep 2016 18:29:47 GMT` [real]."""
    assert rfc1123(NOT_BEFORE_MS) == "Mon, 19 Sep 2016 18:29:47 GMT"


@pytest.mark.parametrize(
    ("date", "printed"),
    [
        ("2024-01-01T00:00:00Z", "Mon, 01 Jan 2024 00:00:00 GMT"),
        ("2024-02-29T23:59:59Z", "Thu, 29 Feb 2024 23:59:59 GMT"),
        ("2025-03-04T05:06:07Z", "Tue, 04 Mar 2025 05:06:07 GMT"),
        ("2026-04-11T00:00:00Z", "Sat, 11 Apr 2026 00:00:00 GMT"),
        ("2026-05-03T00:00:00Z", "Sun, 03 May 2026 00:00:00 GMT"),
        ("2026-06-05T00:00:00Z", "Fri, 05 Jun 2026 00:00:00 GMT"),
        ("2026-07-08T00:00:00Z", "Wed, 08 Jul 2026 00:00:00 GMT"),
        ("2026-08-01T00:00:00Z", "Sat, 01 Aug 2026 00:00:00 GMT"),
        ("2026-10-10T00:00:00Z", "Sat, 10 Oct 2026 00:00:00 GMT"),
        ("2026-11-11T00:00:00Z", "Wed, 11 Nov 2026 00:00:00 GMT"),
        ("2026-12-31T23:59:59Z", "Thu, 31 Dec 2026 23:59:59 GMT"),
    ],
)
def test_every_month_and_day_has_its_english_name_and_two_digits(date, printed):
    """SPEC §2.2: RFC 1123, whatever the locale of the server is."""
    assert rfc1123(parse_iso(date)) == printed


@pytest.mark.parametrize("past_ms", [1, 999])
def test_times_are_shown_to_the_second(past_ms):
    """SPEC §4: "kept to the millisecond, shown to the second"."""
    assert iso(NOT_BEFORE_MS + past_ms) == iso(NOT_BEFORE_MS)
    assert rfc1123(NOT_BEFORE_MS + past_ms) == rfc1123(NOT_BEFORE_MS)


@pytest.mark.parametrize(
    ("text", "after_ms"),
    [
        ("2016-09-19T18:29:47Z", 0),
        ("2016-09-19T18:29:47", 0),
        ("2016-09-19T18:29:47+00:00", 0),
        ("2016-09-19T20:29:47+02:00", 0),
        ("2016-09-19 18:29:47Z", 0),
        ("2016-09-19T18:29:47.123Z", 123),
        ("2016-09-19T18:30Z", 13_000),
    ],
)
def test_an_asked_time_may_carry_an_offset_and_is_utc_without(text, after_ms):
    """SPEC §4: times are UTC; DESIGN §5: times ISO 8601 UTC."""
    assert parse_iso(text) - NOT_BEFORE_MS == after_ms


@pytest.mark.parametrize("text", ["", "soon", "2016-13-01T00:00:00Z", "19 Sep 2016"])
def test_what_is_no_time_is_refused(text):
    """DESIGN §5: `not_before` is ISO 8601."""
    with pytest.raises(ValueError, match=r"[Ii]so|month"):
        parse_iso(text)
