"""clock: the time events go by; an emulator's can be turned, or let run at a rate (SPEC §4)."""

from math import isnan
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
RATE_MIN = 0.000_001
RATE_MAX = 86_400.0

Span = Annotated[str, typer.Argument(metavar="DURATION", help="90, 90s, 15m, 2h, 1d, 1h30m.")]

Rate = Annotated[
    float,
    typer.Argument(metavar="N", min=RATE_MIN, max=RATE_MAX, help="So many seconds in a real one; up to 86400, a day."),
]

app = typer.Typer(name="clock")


@app.callback(invoke_without_command=True)
def clock(context: typer.Context) -> None:
    """Show the clock that events go by, or turn it.

    A real clock can only be shown. `notbefore serve --clock manual` has one that stands still until it is turned,
    and with `--clock rate:60` a minute passes in each second.

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
    lines = [f"now {answer['now']}  ({said_of(answer)})"]
    if answer["kind"] != "real":
        lines.append(f"next due {answer['next_due'] or '-'}")
    show_lines(lines)


def said_of(answer: Json) -> str:
    if answer["kind"] == "real":
        return "real clock"
    pace = "paused" if answer.get("paused", True) else f"running at rate {answer['rate']:g}"
    return f"{answer['kind']} clock, {pace}"


@app.command()
def advance(span: Span, *, as_json: AsJson = False) -> None:
    """Turn an emulator's clock forward and say what happened.

    It moves from due time to due time and lets everything settle at each, as if the time had really passed.

    Example: `notbefore clock advance 1h30m`
    """
    _turn({"advance_s": duration_s(span, "DURATION")}, as_json=as_json)


@app.command()
def to_next(*, as_json: AsJson = False) -> None:
    """Turn an emulator's clock to the next thing that is due, and say what happened.

    Refused when nothing is due.

    Example: `notbefore clock to-next`
    """
    _turn({"to_next": True}, as_json=as_json)


@app.command()
def rate(seconds: Rate, *, as_json: AsJson = False) -> None:
    """Let an emulator's clock run by itself: 60 makes a minute pass in each second.

    What falls due happens at its time and in its order, however fast the clock runs: it stands while something is
    being done. `notbefore clock pause` stops it.

    Example: `notbefore clock rate 60`
    """
    if isnan(seconds):
        raise typer.BadParameter("nan is no number of seconds.", param_hint="N")
    _set_pace({"rate": seconds}, as_json=as_json)


@app.command()
def pause(*, as_json: AsJson = False) -> None:
    """Let an emulator's clock stand until it is turned or resumed.

    Example: `notbefore clock pause`
    """
    _set_pace({"paused": True}, as_json=as_json)


@app.command()
def resume(*, as_json: AsJson = False) -> None:
    """Let an emulator's clock run on, at the rate it had; a manual one at the rate of real time.

    Example: `notbefore clock resume`
    """
    _set_pace({"paused": False}, as_json=as_json)


def _set_pace(how: Json, *, as_json: bool) -> None:
    answer = connect().post("clock", body=how)
    if as_json:
        show_json(answer)
    else:
        show_lines([f"now {answer['now']}  ({said_of(answer)})"])


def _turn(how: Json, *, as_json: bool) -> None:
    answer = connect().post("clock", body=how, timeout_s=TURN_MAX_S)
    if as_json:
        show_json(answer)
        return
    # Shortened to the hour of a day, a time could no longer be told in the reader's zone.
    today = "-" if is_local() else answer["now"]
    show_lines([*lines_of_records(answer["happened"], today), f"now {answer['now']}"])
