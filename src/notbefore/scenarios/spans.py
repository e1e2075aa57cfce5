"""Times of a scenario as people write them: `45s`, `15m`, `1h30m`, `7d`."""

import re

SPAN_MAX_S = 366 * 24 * 3600
SPAN_WORDS = "a time such as 0s, 14m59s, 2h or 7d"
_SPAN = re.compile(r"(?:(\d{1,4})d)?(?:(\d{1,5})h)?(?:(\d{1,6})m)?(?:(\d{1,8})s)?")
_UNITS = ((24 * 3600, "d"), (3600, "h"), (60, "m"), (1, "s"))


def seconds_in(text: str) -> int | None:
    """None when it is no span, or a longer one than a scenario may have."""
    found = _SPAN.fullmatch(text.lower())
    if not text or not found:
        return None
    seconds = sum(int(number) * unit_s for number, (unit_s, _) in zip(found.groups("0"), _UNITS, strict=True))
    return seconds if seconds <= SPAN_MAX_S else None


def shown_span(seconds: int) -> str:
    """As it would be written: `1h30m`; `0s` for none."""
    if seconds < 0:
        return f"-{shown_span(-seconds)}"
    shown = ""
    for unit_s, letter in _UNITS:
        count, seconds = divmod(seconds, unit_s)
        shown += f"{count}{letter}" if count else ""
    return shown or "0s"
