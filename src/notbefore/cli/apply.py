"""apply: declare the hosts and scopes of a fleet.toml, and say what that changed."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from notbefore.cli.control_api import Json
from notbefore.cli.fleet import BadFleet, Fleet, read_fleet
from notbefore.cli.fleet_plan import Step, planned, told
from notbefore.cli.options import AsJson
from notbefore.cli.printable import show_lines
from notbefore.cli.tables import show_json
from notbefore.control_client import ControlClient, connect
from notbefore.core.errors import Refusal

MARKS = {"created": "+", "changed": "~", "removed": "-"}

File = Annotated[str, typer.Argument(metavar="FLEET.TOML", help="The fleet, in TOML.")]
Plan = Annotated[bool, typer.Option("--plan", help="Only say what would change; change nothing.")]
Prune = Annotated[bool, typer.Option("--prune", help="Also remove scopes and hosts that the file does not name.")]
Force = Annotated[bool, typer.Option("--force", help="Also when that takes a VM away from a live event.")]


def apply(
    file: File, *, plan: Plan = False, prune: Prune = False, force: Force = False, as_json: AsJson = False
) -> None:
    """Declare the hosts, scopes and VMs of a fleet, and say what changed.

    The file has [hosts.NAME] with executor, [scopes.NAME] with kind, [scopes.NAME.settings], and [[scopes.NAME.vms]]
    with name, update_domain, addresses and so on. Each scope is replaced as a whole; what the file does not name is
    left alone, unless --prune removes it. A file with anything wrong in it changes nothing. Applying the same file
    again changes nothing.

    Example: `notbefore apply fleet.toml --plan`, then `notbefore apply fleet.toml`
    """
    fleet = read_fleet(Path(file))
    with connect() as client:
        steps = planned(fleet, client, prune=prune, force=force)
        if not plan:
            _carry_out(fleet, client, steps, force=force, as_json=as_json)
    if as_json:
        show_json([_as_json(step) for step in steps])
    else:
        show_lines(line for step in steps for line in lines_of_step(step))
        show_lines([_summed_up(steps, plan=plan)])


def _carry_out(fleet: Fleet, client: ControlClient, steps: Sequence[Step], *, force: bool, as_json: bool) -> None:
    """What was planned a moment ago. Where somebody else was faster since, it is said how far it came."""
    wanted = [step for step in steps if step.is_change]
    for place, step in enumerate(wanted):
        try:
            _do(client, step, force=force)
        except Refusal as refusal:
            done, left = wanted[:place], wanted[place + 1 :]
            if as_json:
                show_json([_as_json(one) for one in done])
            else:
                show_lines(line for one in done for line in lines_of_step(one))
            raise _stopped(fleet, step, refusal, done, left) from None


def _do(client: ControlClient, step: Step, *, force: bool) -> None:
    match step.noun, step.outcome:
        case "scope", "removed":
            client.remove_scope(step.name, force=force)
        case "scope", _:
            client.put_scope(step.name, step.body, force=force)
        case _, "removed":
            client.remove_host(step.name)
        case _:
            client.put_host(step.name, step.body)


def _stopped(fleet: Fleet, step: Step, refusal: Refusal, done: Sequence[Step], left: Sequence[Step]) -> Refusal:
    if step.noun == "scope" and step.outcome != "removed":
        where = told(fleet, step.name, refusal)
    else:
        where = BadFleet(f"{fleet.file}, {step.noun}s: {refusal.message}", refusal.hint, refusal.facts)
    before = f"Done before it: {_names(done)}." if done else "Nothing was done before it."
    after = f" Not tried: {_names(left)}." if left else ""
    return BadFleet(f"{where.message} {before}{after}", where.hint, where.facts)


def _names(steps: Sequence[Step]) -> str:
    return ", ".join(f"{step.noun} {step.name}" for step in steps)


def _as_json(step: Step) -> Json:
    changes = [change.sentence for change in step.changes] if step.outcome == "changed" else []
    return {"outcome": step.outcome, "changes": changes, step.noun: step.shown}


def lines_of_step(step: Step) -> list[str]:
    """`+ scope shop: availability-set, 2 VMs`, and what is in it; nothing for what stays as it is."""
    if not step.is_change:
        return []
    about = ""
    if step.noun == "scope" and step.outcome != "changed":
        about = f": {step.shown['kind']}, {_counted(len(step.shown['vms']), 'VM')}"
    return [f"{MARKS[step.outcome]} {step.noun} {step.name}{about}", *(f"    {one.line}" for one in step.changes)]


def _summed_up(steps: Sequence[Step], *, plan: bool) -> str:
    """`Applied: 2 scopes created, 18 unchanged.`"""
    if not any(step.is_change for step in steps):
        return f"{'Planned' if plan else 'Applied'}: nothing to change, {_counted(len(steps), 'thing')} unchanged."
    counts = Counter((step.outcome, step.noun) for step in steps)
    parts = [f"{_counted(number, noun)} {outcome}" for (outcome, noun), number in counts.items()]
    return f"{'Planned, and nothing is changed yet' if plan else 'Applied'}: {', '.join(parts)}."


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
