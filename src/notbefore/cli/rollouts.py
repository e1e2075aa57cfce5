"""rollouts: which there are and how far they are; pause, resume and cancel: an operator's word on one (SPEC §3.4)."""

from typing import Annotated

import typer

from notbefore.cli.control_api import ControlApi, Json, connect
from notbefore.cli.listing import Listing, show_list
from notbefore.cli.local_times import Utc
from notbefore.cli.options import AsJson, Watch
from notbefore.cli.plan_table import show_plan
from notbefore.cli.printable import show_lines
from notbefore.cli.rollout_lines import budget, failures, is_over, lines_of, waiting_names, waits
from notbefore.cli.rollout_watch import seen, watch_rollouts
from notbefore.cli.tables import show_json

COLUMNS = ("id", "type", "over", "status", "done", "in hand", "touched", "failed", "waiting for")
Rollout = Annotated[str, typer.Argument(metavar="ROLLOUT", help="Its id, in any letter case.")]
WatchIt = Annotated[
    bool,
    typer.Option("--watch", help="Go on showing its lanes and budget: live on a terminal, a line per change else."),
]

app = typer.Typer(name="rollouts")


@app.callback(invoke_without_command=True)
def rollouts(
    context: typer.Context,
    *,
    watch: WatchIt = False,
    utc: Utc = False,  # noqa: ARG001  its callback took it
    as_json: AsJson = False,
) -> None:
    """List rollouts, the newest last; or show, plan, pause, resume and cancel one.

    `notbefore maintain TYPE --all`, `--hosts` and `--scopes` begin one. --watch shows those under way with their lanes
    (the hosts or scopes in hand), what is used of the budget, what waits and why, what is done and what failed.

    Example: `notbefore rollouts --watch`
    """
    if context.invoked_subcommand is not None:
        _refuse_before_a_word(context, watch=watch, as_json=as_json)
        return
    api = connect()
    listing = Listing(COLUMNS, _row, "No rollouts.")
    if watch:
        watch_rollouts(api, lambda: _under_way(api), listing, as_json=as_json)
    else:
        show_list(listing, lambda: _all(api), as_json=as_json)


@app.command()
def show(
    rollout: Rollout,
    *,
    watch: Watch = False,
    utc: Utc = False,  # noqa: ARG001  its callback took it
    as_json: AsJson = False,
) -> None:
    """Show a rollout: its lanes, its budget, what waits and for what, what is done and what failed.

    Example: `notbefore rollouts show 3f0c5b2e-7d1a-4c55-9a0e-2b8c41d7e6f9 --watch`
    """
    api = connect()
    if watch:
        listing = Listing(COLUMNS, _row, "No rollouts.")
        watch_rollouts(api, lambda: [_one(api, rollout)], listing, as_json=as_json)
        return
    one = _one(api, rollout)
    if as_json:
        show_json(one)
        return
    lines = lines_of(one, seen(api, [one]).operations)
    if not is_over(one):
        lines.append(f"  budget: {budget(one)}")
        lines += [f"  waiting: {waiting_names(one)}"] if one["waiting"] else []
    show_lines([*lines, *(f"  {line}" for line in failures(one))])


@app.command()
def plan(
    rollout: Rollout,
    *,
    utc: Utc = False,  # noqa: ARG001  its callback took it
    as_json: AsJson = False,
) -> None:
    """Show what a rollout will do from here to its end, and when, if nobody approves and nothing fails.

    Example: `notbefore rollouts plan 3f0c5b2e-7d1a-4c55-9a0e-2b8c41d7e6f9`
    """
    answer = connect().get("rollouts", rollout.lower(), "plan")
    if as_json:
        show_json(answer)
    else:
        show_plan(answer["plan"])


@app.command()
def pause(rollout: Rollout, *, as_json: AsJson = False) -> None:
    """Pause a rollout: nothing new is begun. What is announced goes on to its end.

    Example: `notbefore rollouts pause 3f0c5b2e-7d1a-4c55-9a0e-2b8c41d7e6f9`
    """
    _say(rollout, "pause", as_json=as_json)


@app.command()
def resume(rollout: Rollout, *, as_json: AsJson = False) -> None:
    """Let a rollout that is paused or has halted go on. Failures that are known by now do not halt it again.

    Example: `notbefore rollouts resume 3f0c5b2e-7d1a-4c55-9a0e-2b8c41d7e6f9`
    """
    _say(rollout, "resume", as_json=as_json)


@app.command()
def cancel(rollout: Rollout, *, as_json: AsJson = False) -> None:
    """Cancel a rollout: events that have not started are withdrawn, those that have come to their end.

    Example: `notbefore rollouts cancel 3f0c5b2e-7d1a-4c55-9a0e-2b8c41d7e6f9`
    """
    _say(rollout, "cancel", as_json=as_json)


def _refuse_before_a_word(context: typer.Context, *, watch: bool, as_json: bool) -> None:
    for option, is_given in {"--watch": watch, "--json": as_json}.items():
        if is_given:
            where = f"`rollouts {context.invoked_subcommand} … {option}`"
            raise typer.BadParameter(f"It comes behind the word it is for: {where}.", param_hint=option)


def _say(rollout: str, word: str, *, as_json: bool) -> None:
    api = connect()
    answer = api.post("rollouts", rollout.lower(), word)
    if as_json:
        show_json(answer)
    else:
        show_lines(lines_of(answer, seen(api, [answer]).operations))


def _all(api: ControlApi) -> list[Json]:
    return list(api.get("rollouts")["rollouts"])


def _under_way(api: ControlApi) -> list[Json]:
    return list(api.get("rollouts", query={"status": "live"})["rollouts"])


def _one(api: ControlApi, rollout: str) -> Json:
    return api.get("rollouts", rollout.lower())


def _row(one: Json) -> list[str]:
    done = f"{len(one['done'])}/{one['targets']}"
    numbers = [done, str(len(one["in_hand"])), str(one["touched"]), str(one["failed"])]
    return [one["id"], one["type"], one["over"], one["status"], *numbers, waits(one)]
