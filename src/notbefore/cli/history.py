"""history: what happened, when, by whom and why; in order, and resumable."""

from typing import Annotated

import typer

from notbefore.cli.control_api import Json, connect
from notbefore.cli.options import AsJson, OfScope
from notbefore.cli.tables import show_json, show_table

COLUMNS = ("revision", "at", "scope", "what", "why", "by", "event")
OfEvent = Annotated[str | None, typer.Option("--event", metavar="EVENT", help="Only this event.")]
Limit = Annotated[int | None, typer.Option("--limit", metavar="N", help="At most so many records.")]
After = Annotated[
    int | None,
    typer.Option("--after", metavar="REVISION", help="Records after this revision, instead of the newest ones."),
]


def history(
    *,
    scope: OfScope = None,
    event: OfEvent = None,
    limit: Limit = None,
    after: After = None,
    as_json: AsJson = False,
) -> None:
    """List what happened and why, oldest first: the newest 100 records unless asked otherwise.

    A record is one decision and may hold several changes. To follow on, give the last revision you saw to --after.

    Example: `notbefore history --scope demo --limit 20`
    """
    event_id = event.upper() if event else None
    query = {"scope": scope, "event": event_id, "limit": limit, "after": after}
    records = connect().get("history", query=query)["history"]
    if as_json:
        show_json(records)
    else:
        show_table(COLUMNS, [_row(record, change) for record in records for change in record["changes"]], "No history.")


def _row(record: Json, change: Json) -> list[str]:
    event = change["event"]
    what = f"{event['type']} {change['what']}" if event else change["what"]
    event_id = event["id"] if event else "-"
    return [str(record["revision"]), record["at"], record["scope"], what, change["why"], change["by"], event_id]
