"""ask: what the metadata endpoint tells a VM, asked as a VM asks it."""

import os
from typing import Annotated

import typer

from notbefore.cli.options import AsJson
from notbefore.cli.tables import show_table
from notbefore.client import EventView, ScheduledEvents
from notbefore.client.scheduled_events import DEFAULT_ENDPOINT
from notbefore.core.times import SECOND_MS, iso
from notbefore.wire.api_versions import NEWEST

COLUMNS = ("id", "status", "type", "not before", "resources", "source", "duration", "description")
Endpoint = Annotated[
    str | None,
    typer.Option("--endpoint", metavar="URL", help=f"NOTBEFORE_ENDPOINT when left out, else {DEFAULT_ENDPOINT}."),
]
Version = Annotated[str, typer.Option("--api-version", metavar="VERSION", help="The version to speak.")]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="ADDRESS", help="Ask from this address of the machine: it says which VM asks."),
]
Approve = Annotated[
    list[str] | None, typer.Option("--approve", metavar="EVENT", help="First say that it may start; may be repeated.")
]


def ask(
    *,
    endpoint: Endpoint = None,
    api_version: Version = NEWEST,
    source: From = None,
    approve: Approve = None,
    as_json: AsJson = False,
) -> None:
    """Ask the metadata endpoint, as a VM, what is about to happen.

    On Azure and in a VM of a notbefore fleet it needs no options. Against `notbefore serve --demo` name its metadata
    address; the demo's VMs are 127.0.0.1 to 127.0.0.4. With --json the document is printed as received.

    Example: `notbefore ask --endpoint http://127.0.0.1:8254 --from 127.0.0.2`
    """
    where = endpoint or os.environ.get("NOTBEFORE_ENDPOINT") or DEFAULT_ENDPOINT
    service = ScheduledEvents(where, api_version, source)
    service.approve(*approve or ())
    document = service.document()
    if as_json:
        print(document.raw)
        return
    show_table(COLUMNS, [_row(event) for event in document.events], "No events are scheduled.")
    print(f"incarnation {document.incarnation}")


def _row(event: EventView) -> list[str]:
    not_before = iso(round(event.not_before.timestamp() * SECOND_MS)) if event.not_before else "-"
    duration = f"{event.duration_s} s" if event.duration_s >= 0 else "-"
    resources = ", ".join(event.resources)
    source = event.source or "-"
    return [event.id, event.status, event.type, not_before, resources, source, duration, event.description or "-"]
