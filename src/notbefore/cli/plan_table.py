"""The plan of a rollout or of a host's maintenance, as a table: what will happen when, if nobody approves anything."""

from notbefore.cli.control_api import Json
from notbefore.cli.exits import complain
from notbefore.cli.printable import show_lines
from notbefore.cli.store import counted
from notbefore.cli.tables import show_table

COLUMNS = ("wave", "target", "visible", "not before", "ends", "vms", "update domains")
NOTHING = "There is nothing to do."


def show_plan(plan: Json) -> None:
    """No impact of a wave starts later than it says here, once the wave is announced."""
    if plan["waves"] or not plan["stuck"]:
        show_table(COLUMNS, [_row(wave) for wave in plan["waves"]], NOTHING)
    vms = sum(wave["vms"] for wave in plan["waves"])
    if plan["ends"]:
        show_lines([f"{counted(len(plan['waves']), 'wave')}, {counted(vms, 'VM')}, over by {plan['ends']}."])
    if plan["stuck"]:
        complain(f"It does not come to its end: {plan['stuck']}.", "Its limits, or events of others, are in the way.")


def _row(wave: Json) -> list[str]:
    domains = ", ".join(f"{one['scope']} {one['update_domain']}" for one in wave["events"])
    times = [wave[name] or "-" for name in ("visible", "not_before", "ends")]
    return [str(wave["number"]), wave["target"] or "-", *times, str(wave["vms"]), domains or "-"]
