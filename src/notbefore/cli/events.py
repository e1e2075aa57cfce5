"""events: which there are; approve, cancel, complete: an operator's word on them."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated

import typer

from notbefore.cli.control_api import Json, connect
from notbefore.cli.event_lines import show_events
from notbefore.cli.listing import Listing, show_list
from notbefore.cli.local_times import Utc, shown_time
from notbefore.cli.one_by_one import one_by_one
from notbefore.cli.options import AsJson, Events, OfScope, Watch, word_of
from notbefore.control_client import Event
from notbefore.control_client.shapes import shaped
from notbefore.core.kinds import Status

COLUMNS = ("id", "scope", "type", "status", "source", "not before", "vms", "waiting for")
Statuses = Annotated[
    list[str] | None,
    typer.Option("--status", metavar="STATUS", help=f"Only this: {', '.join(Status)}; may be repeated."),
]
All = Annotated[bool, typer.Option("--all", help="Ended ones too (the newest 100).")]

HELP: Mapping[str, str] = {
    "approve": """Approve events, as the operator: they start now.

    An operator's approval releases an event under any approval policy.

    Example: `notbefore approve 602D9444-D2CD-49C7-8624-8643E7171297`
    """,
    "cancel": """Cancel events that have not started.

    A cancelled event is simply no longer in the document that VMs get. After its start it is too late.

    Example: `notbefore cancel 602D9444-D2CD-49C7-8624-8643E7171297`
    """,
    "complete": """Declare started events complete.

    An event ends by itself when its impact is over; this is the operator's word that it is.

    Example: `notbefore complete 602D9444-D2CD-49C7-8624-8643E7171297`
    """,
}


def events(
    *,
    scope: OfScope = None,
    status: Statuses = None,
    everything: All = False,
    watch: Watch = False,
    utc: Utc = False,  # noqa: ARG001  its callback took it
    as_json: AsJson = False,
) -> None:
    """List events: the live ones (Queued, Scheduled, Started) unless asked otherwise.

    Each with what it waits for. Queued events are not visible to VMs yet.

    Example: `notbefore events --scope demo --status Scheduled`, or `notbefore events --watch`
    """
    if everything and status:
        raise typer.BadParameter("--status has no place beside it.", param_hint="--all")
    asked = list(Status) if everything else [word_of(one, list(Status), "--status") for one in status or ()]
    api = connect()
    query = {"scope": scope, "status": asked}
    listing = Listing(COLUMNS, _row, "No events.")
    show_list(listing, lambda: list(api.get("events", query=query)["events"]), as_json=as_json, watch=watch)


def _row(raw: Json) -> list[str]:
    event = shaped(Event, raw)
    vms, not_before = ", ".join(event.vms), shown_time(event.not_before)
    return [event.id, event.scope, event.type, event.status, event.source, not_before, vms, event.waiting_for]


def command_for(action: str) -> Callable[..., None]:
    def command(event: Events, *, as_json: AsJson = False) -> None:
        api = connect()
        shown = partial(show_events, as_json=as_json)
        ids = [event_id.upper() for event_id in event]
        shown(one_by_one(ids, lambda event_id: api.post("events", event_id, action), shown))

    command.__doc__ = HELP[action]
    return command
