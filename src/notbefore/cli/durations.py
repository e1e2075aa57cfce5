"""Times as people type them: `90`, `15m`, `1h30m`; and a NotBefore, given as a time or as so long from now."""

import re
from math import ceil

import typer

from notbefore.cli.control_api import ControlApi
from notbefore.core.times import SECOND_MS, iso
from notbefore.wire.times import parse_iso

_SPAN = re.compile(r"(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,8})m)?(?:(\d{1,9})s)?")
_SECONDS = re.compile(r"\d{1,9}")
_UNITS_S = (24 * 3600, 3600, 60, 1)
# The server shows its clock to the second and has moved on a little by the time it reads the request; without this
# a notice that is exactly as long as allowed would be refused as too early.
SHOWN_MARGIN_S = 1
ON_THE_WAY_S = 1


def duration_s(text: str, what: str) -> int:
    """Seconds; `what` names the argument in the usage error."""
    if _SECONDS.fullmatch(text):
        return int(text)
    span = _SPAN.fullmatch(text)
    if not text or not span:
        raise typer.BadParameter(f"{text!r} is no duration such as 90, 90s, 15m, 2h, 1d or 1h30m.", param_hint=what)
    return sum(int(number) * unit_s for number, unit_s in zip(span.groups("0"), _UNITS_S, strict=True))


def not_before(text: str, api: ControlApi) -> str:
    """ISO 8601. `+20m` and `20m` count from now by the server's clock, which is the one that will be judged by."""
    if text.startswith("+") or text[-1:] in ("d", "h", "m", "s"):
        wait_s = duration_s(text.removeprefix("+"), "--not-before")
        clock = api.get("clock")
        stands = clock.get("paused", clock["kind"] != "real")
        margin_s = 0 if stands else SHOWN_MARGIN_S + ceil(ON_THE_WAY_S * clock.get("rate", 1))
        return iso(parse_iso(clock["now"]) + (wait_s + margin_s) * SECOND_MS)
    try:
        parse_iso(text)
    except (ValueError, OverflowError):
        raise typer.BadParameter(
            f"{text!r} is neither a time such as 2026-09-19T18:29:47Z nor a duration such as +20m.",
            param_hint="--not-before",
        ) from None
    return text
