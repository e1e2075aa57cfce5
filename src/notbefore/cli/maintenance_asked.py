"""Maintenance asked for and followed: what is said when it is planned, begun, and over.

Rule 1: --json shows the API's answer; with --wait the same, with the things in it as they ended.
"""

from dataclasses import dataclass

import typer

from notbefore.cli import operation_lines, rollout_lines
from notbefore.cli.control_api import ControlApi, Json
from notbefore.cli.event_lines import show_events
from notbefore.cli.plan_table import show_plan
from notbefore.cli.printable import show_lines
from notbefore.cli.rollout_watch import seen
from notbefore.cli.tables import show_json
from notbefore.cli.waiting import refuse_bad_ends, until_ended, until_over
from notbefore.core.errors import Refusal
from notbefore.core.operation import OperationStatus
from notbefore.core.rollout import RolloutStatus

PLANNED = "Planned; nothing is scheduled."
WAYS = "--scope, --host, --all, --hosts or --scopes"


@dataclass(frozen=True, slots=True)
class How:
    """How it is asked for: only planned, waited for, told to a program."""

    plan: bool
    wait: bool
    as_json: bool


def refuse_unless_one(scope: str | None, hosts: list[str] | None, over: Json) -> None:
    """A scope's VMs on hosts are one thing; a host alone is another."""
    ways = ["--scope"] if scope is not None else ["--host"] if hosts else []
    ways += [f"--{name}" for name in over]
    if len(ways) != 1:
        said = f"not {' and '.join(ways)}" if ways else "and none is given"
        raise typer.BadParameter(f"Say what to maintain by exactly one of {WAYS}, {said}.", param_hint="maintain")
    if scope is None and hosts and len(hosts) > 1:
        raise typer.BadParameter("One host at a time; --hosts takes several, as a rollout.", param_hint="--host")


def refuse_misplaced(scope: str | None, over: Json, of_scope: Json, of_rollout: Json, not_before: str | None) -> None:
    if scope is None and of_scope:
        option = "--update-domain" if "update_domains" in of_scope else "--vm"
        raise typer.BadParameter("It has no place without --scope.", param_hint=option)
    if not over and of_rollout:
        raise typer.BadParameter(
            "Limits and order are for rollouts: --all, --hosts or --scopes.", param_hint=_option(of_rollout)
        )
    if over and not_before is not None:
        raise typer.BadParameter("A rollout begins by itself; --window says when it may.", param_hint="--not-before")


def _option(of_rollout: Json) -> str:
    options = {
        "recovery_s": "recovery",
        "windows": "window",
        "impacts_max": "impacts",
        "vm_rest_s": "vm-rest",
        "failed_max": "max-failed",
    }
    name = next(iter(of_rollout))
    if name == "limits":
        name = next(iter(of_rollout["limits"]))
    return f"--{options.get(name, name).replace('_', '-')}"


def of_scope(api: ControlApi, scope: str, body: Json, how: How) -> None:
    answer = api.post("scopes", scope, "maintenance", body=body)
    events = [*answer["events"], *answer["queued"]]
    if not how.as_json:
        if how.plan:
            print(PLANNED)
        show_events(events, planned=how.plan)
    if how.plan or not how.wait:
        _as_json(answer, how)
        return
    ended = until_ended(api, events, as_json=how.as_json)
    if how.as_json:
        show_json({"events": ended, "queued": []})
    else:
        show_events(ended)
    refuse_bad_ends(ended)


def of_host(api: ControlApi, host: str, body: Json, how: How) -> None:
    answer = api.post("hosts", host, "maintenance", body=body)
    if how.plan:
        _planned(answer, how)
        return
    operation = answer["operation"]
    _said(operation_lines.lines_of(operation), how)
    if not how.wait:
        _as_json(answer, how)
        return
    ended = until_over(
        lambda: api.get("operations", operation["id"]),
        operation_lines.is_over,
        operation_lines.lines_of,
        as_json=how.as_json,
    )
    _said(operation_lines.lines_of(ended), how)
    _as_json({"operation": ended}, how)
    if ended["status"] != OperationStatus.COMPLETED:
        raise Refusal(
            f"{ended['type']} of host {ended['host']} ended {ended['status']}.",
            f"`notbefore operations show {ended['id']}` says what became of each VM.",
        )


def rolled_out(api: ControlApi, body: Json, how: How) -> None:
    answer = api.post("rollouts", body=body)
    if how.plan:
        _planned(answer, how)
        return
    rollout = answer["rollout"]
    _said(rollout_lines.lines_of(rollout), how)
    if not how.wait:
        if not how.as_json:
            show_plan(answer["plan"])
        _as_json(answer, how)
        return
    ended = until_over(
        lambda: api.get("rollouts", rollout["id"]),
        rollout_lines.needs_somebody,
        lambda one: rollout_lines.lines_of(one, seen(api, [one]).operations),
        as_json=how.as_json,
    )
    _said(rollout_lines.lines_of(ended, seen(api, [ended]).operations), how)
    _as_json({"rollout": ended, "plan": answer["plan"]}, how)
    _refuse_bad_rollout(ended)


def _refuse_bad_rollout(ended: Json) -> None:
    """Halted, it is not over: somebody has to say how it goes on."""
    if ended["status"] == RolloutStatus.HALTED:
        raise Refusal(
            f"The rollout has halted: {ended['why']}.",
            f"`notbefore rollouts resume {ended['id']}` goes on, `cancel` ends it; `history --rollout` says why.",
        )
    if ended["status"] != RolloutStatus.COMPLETED or ended["failed"]:
        raise Refusal(
            f"The rollout ended {ended['status']}: {rollout_lines.touched(ended)}.",
            f"`notbefore history --rollout {ended['id']}` says why.",
        )


def _planned(answer: Json, how: How) -> None:
    if how.as_json:
        show_json(answer)
    else:
        print(PLANNED)
        show_plan(answer["plan"])


def _said(lines: list[str], how: How) -> None:
    if not how.as_json:
        show_lines(lines)


def _as_json(answer: Json, how: How) -> None:
    if how.as_json:
        show_json(answer)
