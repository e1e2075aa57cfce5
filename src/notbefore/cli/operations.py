"""operations: maintenance of several scopes at once, in waves: which there are; show and cancel one (SPEC §3.4)."""

from typing import Annotated

import typer

from notbefore.cli.control_api import ControlApi, Json, connect
from notbefore.cli.listing import Listing, show_list
from notbefore.cli.local_times import Utc
from notbefore.cli.operation_lines import is_over, lines_of, placed
from notbefore.cli.options import AsJson, Watch
from notbefore.cli.printable import show_lines
from notbefore.cli.tables import show_json, show_table

COLUMNS = ("id", "host", "type", "status", "waves", "vms", "waiting for")
EVENTS = ("wave", "scope", "update domain", "vms", "stage", "ended", "event")
Operation = Annotated[str, typer.Argument(metavar="OPERATION", help="Its id, in any letter case.")]
All = Annotated[bool, typer.Option("--all", help="Ended ones too.")]

app = typer.Typer(name="operations")


@app.callback(invoke_without_command=True)
def operations(
    context: typer.Context,
    *,
    everything: All = False,
    watch: Watch = False,
    utc: Utc = False,  # noqa: ARG001  its callback took it
    as_json: AsJson = False,
) -> None:
    """List operations under way: maintenance of hosts, and the waves of rollouts; or show or cancel one.

    `notbefore maintain TYPE --host HOST` begins one. Each with what it waits for.

    Example: `notbefore operations --watch`
    """
    if context.invoked_subcommand is not None:
        for option, is_given in {"--all": everything, "--watch": watch, "--json": as_json}.items():
            if is_given:
                raise typer.BadParameter("It has no place before another word.", param_hint=option)
        return
    api = connect()
    query = {"status": None if everything else "live"}
    listing = Listing(COLUMNS, _row, "No operations." if everything else "No operations are under way.")
    show_list(listing, lambda: _found(api, query), as_json=as_json, watch=watch)


@app.command()
def show(
    operation: Operation,
    *,
    utc: Utc = False,  # noqa: ARG001  its callback took it
    as_json: AsJson = False,
) -> None:
    """Show an operation: its waves with the events of each, what waits, and what it left alone and why.

    Example: `notbefore operations show 8c1d2f7a-5b0e-4f53-a6b1-90d4c3e2f718`
    """
    one = connect().get("operations", operation.lower())
    if as_json:
        show_json(one)
        return
    show_lines(lines_of(one))
    if rows := [_event_row(wave, event) for wave in one["waves"] for event in wave["events"]]:
        show_table(EVENTS, rows, "")
    show_lines(placed("waits", one["waiting"]) + placed("left alone", one["left"]))


@app.command()
def cancel(operation: Operation, *, as_json: AsJson = False) -> None:
    """Cancel an operation as a whole: events that have not started are withdrawn, those that have come to their end.

    Example: `notbefore operations cancel 8c1d2f7a-5b0e-4f53-a6b1-90d4c3e2f718`
    """
    answer = connect().post("operations", operation.lower(), "cancel")
    if as_json:
        show_json(answer)
    else:
        show_lines(lines_of(answer))


def _found(api: ControlApi, query: Json) -> list[Json]:
    return list(api.get("operations", query=query)["operations"])


def _row(one: Json) -> list[str]:
    vms = sum(len(event["vms"]) for wave in one["waves"] for event in wave["events"])
    total = vms + len(one["waiting"]) + len(one["left"])
    waits = (one["why"] if is_over(one) else one["waits_for"]) or "-"
    return [one["id"], one["host"] or "-", one["type"], one["status"], str(len(one["waves"])), f"{vms}/{total}", waits]


def _event_row(wave: Json, event: Json) -> list[str]:
    domain, vms = str(event["update_domain"]), ", ".join(event["vms"])
    return [str(wave["number"]), event["scope"], domain, vms, event["stage"], event["ended"] or "-", event["event"]]
