"""What a rollout keeps to, as people type it: budget, recovery, windows, rate, rest; and in which order it goes.

Rule 1: what can be seen to be wrong here is wrong usage; what only the server knows (hosts, time zones) it refuses.
"""

import re
from collections.abc import Sequence
from typing import Annotated

import typer

from notbefore.cli.control_api import Json
from notbefore.cli.durations import duration_s
from notbefore.cli.options import given, word_of
from notbefore.core.rollout import Order
from notbefore.core.windows import DAYS

LIMITS = "What a rollout keeps to"
WINDOW_EXAMPLE = "Sat,Sun 22:00-04:00 Europe/Prague"
WINDOW = re.compile(r"(?:(?P<days>[A-Za-z,-]+) )?(?P<opens>\d\d:\d\d)-(?P<closes>\d\d:\d\d)(?: (?P<zone>\S+))?")
IMPACTS = re.compile(r"(\d{1,9})/(\S+)")

MaxHosts = Annotated[
    int | None,
    typer.Option(
        "--max-hosts",
        metavar="N",
        min=1,
        rich_help_panel=LIMITS,
        help="At most so many hosts at once; 1 over hosts when no --max- is given.",
    ),
]
MaxScopes = Annotated[
    int | None,
    typer.Option(
        "--max-scopes",
        metavar="N",
        min=1,
        rich_help_panel=LIMITS,
        help="At most so many scopes at once; 1 over scopes when no --max- is given.",
    ),
]
MaxVms = Annotated[
    int | None,
    typer.Option("--max-vms", metavar="N", min=1, rich_help_panel=LIMITS, help="At most so many VMs at once."),
]
Recovery = Annotated[
    str | None,
    typer.Option(
        "--recovery",
        metavar="DURATION",
        rich_help_panel=LIMITS,
        help="Rest of a scope between two of its update domains, such as 5m.",
    ),
]
Windows = Annotated[
    list[str] | None,
    typer.Option(
        "--window",
        metavar="WINDOW",
        rich_help_panel=LIMITS,
        help=f'Only then, such as "{WINDOW_EXAMPLE}"; days as Mon-Fri too, UTC without a zone; may be repeated.',
    ),
]
Impacts = Annotated[
    str | None,
    typer.Option(
        "--impacts",
        metavar="N/DURATION",
        rich_help_panel=LIMITS,
        help="At most so many impacts in any such span: 10/1h.",
    ),
]
VmRest = Annotated[
    str | None,
    typer.Option(
        "--vm-rest",
        metavar="DURATION",
        rich_help_panel=LIMITS,
        help="No VM that was hit within this span, by whatever it was: 7d.",
    ),
]
MaxFailed = Annotated[
    int | None,
    typer.Option(
        "--max-failed",
        metavar="N",
        min=0,
        rich_help_panel=LIMITS,
        help="Halt when impacts failed on more VMs than this; without it at the first.",
    ),
]
Ordered = Annotated[
    str | None,
    typer.Option(
        "--order",
        metavar="ORDER",
        rich_help_panel=LIMITS,
        help="name (as it is without it), smallest or largest first.",
    ),
]
First = Annotated[
    list[str] | None,
    typer.Option(
        "--first", metavar="NAME", rich_help_panel=LIMITS, help="A host or scope to begin with; may be repeated."
    ),
]


def limits_of(
    *,
    max_hosts: int | None,
    max_scopes: int | None,
    max_vms: int | None,
    recovery: str | None,
    window: Sequence[str] | None,
    impacts: str | None,
    vm_rest: str | None,
    max_failed: int | None,
) -> Json:
    """In the control API's shape; what was not said is left to the server."""
    return given(
        max_hosts=max_hosts,
        max_scopes=max_scopes,
        max_vms=max_vms,
        recovery_s=None if recovery is None else duration_s(recovery, "--recovery"),
        windows=[window_of(one) for one in window or ()],
        vm_rest_s=None if vm_rest is None else duration_s(vm_rest, "--vm-rest"),
        failed_max=max_failed,
        **({} if impacts is None else rate_of(impacts)),
    )


def order_of(order: str | None) -> str | None:
    return None if order is None else word_of(order, list(Order), "--order")


def rate_of(text: str) -> Json:
    found = IMPACTS.fullmatch(text)
    if not found:
        raise typer.BadParameter(f"{text!r} is no number in a span such as 10/1h.", param_hint="--impacts")
    return {"impacts_max": int(found[1]), "impacts_per_s": duration_s(found[2], "--impacts")}


def window_of(text: str) -> Json:
    found = WINDOW.fullmatch(text.strip())
    if not found:
        raise typer.BadParameter(f'{text!r} is no window such as "{WINDOW_EXAMPLE}".', param_hint="--window")
    days = [day for part in found["days"].split(",") for day in _days_in(part)] if found["days"] else list(DAYS)
    return {"days": days, "from": found["opens"], "to": found["closes"], "time_zone": found["zone"] or "UTC"}


def _days_in(part: str) -> list[str]:
    """`Sat`, or all from one to another as in `Fri-Mon`."""
    first, dash, last = part.partition("-")
    begin = DAYS.index(word_of(first, DAYS, "--window"))
    if not dash:
        return [DAYS[begin]]
    number = (DAYS.index(word_of(last, DAYS, "--window")) - begin) % len(DAYS) + 1
    return [DAYS[(begin + step) % len(DAYS)] for step in range(number)]
