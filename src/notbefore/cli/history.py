"""history: what happened, when, by whom and why; listed, followed, exported, and checked against the present."""

import json
import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from notbefore.cli.control_api import ControlApi, Json, connect
from notbefore.cli.durations import duration_s
from notbefore.cli.event_lines import of_what
from notbefore.cli.exits import complain
from notbefore.cli.local_times import Utc, for_reader
from notbefore.cli.options import AsJson, OfScope
from notbefore.cli.printable import printable
from notbefore.cli.tables import show_json, show_table
from notbefore.core.times import SECOND_MS, iso
from notbefore.wire.times import parse_iso

COLUMNS = ("revision", "at", "scope", "what", "why", "by", "event")
LISTED = 100
WATCHED_AT_FIRST = 10
WATCH, EXPORT, VERIFY = "--watch", "--export", "--verify"

OfEvent = Annotated[str | None, typer.Option("--event", metavar="EVENT", help="Only this event.")]
OfOperation = Annotated[str | None, typer.Option("--operation", metavar="ID", help="Only this operation.")]
OfRollout = Annotated[
    str | None, typer.Option("--rollout", metavar="ID", help="Only this rollout, with its operations.")
]
OfVm = Annotated[str | None, typer.Option("--vm", metavar="VM", help="Only what concerns this VM, or what it said.")]
By = Annotated[
    str | None, typer.Option("--by", metavar="WHO", help="Only what this VM or token did; or clock, executor, service.")
]
What = Annotated[
    str | None, typer.Option("--what", metavar="WORD", help="Only this, such as scheduled, started or declared.")
]
Since = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="From a UTC time on, or 2h: so long ago by the server.")
]
Until = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Up to a time, or 2h: so long ago.")]
Limit = Annotated[int | None, typer.Option("--limit", metavar="N", help="At most so many records.")]
After = Annotated[
    int | None,
    typer.Option("--after", metavar="REVISION", help="Records after this revision, instead of the newest ones."),
]
Watch = Annotated[bool, typer.Option(WATCH, help="Go on with every record as it comes, also when the server restarts.")]
Export = Annotated[
    str | None,
    typer.Option(EXPORT, metavar="FILE", help="Write all of it to FILE (- is stdout) as JSON lines; --after goes on."),
]
Verify = Annotated[
    bool, typer.Option(VERIFY, help="Replay all of it, and compare that with the server's present scopes and events.")
]
From = Annotated[
    list[str] | None,
    typer.Option("--from", metavar="FILE", help="With --verify: a file of retired records; may be repeated."),
]


def history(
    *,
    scope: OfScope = None,
    event: OfEvent = None,
    operation: OfOperation = None,
    rollout: OfRollout = None,
    vm: OfVm = None,
    by: By = None,
    what: What = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = None,
    after: After = None,
    watch: Watch = False,
    export: Export = None,
    verify: Verify = False,
    archives: From = None,
    as_json: AsJson = False,
    utc: Utc = False,  # noqa: ARG001  the callback took it
) -> None:
    """List what happened and why, oldest first: the newest 100 records unless asked otherwise.

    A record is one decision and may hold several changes. --watch begins with the newest 10 and goes on. --export
    writes everything to a file, --verify says whether history leads to the present state. --from takes files of records
    that the server retired.

    Example: `notbefore history --scope demo --what started --since 2h`
    """
    found = {"scope": scope, "event": event.upper() if event else None, "vm": vm, "by": by, "what": what}
    found |= {"operation": operation and operation.lower(), "rollout": rollout and rollout.lower()}
    times = {"since": since, "until": until}
    refuse_misplaced(
        {WATCH: watch, EXPORT: export is not None, VERIFY: verify},
        {"--from": bool(archives) and not verify, "--limit": limit is not None and (export is not None or verify)},
        {name: given for name, given in {**found, **times, "after": after}.items() if given is not None},
    )
    api = connect()
    if verify:
        _verify(api, archives or [])
        return
    query = {**found, **{name: moment(api, given, f"--{name}") for name, given in times.items()}}
    if export is not None:
        _export(api, query, after or 0, export)
    elif watch:
        _watch(api, query, limit, after, as_json=as_json)
    else:
        _list(api, {**query, "limit": limit, "after": after}, as_json=as_json)


def refuse_misplaced(modes: dict[str, bool], misplaced: dict[str, bool], filters: dict[str, object]) -> None:
    chosen = [mode for mode, wanted in modes.items() if wanted]
    if len(chosen) > 1:
        raise typer.BadParameter(f"{chosen[1]} has no place beside it.", param_hint=chosen[0])
    for option in [option for option, wrong in misplaced.items() if wrong]:
        raise typer.BadParameter("It has no place here.", param_hint=option)
    if chosen == [VERIFY] and filters:
        raise typer.BadParameter(f"--{next(iter(filters))} has no place beside it.", param_hint=VERIFY)
    for name in ("since", "until"):
        if chosen == [WATCH] and name in filters:
            raise typer.BadParameter(f"--{name} has no place beside it.", param_hint=WATCH)


def moment(api: ControlApi, text: str | None, option: str) -> str | None:
    """ISO 8601. `2h` is so long ago, by the clock that history goes by."""
    if text is None:
        return None
    try:
        parse_iso(text)
    except (ValueError, OverflowError):
        ago_s = duration_s(text, option)
        return iso(max(0, parse_iso(api.get("clock")["now"]) - ago_s * SECOND_MS))
    return text


def _list(api: ControlApi, query: Json, *, as_json: bool) -> None:
    answer = api.get("history", query=query)
    records = answer["history"]
    if as_json:
        show_json(records)
    else:
        show_table(COLUMNS, [row for record in records for row in _rows(record)], "No history.")
    if query["after"] is not None and answer.get("more"):
        complain("There may be more.", f"`--after {answer['next']}` goes on from there.")
    elif answer.get("more") and len(records) < (query["limit"] or LISTED):
        complain(
            "Only the newest part of history was looked through.", "Narrow it with --since, or begin with --after 0."
        )


def _watch(api: ControlApi, query: Json, limit: int | None, after: int | None, *, as_json: bool) -> None:
    from notbefore.control_client.following import followed  # noqa: PLC0415  only when called

    filters = {name: value for name, value in query.items() if name not in ("since", "until")}
    if after is None:
        answer = api.get("history", query={**filters, "limit": limit or WATCHED_AT_FIRST})
        after = answer["next"]
        for record in answer["history"]:
            _say(record, as_json=as_json)
    sys.stdout.flush()
    for record in followed(api, filters, after, tell=lambda said: complain(said, "Still watching; Ctrl-C ends it.")):
        _say(record, as_json=as_json)
        sys.stdout.flush()


def _say(record: Json, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(record, ensure_ascii=False))
        return
    for revision, at, scope, what, why, by, event in _rows(record):
        line = f"{revision}  {at}  {scope}  {what}: {why}  (by {by})"
        print(for_reader(printable(line if event == "-" else f"{line}  {event}")))


def _export(api: ControlApi, query: Json, after: int, target: str) -> None:
    from notbefore.cli.history_export import export  # noqa: PLC0415  only when called

    export(api, query, after, target)


def _verify(api: ControlApi, archives: list[str]) -> None:
    from notbefore.cli.replaying import verify  # noqa: PLC0415  only when called

    verified = verify(api, archives)
    print(
        f"History leads to the present state: {verified.records} records, up to revision {verified.revision}, "
        f"give the {verified.scopes} scopes and {verified.events} live events of the server."
    )


def _rows(record: Json) -> Iterator[list[str]]:
    for change in record["changes"]:
        event = change["event"]
        what = f"{event['type']} {change['what']}" if event else change["what"]
        event_id = event["id"] if event else of_what(change) or "-"
        scope = record["scope"] or "-"
        yield [str(record["revision"]), record["at"], scope, what, change["why"], change["by"], event_id]
