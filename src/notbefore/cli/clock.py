"""clock: the time events go by; an emulator's manual clock can be turned (SPEC §4)."""

from typing import Annotated

import typer

from notbefore.cli.control_api import Json, connect
from notbefore.cli.durations import duration_s
from notbefore.cli.event_lines import lines_of_records
from notbefore.cli.local_times import is_local
from notbefore.cli.options import AsJson
from notbefore.cli.printable import show_lines
from notbefore.cli.tables import show_json

# Turning a clock by months carries out everything that falls due in them before it answers.
TURN_MAX_S = 600.0

Span = Annotated[str, typer.Argument(metavar="DURATION", help="90, 90s, 15m, 2h, 1d, 1h30m.")]

app = typer.Typer(name="clock")


@app.callback(invoke_without_command=True)
def clock(context: typer.Context) -> None:
    """Show the clock that events go by, or turn it.

    A real clock can only be shown. `notbefore serve --clock manual` has one that stands still until it is turned.

    Example: `notbefore clock advance 15m`
    """
    if context.invoked_subcommand is None:
        show()


@app.command()
def show(*, as_json: AsJson = False) -> None:
    """Show what time it is for events, and when the next thing is due.

    With a real clock nothing is shown as due: it comes by itself.

    Example: `notbefore clock show`
    """
    answer = connect().get("clock")
    if as_json:
        show_json(answer)
        return
    lines = [f"now {answer['now']}  ({answer['kind']} clock)"]
    if answer["kind"] == "manual":
        lines.append(f"next due {answer['next_due'] or '-'}")
    show_lines(lines)


@app.command()
def advance(span: Span, *, as_json: AsJson = False) -> None:
    """Turn a manual clock forward and say what happened.

    It moves from due time to due time and lets everything settle at each, as if the time had really passed.

    Example: `notbefore clock advance 1h30m`
    """
    _turn({"advance_s": duration_s(span, "DURATION")}, as_json=as_json)


@app.command()
def to_next(*, as_json: AsJson = False) -> None:
    """Turn a manual clock to the next thing that is due, and say what happened.

    Refused when nothing is due.

    Example: `notbefore clock to-next`
    """
    _turn({"to_next": True}, as_json=as_json)


def _turn(how: Json, *, as_json: bool) -> None:
    answer = connect().post("clock", body=how, timeout_s=TURN_MAX_S)
    if as_json:
        show_json(answer)
        return
    # Shortened to the hour of a day, a time could no longer be told in the reader's zone.
    today = "-" if is_local() else answer["now"]
    show_lines([*lines_of_records(answer["happened"], today), f"now {answer['now']}"])
