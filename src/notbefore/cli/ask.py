"""ask: what the metadata endpoint tells a VM, asked as a VM asks it.

Rule 1: the log of the client goes to stderr: what went wrong always, every step with --verbose.
"""

import json
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from notbefore.cli.exits import WrongUsage
from notbefore.cli.local_times import for_reader
from notbefore.cli.options import AsJson
from notbefore.cli.printable import printable
from notbefore.cli.tables import show_table
from notbefore.client import Change, ChangeKind, EventView, ScheduledEvents, discover_endpoint
from notbefore.client.endpoint import DEFAULT_ENDPOINT, log
from notbefore.core.errors import UnknownEvent
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
Discover = Annotated[
    bool,
    typer.Option(
        "--discover",
        help=f"Find the endpoint: {DEFAULT_ENDPOINT}, else what DHCP told the machine, else a DHCP request.",
    ),
]
Watching = Annotated[bool, typer.Option("--watch", help="Go on asking: a line for each change, until interrupted.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say on stderr what is tried and what came of it.")]


def ask(
    *,
    endpoint: Endpoint = None,
    api_version: Version = NEWEST,
    source: From = None,
    approve: Approve = None,
    discover: Discover = False,
    watch: Watching = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Ask the metadata endpoint, as a VM, what is about to happen.

    On Azure and in a VM of a notbefore fleet it needs no options. Against `notbefore serve --demo` name its metadata
    address; the demo's VMs are 127.0.0.1 to 127.0.0.4. With --json the document is printed as received.

    Example: `notbefore ask --endpoint http://127.0.0.1:8254 --from 127.0.0.2`
    """
    if discover and endpoint:
        raise WrongUsage("--discover finds the endpoint, and --endpoint names it.", "Leave one of them out.")
    with _log_on_stderr(logging.INFO if verbose else logging.WARNING):
        named = endpoint or os.environ.get("NOTBEFORE_ENDPOINT") or DEFAULT_ENDPOINT
        where = discover_endpoint(api_version, source_address=source) if discover else named
        with ScheduledEvents(where, api_version, source) as service:
            _approve(service, approve or [])
            show = _show_changes if watch else _show_document
            show(service, as_json=as_json)


def _approve(service: ScheduledEvents, event_ids: list[str]) -> None:
    approved = [event_id.lower() for event_id in service.approve(*event_ids)]
    for event_id in event_ids:
        if event_id.lower() not in approved:
            raise UnknownEvent(event_id)


def _show_document(service: ScheduledEvents, *, as_json: bool) -> None:
    document = service.document()
    if as_json:
        print(document.raw)
        return
    show_table(COLUMNS, [_row(event) for event in document.events], "No events are scheduled.")
    print(f"incarnation {'-' if document.incarnation is None else document.incarnation}")


def _show_changes(service: ScheduledEvents, *, as_json: bool) -> None:
    for change in service.watch():
        line = json.dumps(_shape(change), ensure_ascii=False) if as_json else _line(change)
        print(line, flush=True)


def _shape(change: Change) -> dict[str, object]:
    return {"change": change.kind, "impact_seen": change.impact_seen, "event": change.event.raw}


def _line(change: Change) -> str:
    event_id, _, *shown = _row(change.event)
    words = [change.kind, event_id, *(word for word in shown if word != "-")]
    if change.kind is ChangeKind.ENDED and not change.impact_seen:
        words.append("(never seen as Started)")
    return for_reader(printable("  ".join(words)))


def _row(event: EventView) -> list[str]:
    not_before = iso(round(event.not_before.timestamp() * SECOND_MS)) if event.not_before else "-"
    duration = f"{event.duration_s} s" if event.duration_s >= 0 else "-"
    resources = ", ".join(event.resources)
    source = event.source or "-"
    return [event.id, event.status, event.type, not_before, resources, source, duration, event.description or "-"]


class _Stderr(logging.Handler):
    """Looks for stderr at each line: it may be another one by then."""

    def emit(self, record: logging.LogRecord) -> None:
        print(for_reader(printable(record.getMessage()), sys.stderr), file=sys.stderr)


@contextmanager
def _log_on_stderr(level: int) -> Iterator[None]:
    handler, before, propagated = _Stderr(), log.level, log.propagate
    log.addHandler(handler)
    log.setLevel(level)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)
        log.propagate = propagated
