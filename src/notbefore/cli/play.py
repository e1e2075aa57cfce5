"""play: a scenario on an emulator of its own, step by step, with what was expected and what was seen."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from math import isnan
from typing import TYPE_CHECKING, Annotated

import typer

from notbefore.cli.clock import RATE_MAX, RATE_MIN
from notbefore.cli.exits import DONE, REFUSED, WrongUsage
from notbefore.cli.options import AsJson
from notbefore.cli.printable import printable, show_lines
from notbefore.cli.tables import show_json, show_table
from notbefore.core.errors import Invalid
from notbefore.scenarios.spans import shown_span

if TYPE_CHECKING:
    from notbefore.scenarios.playing import Outcome, Told
    from notbefore.scenarios.scenario import Scenario

ANYWHERE = "127.0.0.1:0"
SPAN_WIDTH = 9
MARK_WIDTH = 9
MARGIN = " " * (SPAN_WIDTH + 2)

Meant = Annotated[str | None, typer.Argument(metavar="SCENARIO", help="A file, or the name of a built-in one.")]
List = Annotated[bool, typer.Option("--list", help="List the built-in scenarios.")]
Show = Annotated[bool, typer.Option("--show", help="Print the file instead of playing it.")]
Metadata = Annotated[
    str, typer.Option("--metadata", metavar="HOST:PORT", help="Serve the first VM here, the others on the next ports.")
]
Rate = Annotated[
    float | None,
    typer.Option(
        "--rate",
        metavar="N",
        min=RATE_MIN,
        max=RATE_MAX,
        help="Let the clock run, so many seconds in a real one; 60 is a minute in a second. Else as fast as it goes.",
    ),
]
NoExpect = Annotated[
    bool, typer.Option("--no-expect", help="Expect nothing: an agent that takes part changes what comes.")
]


def play(
    meant: Meant = None,
    *,
    list_them: List = False,
    show: Show = False,
    metadata: Metadata = ANYWHERE,
    rate: Rate = None,
    no_expect: NoExpect = False,
    as_json: AsJson = False,
) -> int:
    """Play a scenario: steps on the clock, and what VMs are expected to see at each.

    It starts an emulator of its own, asks as its VMs over the wire, and prints each step and each expectation as it
    goes. Exit code 1 when an expectation is not met. To have your agent take part, say where it finds its VM
    (--metadata), let the clock run (--rate), and expect nothing (--no-expect).

    Example: `notbefore play live-migration`, or `notbefore play --list`
    """
    from notbefore.scenarios.library import scenario_of, text_of  # noqa: PLC0415  only when called: others start fast

    if rate is not None and isnan(rate):
        raise typer.BadParameter("nan is no number of seconds.", param_hint="--rate")
    try:
        if list_them:
            return listed(as_json=as_json)
        if meant is None:
            raise WrongUsage("Say which scenario: a file, or a name.", "`notbefore play --list` lists the names.")
        if show:
            print(text_of(meant), end="")
            return DONE
        return played(scenario_of(meant), metadata, rate, expect=not no_expect, as_json=as_json)
    except Invalid as wrong:
        raise WrongUsage(wrong.message, wrong.hint, wrong.facts) from None


def listed(*, as_json: bool) -> int:
    from notbefore.scenarios.library import names, scenario_of  # noqa: PLC0415

    scenarios = [scenario_of(name) for name in names()]
    if as_json:
        show_json([{"name": one.source, "title": one.title, "about": one.about} for one in scenarios])
    else:
        show_table(("name", "sentence"), [[one.source, one.about] for one in scenarios], "There are none.")
    return DONE


def played(scenario: "Scenario", metadata: str, rate: float | None, *, expect: bool, as_json: bool) -> int:
    from notbefore.scenarios import emulator, playing  # noqa: PLC0415  the server comes with them

    served: dict[str, str] = {}

    def serve(endpoints: dict[str, str]) -> None:
        served.update(endpoints)
        lines = [f"{scenario.title}: {scenario.about}", *(f"{vm} is at {url}" for vm, url in endpoints.items())]
        # In JSON the places come at the end; whoever waits for them reads them here.
        print("\n".join(map(printable, lines)), file=sys.stderr if as_json else sys.stdout, flush=True)

    def tell(told: "Told") -> None:
        if not as_json:
            show_lines(lines_of(told))
            sys.stdout.flush()

    stage = emulator.Stage(metadata, rate)
    with as_after_ctrl_c():
        outcome = playing.play(scenario, stage, tell, serve=serve, expect=expect)
    if as_json:
        show_json(as_told(scenario, served, outcome))
    else:
        print(summed_up(outcome, expect=expect))
    return REFUSED if outcome.not_met else DONE


@contextmanager
def as_after_ctrl_c() -> Iterator[None]:
    """Told to end it clears up all the same: its state is a directory of its own."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def lines_of(told: "Told") -> list[str]:
    """`      15m  met      web-0 sees …`, and what was seen instead below it."""
    mark = {"step": "", "expectation": "met", "happened": "  -"}[told.kind] if told.met else "NOT MET"
    lines = [f"{shown_span(told.at_s):>{SPAN_WIDTH}}  {mark:<{MARK_WIDTH}}{told.text}"]
    if told.seen:
        lines.append(f"{MARGIN}{' ' * MARK_WIDTH}{'seen: ' if told.kind == 'expectation' else ''}{told.seen}")
    return lines


def summed_up(outcome: "Outcome", *, expect: bool) -> str:
    expected = [one for one in outcome.told if one.kind == "expectation"]
    steps = [one for one in outcome.told if one.kind == "step"]
    if not expect:
        return f"Played: {counted(len(steps), 'step')}, nothing expected."
    failed = sum(not one.met for one in expected)
    odd = sum(not one.met for one in steps)
    said = f"{counted(len(expected), 'expectation')}: " + (f"{failed} not met" if failed else "all met")
    return f"{said}; {counted(odd, 'step')} went otherwise." if odd else f"{said}."


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def as_told(scenario: "Scenario", served: dict[str, str], outcome: "Outcome") -> dict[str, object]:
    lines = [
        {
            "at_s": one.at_s,
            "kind": str(one.kind),
            "line": one.line or None,
            "text": one.text,
            "met": None if one.kind == "happened" else one.met,
            "seen": one.seen,
        }
        for one in outcome.told
    ]
    return {
        "scenario": scenario.source,
        "title": scenario.title,
        "about": scenario.about,
        "endpoints": served,
        "met": not outcome.not_met,
        "not_met": len(outcome.not_met),
        "lines": lines,
    }
