"""Spans of time as tests write them (90, "15m", "1h30m", a timedelta), and as a story shows them (+15m)."""

import re
from datetime import timedelta

from notbefore.core.errors import Invalid

Span = float | str | timedelta

_TEXT = re.compile(r"(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,8})m)?(?:(\d{1,9}(?:\.\d{1,3})?)s?)?")
_UNITS_S = (24 * 3600, 3600, 60, 1)


def seconds_of(span: Span) -> float:
    if isinstance(span, timedelta):
        return span.total_seconds()
    if not isinstance(span, str):
        return float(span)
    found = _TEXT.fullmatch(span.replace(" ", ""))
    if not span.strip() or not found:
        raise Invalid(f"{span!r} is no span of time.", "Write seconds, or such as '90s', '15m', '1h30m', '1d'.")
    return sum(float(number) * unit_s for number, unit_s in zip(found.groups("0"), _UNITS_S, strict=True))


def perhaps_seconds(span: Span | None) -> float | None:
    return None if span is None else seconds_of(span)


def since_start(span: timedelta) -> str:
    """`+0s`, `+15m`, `+1h 2m 5s`."""
    left, parts = round(abs(span.total_seconds())), []
    for unit, unit_s in zip("dhms", _UNITS_S, strict=True):
        number, left = divmod(left, unit_s)
        parts += [f"{number}{unit}"] if number else []
    return ("-" if span < timedelta(0) else "+") + (" ".join(parts) or "0s")
