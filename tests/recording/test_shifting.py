"""NotBefore in a replay: where it falls, in which form, and that nothing else is touched."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notbefore.core.times import SECOND_MS
from notbefore.recording.shifting import Shift
from notbefore.wire.times import parse_iso, rfc1123

BEGAN_MS = parse_iso("2026-03-02T12:00:00Z")
LATER_MS = parse_iso("2026-11-16T16:00:00Z")


def moved(text, start_ms=LATER_MS, rate=1.0):
    return Shift(BEGAN_MS, start_ms, rate).moved(text.encode()).decode()


def test_at_rate_1_it_lies_as_far_from_the_beginning_as_it_did():
    assert moved('{"NotBefore":"Mon, 02 Mar 2026 12:15:00 GMT"}') == '{"NotBefore":"Mon, 16 Nov 2026 16:15:00 GMT"}'


def test_at_a_rate_it_is_when_it_falls_in_the_replay():
    """At 60 times the pace a quarter of an hour is a quarter of a minute."""
    assert moved('{"NotBefore":"Mon, 02 Mar 2026 12:15:00 GMT"}', rate=60.0) == (
        '{"NotBefore":"Mon, 16 Nov 2026 16:00:15 GMT"}'
    )


def test_it_keeps_the_form_it_had():
    """ISO 8601 in 2017-03-01 [seed], RFC 1123 from then on [real]."""
    assert moved('{"NotBefore": "2026-03-02T12:15:00Z"}') == '{"NotBefore": "2026-11-16T16:15:00Z"}'


def test_a_wrong_day_of_the_week_is_no_reason_to_leave_it():
    """Documented examples have wrong ones [real]."""
    assert "Mon, 16 Nov 2026 16:15:00 GMT" in moved('{"NotBefore":"Fri, 02 Mar 2026 12:15:00 GMT"}')


def test_it_is_rounded_up_so_that_no_notice_becomes_shorter():
    assert "16:15:01 GMT" in moved('{"NotBefore":"Mon, 02 Mar 2026 12:15:00 GMT"}', LATER_MS + 1)


@pytest.mark.parametrize(
    "text",
    [
        '{"NotBefore":""}',
        '{"NotBefore":null}',
        '{"NotBefore":"soon"}',
        '{"NotBefore":"Mon, 99 Mar 2026 12:15:00 GMT"}',
        '{"NotBefore":"2026-13-02T12:15:00Z"}',
        '{"Description":"\\"NotBefore\\":\\"Mon, 02 Mar 2026 12:15:00 GMT\\""}',
        '{"a\\"NotBefore":"Mon, 02 Mar 2026 12:15:00 GMT"}',
        '{"notbefore":"Mon, 02 Mar 2026 12:15:00 GMT"}',
        '{"Description":"NotBefore: Mon, 02 Mar 2026 12:15:00 GMT"}',
    ],
)
def test_what_is_no_date_of_a_not_before_stays_as_it_is(text):
    assert moved(text) == text


@pytest.mark.parametrize("start", ["1970-01-01T00:00:00Z", "8999-12-31T00:00:00Z"])
def test_a_date_that_would_leave_time_stays_within_it(start):
    body = '{"NotBefore":"Fri, 31 Dec 9999 23:59:59 GMT"}'

    assert json.loads(moved(body, parse_iso(start), 0.001))


TEXTS = st.text(max_size=20) | st.sampled_from(['"NotBefore":"', "NotBefore", '\\"NotBefore\\"', "\\"])


@given(
    st.recursive(
        st.none() | st.integers() | TEXTS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
        max_leaves=10,
    ),
    st.booleans(),
)
def test_in_any_document_only_the_dates_of_not_befores_change(around, is_ascii):
    """Whatever stands around it, in whatever strings and keys, comes back as it was."""
    date = rfc1123(BEGAN_MS + 900 * SECOND_MS)
    whole = {"before": around, "Events": [{"NotBefore": date, "Description": f'"NotBefore":"{date}"'}], "after": around}

    after = json.loads(moved(json.dumps(whole, ensure_ascii=is_ascii)))

    assert after["Events"][0].pop("NotBefore") == rfc1123(LATER_MS + 900 * SECOND_MS)
    whole["Events"][0].pop("NotBefore")
    assert after == whole
