"""Events and what happened to them, one line each, for people who asked for something and read the answer."""

import re
from collections.abc import Sequence

from notbefore.cli.control_api import Json
from notbefore.cli.printable import show_lines
from notbefore.cli.tables import show_json
from notbefore.core.kinds import LIVE, Status

DATE_LENGTH = len("2026-09-19")
IDS_IN_BRACKETS = re.compile(r" \([0-9A-F]{8}-[0-9A-F-]{27}(, [0-9A-F-]{36})*( and \d+ more)?\)")


def show_events(events: Sequence[Json], *, as_json: bool = False, planned: bool = False) -> None:
    if as_json:
        show_json(events)
    else:
        for event in events:
            show_lines(lines_of(event, planned=planned))


def lines_of(event: Json, *, planned: bool = False) -> list[str]:
    """`Reboot scheduled: web-1, not before 2026-09-19T18:29:47Z  602D9444-…`, and what it waits for."""
    is_ahead = event["status"] in (Status.QUEUED, Status.SCHEDULED) and event["not_before"]
    when = f", not before {event['not_before']}" if is_ahead else ""
    # The id of a plan is never used again.
    event_id = "" if planned else f"  {event['id']}"
    lines = [f"{event['type']} {event['status'].lower()}: {', '.join(event['vms'])}{when}{event_id}"]
    if event["status"] in LIVE and event["waiting_for"]:
        waits_for = IDS_IN_BRACKETS.sub("", event["waiting_for"]) if planned else event["waiting_for"]
        lines.append(f"  waiting for {waits_for}")
    return lines


def lines_of_records(records: Sequence[Json], now: str) -> list[str]:
    """`12:15:00  Reboot started: its notice ended …  web-1  602D9444-…`; with the date when it is not today's."""
    today = now[:DATE_LENGTH]
    is_today = all(record["at"].startswith(today) for record in records)
    return [
        f"{record['at'][DATE_LENGTH + 1 : -1] if is_today else record['at']}  {_told(record, change)}"
        for record in records
        for change in record["changes"]
    ]


def _told(record: Json, change: Json) -> str:
    what = change["what"].partition(":")[0]
    event = change["event"]
    if event is None:
        return f"{what}: {change['why']}  {of_what(change) or 'scope ' + record['scope']}"
    return f"{event['type']} {what}: {change['why']}  {', '.join(event['vms'])}  {event['id']}"


def of_what(change: Json) -> str:
    """Which operation or rollout a change is of, where it is of one."""
    for noun in ("operation", "rollout"):
        if change.get(noun):
            return f"{noun} {change[noun]}"
    return ""
