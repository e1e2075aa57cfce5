"""What stands in paths and queries: an unknown parameter is refused by name, and so is one that is given twice."""

from typing import Annotated, get_args, get_origin
from urllib.parse import unquote_to_bytes

from fastapi import Path, Query, Request

from notbefore.control.bodies import time_of
from notbefore.control.examples import EVENT_ID
from notbefore.control.rollout_examples import OPERATION_ID, ROLLOUT_ID
from notbefore.core.errors import Invalid
from notbefore.core.times import SECOND_MS
from notbefore.event_loop import give_way

TEXT_MAX = 200
REVISION_MAX = 2**62

ScopeName = Annotated[str, Path(description="A scope's name, in any letter case.", examples=["shop"])]
VmName = Annotated[str, Path(description="The name of one of its VMs, in any letter case.", examples=["web-0"])]
HostName = Annotated[str, Path(description="A host's name, in any letter case.", examples=["rack-7"])]
EventId = Annotated[str, Path(description="An event's id, in any letter case.", examples=[EVENT_ID])]
OperationId = Annotated[str, Path(description="An operation's id, in any letter case.", examples=[OPERATION_ID])]
RolloutId = Annotated[str, Path(description="A rollout's id, in any letter case.", examples=[ROLLOUT_ID])]
Force = Annotated[bool, Query(description="Also when that removes VMs with a live event; they leave it.")]
Plan = Annotated[bool, Query(description="Change nothing: say what would be, or why it is refused.")]
OfScope = Annotated[str | None, Query(max_length=TEXT_MAX, description="Only of this scope.", examples=["shop"])]
OfEvent = Annotated[str | None, Query(max_length=TEXT_MAX, description="Only of this event.", examples=[EVENT_ID])]
OfVm = Annotated[
    str | None,
    Query(max_length=TEXT_MAX, description="Only what concerns this VM.", examples=["web-0"]),
]
By = Annotated[
    str | None,
    Query(
        max_length=TEXT_MAX,
        description="Only what was done by this VM, token, or kind: vm, operator, clock, executor, service.",
        examples=["operator admin"],
    ),
]
OfOperation = Annotated[
    str | None,
    Query(max_length=TEXT_MAX, description="Only of this operation and its events.", examples=[OPERATION_ID]),
]
OfRollout = Annotated[
    str | None,
    Query(max_length=TEXT_MAX, description="Only of this rollout, its waves and their events.", examples=[ROLLOUT_ID]),
]
What = Annotated[
    str | None,
    Query(
        max_length=TEXT_MAX,
        description="Only this: `started: approved`, or `started` with whatever reason.",
        examples=["started"],
    ),
]
Since = Annotated[
    str | None,
    Query(alias="since", description="From this time on.", examples=["2026-11-16T11:33:04Z"]),
]
Until = Annotated[
    str | None,
    Query(alias="until", description="Up to this time, its second included.", examples=["2026-11-16T11:48:04Z"]),
]
Revision = Annotated[
    int | None,
    Query(ge=0, le=REVISION_MAX, description="From behind this revision on.", examples=[0]),
]


async def known_only(request: Request) -> None:
    """A dependency: the parameters that the route takes, each once but for lists."""
    give_way()
    refuse_broken_text(request)
    takes = {one.alias: one.field_info.annotation for one in request.scope["route"].dependant.query_params}
    given = [name for name, _ in request.query_params.multi_items()]
    for name in given:
        if name not in takes:
            known = f"It is one of: {', '.join(takes)}." if takes else "There are none here."
            raise Invalid(f"Unknown parameter '{name}'.", known, {"parameter": name})
        if given.count(name) > 1 and not is_list(takes[name]):
            raise Invalid(f"Parameter '{name}' is given more than once.", facts={"parameter": name})


def refuse_broken_text(request: Request) -> None:
    """Bytes that are no UTF-8 would all become the same stand-in, and so the same name."""
    try:
        for part in (request.scope["raw_path"], request.scope["query_string"]):
            unquote_to_bytes(part).decode()
    except UnicodeDecodeError:
        raise Invalid("The address is not UTF-8.", "Percent-encode the UTF-8 of each name.") from None


def is_list(kind: object) -> bool:
    return any(get_origin(one) is list for one in (kind, *get_args(kind)))


def since(text: str | None) -> int | None:
    return time_of(text, "since")


def until(text: str | None) -> int | None:
    """Times are shown to the second, so a second that is named is meant whole."""
    at_ms = time_of(text, "until")
    return at_ms if at_ms is None or at_ms % SECOND_MS else at_ms + SECOND_MS - 1
