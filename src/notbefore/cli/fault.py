"""fault: have an emulator do wrong what the real service does wrong, as ordered (`serve --allow-faults`)."""

from typing import Annotated

import typer

from notbefore.cli.control_api import Json, connect
from notbefore.cli.durations import duration_s
from notbefore.cli.listing import Listing, show_list
from notbefore.cli.options import AsJson, Watch, given, word_of
from notbefore.cli.printable import printable
from notbefore.cli.tables import show_json
from notbefore.faults.fault import KINDS, OPTION_MAX_S, Kind, On

COLUMNS = ("id", "kind", "vms", "options", "struck")
# How an option of a kind is called here.
FLAGS = {"delay_s": "--delay", "after_s": "--after", "notice_s": "--notice", "duration_s": "--duration"}

KindArgument = Annotated[str, typer.Argument(metavar="KIND", help="What goes wrong: one of those above.")]
Vms = Annotated[
    list[str] | None,
    typer.Option("--vm", metavar="VM", help="Only this VM, as `web-0` or `shop/web-0`; may be repeated. Else all."),
]
Times = Annotated[int | None, typer.Option("--times", metavar="N", help="So often, then no more. Else until cleared.")]
Probability = Annotated[
    float | None, typer.Option("--probability", metavar="P", help="How likely each strike is: 0 to 1. Else certain.")
]
Seed = Annotated[
    int | None, typer.Option("--seed", metavar="S", help="What chance is drawn from, so that it repeats. Else drawn.")
]
OnOption = Annotated[
    str | None, typer.Option("--on", metavar="METHOD", help="get, post or any (the default); for faults of answers.")
]
Delay = Annotated[str | None, typer.Option("--delay", metavar="DURATION", help="Of slow and first-call-delay.")]
After = Annotated[str | None, typer.Option("--after", metavar="DURATION", help="Of cancel and second-impact.")]
Notice = Annotated[str | None, typer.Option("--notice", metavar="DURATION", help="Of short-notice.")]
Duration = Annotated[str | None, typer.Option("--duration", metavar="DURATION", help="Of second-impact.")]
Which = Annotated[
    str | None, typer.Argument(metavar="ID|KIND", help="One fault by its id, or those of a kind. Else all.")
]

app = typer.Typer(name="fault", no_args_is_help=True)


@app.callback()
def fault() -> None:
    """Order faults: have an emulator do what the real service does on a bad day, and see what your program makes of it.

    Only a server that was started with `serve --allow-faults` (or `sandbox --allow-faults`) takes any. They are gone
    when they are cleared, and with the server; what they did to events stays.

    Example: `notbefore fault add 500 --on post --times 3`, then `notbefore fault clear`
    """


def row_of(kind: Kind) -> str:
    """A kind and its options, with their defaults."""
    options = ", ".join(f"{FLAGS[name]} {seconds:g}s" for name, seconds in kind.options.items())
    return f"| `{kind.name}` | {kind.says} | {options} |"


ADDING = """\
Set a fault: for all VMs or some, so many times, by chance, or until it is cleared.

{table}

Of the faults of answers the oldest that strikes wins; all others go together. Those of events strike what becomes
Scheduled, or starts, from now on. Delays are real time; --after, --notice and --duration go by the clock of events.

Example: `notbefore fault add slow --delay 5s --vm web-0`, or `notbefore fault add 503 --probability 0.2 --seed 7`
"""
TABLE = "\n".join(("| kind | what it does | options, by default |", "|---|---|---|", *map(row_of, KINDS.values())))


@app.command(help=ADDING.format(table=TABLE))
def add(
    kind: KindArgument,
    *,
    vm: Vms = None,
    times: Times = None,
    probability: Probability = None,
    seed: Seed = None,
    on: OnOption = None,
    delay: Delay = None,
    after: After = None,
    notice: Notice = None,
    duration: Duration = None,
    as_json: AsJson = False,
) -> None:
    texts = dict(zip(OPTION_MAX_S, (delay, after, notice, duration), strict=True))
    seconds = {name: duration_s(text, FLAGS[name]) for name, text in texts.items() if text is not None}
    method = None if on is None else word_of(on, tuple(On), "--on")
    wanted = given(kind=kind, vms=vm, times=times, probability=probability, seed=seed, on=method)
    made = connect().post("faults", body={**wanted, **seconds})
    if as_json:
        show_json(made)
        return
    print(printable(f"Fault {made['id']} is set: {made['kind']} for {_vms(made)}, {_how_long(made)}."))


@app.command("list")
def list_faults(*, watch: Watch = False, as_json: AsJson = False) -> None:
    """List the faults that are set, how often each has struck, and those that are spent.

    Example: `notbefore fault list`
    """
    api = connect()
    listing = Listing(COLUMNS, _row, "No faults.")
    show_list(listing, lambda: list(api.get("faults")["faults"]), as_json=as_json, watch=watch)


@app.command()
def clear(which: Which = None) -> None:
    """Clear every fault, one, or those of a kind: each ends at once.

    Who was made to wait is answered, and who hung is cut off.

    Example: `notbefore fault clear`, `notbefore fault clear f2`, or `notbefore fault clear slow`
    """
    api = connect()
    if which is None or which in KINDS:
        cleared = api.delete("faults", query={"kind": which})["cleared"]
    else:
        cleared = api.delete("faults", which)["cleared"]
    print(f"{cleared} {'fault' if cleared == 1 else 'faults'} cleared.")


def _vms(one: Json) -> str:
    return ", ".join(one["vms"]) or "all VMs"


def _how_long(one: Json) -> str:
    chance = "" if one["seed"] is None else f" with probability {one['probability']:g} (seed {one['seed']})"
    return f"{'until cleared' if one['times'] is None else _times(one['times'])}{chance}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _row(one: Json) -> list[str]:
    said = [f"{flag[2:]} {one[name]:g}s" for name, flag in FLAGS.items() if one[name] is not None]
    if one["on"] not in (None, On.ANY):
        said.append(f"on {one['on']}")
    if one["seed"] is not None:
        said.append(f"probability {one['probability']:g} seed {one['seed']}")
    most = "" if one["times"] is None else f" of {one['times']}"
    struck = f"{one['struck']}{most}{' (spent)' * one['spent']}"
    return [one["id"], one["kind"], _vms(one), ", ".join(said) or "-", struck]
