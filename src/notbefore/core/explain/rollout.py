"""What a rollout waits for, in one sentence, and what each of its targets in hand does; for operators of the fleet.

Rule 1: pure, and from the functions that decide (rollout_blocks.py, explain/operation.py).
"""

from notbefore.core.explain.explanation import listed
from notbefore.core.explain.operation import OVER, operation_waits_for
from notbefore.core.fleet_seen import Fleet
from notbefore.core.rollout import Rollout, RolloutStatus, Target
from notbefore.core.rollout_blocks import block_of_next, block_of_target
from notbefore.core.times import Moment

GOES_ON_NOW = "its next wave, which is due now"
IS_COUNTED = "the next full second, from which on its wave no longer counts"
RESUME = "`notbefore rollouts resume {id}` or `notbefore rollouts cancel {id}`"


def rollout_waits_for(rollout: Rollout, fleet: Fleet, now: Moment) -> str:
    under_way = waves_under_way(rollout, fleet, now)
    match rollout.status:
        case RolloutStatus.COMPLETED | RolloutStatus.CANCELLED:
            return OVER
        case RolloutStatus.PAUSED | RolloutStatus.HALTED:
            command = RESUME.format(id=rollout.id)
            return f"{command}: {rollout.why}" + (f"; meanwhile {under_way}" if under_way else "")
        case RolloutStatus.CANCELLING:
            return under_way or "its end, which is due now"
    what_is_next = next_waits_for(rollout, fleet, now)
    return "; ".join(filter(None, (under_way, what_is_next))) or GOES_ON_NOW


def waves_under_way(rollout: Rollout, fleet: Fleet, now: Moment) -> str:
    in_waves = [target for target in rollout.in_hand if target.wave]
    if len(in_waves) > 1:
        return f"the waves of {listed([target.name for target in in_waves])}"
    return "".join(f"{target.name}: {target_waits_for(rollout, target, fleet, now)}" for target in in_waves)


def next_waits_for(rollout: Rollout, fleet: Fleet, now: Moment) -> str:
    for target in rollout.in_hand:
        if target.wave is None and (block := block_of_target(rollout, target, fleet, now)):
            return f"{target.name}: {block.why}"
    found = block_of_next(rollout, fleet, now)
    return f"{found[0]}: {found[1].why}" if found else ""


def target_waits_for(rollout: Rollout, target: Target, fleet: Fleet, now: Moment) -> str:
    """Of a target in hand."""
    if target.wave:
        operation = fleet.operations.get(target.wave.operation)
        if operation is None:
            return "its wave, which begins now"
        return IS_COUNTED if operation.is_over else operation_waits_for(operation, fleet.scopes, now)
    if rollout.status is not RolloutStatus.RUNNING:
        return f"the rollout, which is {rollout.status}"
    block = block_of_target(rollout, target, fleet, now)
    return block.why if block else GOES_ON_NOW
