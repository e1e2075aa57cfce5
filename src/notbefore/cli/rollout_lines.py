"""A rollout in words: where it stands, its lanes, its budget, and what waits.

A lane is a target in hand: a host or scope whose VMs are being touched, wave by wave.
"""

from collections import Counter
from collections.abc import Mapping

from notbefore.cli.control_api import Json
from notbefore.cli.store import counted
from notbefore.core.explain.rollout import IS_COUNTED
from notbefore.core.rollout import ENDED_ROLLOUT, RolloutStatus

NAMES_SHOWN_MAX = 6
FAILED_SHOWN_MAX = 10
NO_STAGE = "between waves"
GOING_WELL = (RolloutStatus.RUNNING, RolloutStatus.COMPLETED)

Operations = Mapping[str, Json]
"""Operations under way, by id: what a lane's stage is told by."""


def is_over(rollout: Json) -> bool:
    return rollout["status"] in ENDED_ROLLOUT


def waits(rollout: Json) -> str:
    """What for; of one that is over, why it is."""
    return (why_stopped(rollout) if is_over(rollout) else rollout["waits_for"]) or "-"


def why_stopped(rollout: Json) -> str:
    """Why it does not go on; of one that goes on, or went to its end, there is nothing to say."""
    return "" if rollout["status"] in GOING_WELL else str(rollout["why"])


def needs_somebody(rollout: Json) -> bool:
    """Over, or halted: by itself it does not go on."""
    return is_over(rollout) or rollout["status"] == RolloutStatus.HALTED


def lines_of(rollout: Json, operations: Operations | None = None) -> list[str]:
    """For whoever asked for it, and for whoever waits for it."""
    lines = [headline(rollout), f"  {progress(rollout)}"]
    if not is_over(rollout):
        lines += [lane_line(lane, operations or {}) for lane in rollout["in_hand"]]
        lines += [f"  waiting for {waits}"] if (waits := beyond_lanes(rollout)) else []
    return lines


def headline(rollout: Json) -> str:
    """`Rollout 3f0c…: Reboot over 20 hosts, Halted: 2 VMs failed …`"""
    over = rollout["over"] if rollout["targets"] != 1 else rollout["over"].removesuffix("s")
    what = f"Rollout {rollout['id']}: {rollout['type']} over {rollout['targets']} {over}, {rollout['status']}"
    return f"{what}: {why}" if (why := why_stopped(rollout)) else what


def progress(rollout: Json) -> str:
    targets = f"{len(rollout['done'])} done, {len(rollout['in_hand'])} in hand, {len(rollout['waiting'])} waiting"
    return f"{targets}; {touched(rollout)}"


def touched(result: Json) -> str:
    return f"{counted(result['touched'], 'VM')} touched, {result['failed']} failed, {result['skipped']} left out"


def lane_line(lane: Json, operations: Operations) -> str:
    wave = f"wave {lane['wave']}, {counted(lane['vms'], 'VM')}, " if lane["wave"] else ""
    waits = f": waiting for {lane['waits_for']}" if lane["waits_for"] else ""
    return f"  {lane['name']}: {wave}{stage(lane, operations)}{waits}"


def beyond_lanes(rollout: Json) -> str:
    """What it waits for, without what its lanes say themselves."""
    waits: str = rollout["waits_for"]
    for lane in rollout["in_hand"]:
        waits = waits.removeprefix(f"{lane['name']}: {lane['waits_for']}").removeprefix("; ")
    return waits


def stage(lane: Json, operations: Operations) -> str:
    """`2 announced, 1 released`: how far the events of the lane's wave are."""
    operation = operations.get(lane["operation"] or "")
    events = operation["waves"][-1]["events"] if operation and operation["waves"] else []
    stages = Counter(event["stage"] for event in events)
    if stages:
        return ", ".join(f"{number} {name}" for name, number in stages.items())
    if lane["wave"]:
        return "over" if lane["waits_for"] == IS_COUNTED else "beginning"
    return NO_STAGE


def budget(rollout: Json) -> str:
    """`hosts 1/1, scopes 4, VMs 12/50, impacts 3/10 per 3600 s`: what is used of what may be."""
    shown = {"hosts": "hosts", "scopes": "scopes", "vms": "VMs", "impacts": "impacts"}
    parts = [f"{word} {_of_max(rollout['budget'][name])}" for name, word in shown.items() if name in rollout["budget"]]
    return ", ".join(parts)


def _of_max(share: Json) -> str:
    return str(share["used"]) if share["max"] is None else f"{share['used']}/{share['max']}"


def waiting_names(rollout: Json) -> str:
    """The next ones by name, the others counted."""
    names = rollout["waiting"]
    more = len(names) - NAMES_SHOWN_MAX
    return ", ".join(names[:NAMES_SHOWN_MAX]) + (f" and {more} more" if more > 0 else "")


def failures(rollout: Json) -> list[str]:
    """Targets on which impacts failed, the newest last."""
    failed = [one for one in (*rollout["done"], *rollout["in_hand"]) if one["failed"]]
    return [f"{one['name']}: {one['failed']} failed" for one in failed[-FAILED_SHOWN_MAX:]]
