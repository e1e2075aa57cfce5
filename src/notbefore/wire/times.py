"""Dates as each api-version writes them. English names whatever the locale."""

from datetime import UTC, datetime

from notbefore.core.times import SECOND_MS, iso

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def rfc1123(at_ms: int) -> str:
    """`Mon, 19 Sep 2016 18:29:47 GMT` [real]."""
    at = datetime.fromtimestamp(at_ms // SECOND_MS, UTC)
    return f"{_DAYS[at.weekday()]}, {at.day:02} {_MONTHS[at.month - 1]} {at.year:04} {at:%H:%M:%S} GMT"


def parse_iso(text: str) -> int:
    """Milliseconds since the epoch of an ISO 8601 time; one without an offset is UTC. ValueError when it is none."""
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return round(at.timestamp() * SECOND_MS)


__all__ = ["iso", "parse_iso", "rfc1123"]
