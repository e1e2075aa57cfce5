"""What keeps the targets of a rollout from their next wave: the questions that choose it, asked without choosing.

Rule 1: the same functions that decide (rollout_fit.py, rollout_steps.py), so that it cannot tell another story.
Called by: explain/rollout.py, rollout_plan.py.
"""

from notbefore.core.fleet_seen import Fleet
from notbefore.core.rollout import Over, Rollout, RolloutStatus, Target
from notbefore.core.rollout_fit import AtOnce, Blocked, at_once, next_fit
from notbefore.core.rollout_steps import has_room_for_another, there_still
from notbefore.core.times import Moment, iso
from notbefore.core.windows import first_fit_ms


def block_of_target(rollout: Rollout, target: Target, fleet: Fleet, now: Moment) -> Blocked | None:
    """Of a target in hand that is in no wave; None when its next one goes now."""
    if closed := closed_window(rollout, now):
        return closed
    target = there_still(target, rollout, fleet)
    if not target.waiting:
        return None
    under_way = at_once(rollout, fleet.scopes)
    fit = next_fit(rollout, target, under_way, fleet.scopes, now, fleet.expected)
    return fit if isinstance(fit, Blocked) else None


def block_of_next(rollout: Rollout, fleet: Fleet, now: Moment) -> tuple[str, Blocked] | None:
    """The first target that still waits to be taken in hand, and what keeps it from that."""
    for name in rollout.waiting[:1]:
        under_way = at_once(rollout, fleet.scopes)
        if not has_room_for_another(rollout, under_way):
            return name, Blocked(f"the budget: {full_limit(rollout, under_way)}")
        if block := block_of_target(rollout, Target(name, fleet.vms_of(name, rollout.over)), fleet, now):
            return name, block
    return None


def block_of(rollout: Rollout, fleet: Fleet, now: Moment) -> Blocked | None:
    """What keeps the rollout as a whole from going on, when no wave is under way."""
    for target in rollout.in_hand:
        if target.wave is None and (block := block_of_target(rollout, target, fleet, now)):
            return block
    found = block_of_next(rollout, fleet, now)
    return found[1] if found else None


def closed_window(rollout: Rollout, now: Moment) -> Blocked | None:
    if rollout.status is not RolloutStatus.RUNNING:
        return None
    opens_ms = first_fit_ms(rollout.limits.windows, now.wall_ms, 0)
    if opens_ms is None:
        return Blocked("no window opens within a year")
    return Blocked(f"its window, which opens at {iso(opens_ms)}", opens_ms) if opens_ms > now.wall_ms else None


def full_limit(rollout: Rollout, under_way: AtOnce) -> str:
    limits = rollout.limits
    if limits.max_vms is not None and under_way.vms >= limits.max_vms:
        return f"max_vms {limits.max_vms}"
    return f"max_hosts {limits.max_hosts}" if rollout.over is Over.HOSTS else f"max_scopes {limits.max_scopes}"
