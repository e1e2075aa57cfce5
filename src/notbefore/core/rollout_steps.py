"""What a rollout becomes by what is seen of its operations and of the fleet.

Rule 1: pure, and by what is seen alone, as an operation (operation_steps.py).
Rule 2: whoever fits goes; a target that cannot go yet does not hold up those behind it, unless it holds the budget.
Rule 3: a wave counts to the next full second after its end. So what is chosen at one moment does not depend on what
else happens at that moment, and in which order: the plan equals what happens, whoever drives.
Rule 4: when more impacts have failed than may, it halts: nothing new is begun, and what has not started is withdrawn.
VMs that were withdrawn, or could not be taken then, wait again.
Called by: runtime/rollouts.py, rollout_plan.py, the tests.
"""

from dataclasses import dataclass

from notbefore.core.fleet_seen import Fleet
from notbefore.core.history import Change
from notbefore.core.kinds import Status
from notbefore.core.model import THE_SERVICE, Actor
from notbefore.core.operation import Operation, OperationStatus, Waiting, in_vms
from notbefore.core.operation_steps import ASK_AGAIN_MAX_MS, ASK_AGAIN_MS, Stepped
from notbefore.core.rollout import DoneTarget, Hit, Over, Rollout, RolloutStatus, RolloutWave, Target
from notbefore.core.rollout_fit import AtOnce, Blocked, at_once, next_fit
from notbefore.core.times import SECOND_MS, Moment, is_still_to_come, rounded_up_to_second
from notbefore.core.values import replace
from notbefore.core.windows import first_fit_ms


@dataclass(frozen=True, slots=True)
class Rolled:
    """The rollout afterwards, what has changed for history, and when time alone may let it go on."""

    rollout: Rollout
    changes: tuple[Change, ...] = ()
    look_again_ms: int | None = None


def roll(rollout: Rollout, fleet: Fleet, now: Moment) -> Rolled:
    """As far as it goes now."""
    if rollout.is_over:
        return Rolled(rollout)
    changes: list[Change] = []
    rollout = without_old_hits(with_results(rollout, fleet, now), now)
    # One that halts chooses nothing: its waves that are over are counted at once.
    rollout = with_results(halted_when_failing(rollout, fleet, changes), fleet, now)
    rollout = without_finished_targets(rollout, now, changes)
    again_ms = None
    if rollout.status is RolloutStatus.RUNNING:
        rollout, again_ms = with_next_waves(rollout, fleet, now, changes)
    rollout = without_finished_targets(rollout, now, changes)
    rollout = ended(rollout, now, changes)
    return Rolled(rollout, tuple(changes), again_ms)


# -- What became of the waves.


def with_results(rollout: Rollout, fleet: Fleet, now: Moment) -> Rollout:
    chooses = rollout.status is RolloutStatus.RUNNING and has_more_to_begin(rollout)
    for target in rollout.in_hand:
        operation = fleet.operations.get(target.wave.operation) if target.wave else None
        if operation is None:
            continue
        rollout = replace(rollout, hits=tuple(as_started(hit, operation) for hit in rollout.hits))
        if operation.is_over and not (chooses and still_counts_ms(operation, now)):
            rollout = with_target(rollout, after_wave(target, operation, now))
    return rollout


def has_more_to_begin(rollout: Rollout) -> bool:
    return bool(rollout.waiting) or any(target.waiting for target in rollout.in_hand)


def still_counts_ms(operation: Operation, now: Moment) -> int | None:
    """Until when a wave that is over counts as if it were not; None when it no longer does."""
    until_ms = rounded_up_to_second((operation.ended_at_ms or 0) + 1)
    return until_ms if is_still_to_come(until_ms, now, SECOND_MS) else None


def as_started(hit: Hit, operation: Operation) -> Hit:
    """The rate counts on from the last start; until all have started, they all count."""
    if hit.operation != operation.id or hit.started_at_ms is not None:
        return hit
    starts = [member.started_at_ms for member in operation.members()]
    if not operation.is_over and (operation.wave is None or None in starts):
        return hit
    began = [at_ms for at_ms in starts if at_ms is not None]
    # Nothing of it started: it no longer counts.
    return replace(hit, started_at_ms=max(began, default=0))


def after_wave(target: Target, operation: Operation, now: Moment) -> Target:
    withdrawn = operation.status is OperationStatus.CANCELLED
    back = [left.of for left in operation.left]
    touched = failed = skipped = 0
    for member in operation.done:
        if member.ended is Status.CANCELLED and withdrawn:
            back += member.scoped_vms
        elif member.started_at_ms is None:
            skipped += len(member.vms)
        else:
            touched += len(member.vms)
            failed += len(member.failed_vms)
    refused = 0 if touched or withdrawn else target.refused + 1
    wait_ms = min(ASK_AGAIN_MS * 2 ** (refused - 1), ASK_AGAIN_MAX_MS) if refused else 0
    return replace(
        target,
        wave=None,
        waiting=(*target.waiting, *back),
        touched=target.touched + touched,
        failed=target.failed + failed,
        skipped=target.skipped + skipped,
        refused=refused,
        not_until_ms=(operation.ended_at_ms or now.wall_ms) + wait_ms if refused else 0,
    )


def without_old_hits(rollout: Rollout, now: Moment) -> Rollout:
    span_ms = rollout.limits.impacts_per_s * SECOND_MS
    hits = tuple(hit for hit in rollout.hits if hit.started_at_ms is None or hit.started_at_ms + span_ms > now.wall_ms)
    return rollout if len(hits) == len(rollout.hits) else replace(rollout, hits=hits)


def failed_so_far(rollout: Rollout, fleet: Fleet) -> int:
    """Of finished waves, and of those under way."""
    return rollout.failed + sum(
        len(member.failed_vms) for one in waves_seen(rollout, fleet) for member in one.members()
    )


def waves_seen(rollout: Rollout, fleet: Fleet) -> list[Operation]:
    """The operations of the waves that its targets are in."""
    found = [fleet.operations.get(target.wave.operation) for target in rollout.in_hand if target.wave]
    return [one for one in found if one]


def halted_when_failing(rollout: Rollout, fleet: Fleet, changes: list[Change]) -> Rollout:
    failed = failed_so_far(rollout, fleet)
    goes_on = rollout.waiting or any(target.wave or target.waiting for target in rollout.in_hand)
    if rollout.status not in (RolloutStatus.RUNNING, RolloutStatus.PAUSED) or not goes_on:
        return rollout
    if failed - rollout.forgiven <= rollout.limits.failed_max:
        return rollout
    why = f"{failed} {'impact' if failed == 1 else 'impacts'} failed, and at most {rollout.limits.failed_max} may"
    if rollout.forgiven:
        why += f" after the {rollout.forgiven} that were known when it was resumed"
    changes.append(told("rollout halted", f"{why}; what has not started is withdrawn", rollout))
    return replace(rollout, status=RolloutStatus.HALTED, why=why)


# -- What goes next.


def with_next_waves(rollout: Rollout, fleet: Fleet, now: Moment, changes: list[Change]) -> tuple[Rollout, int | None]:
    times = [until_ms for one in waves_seen(rollout, fleet) if one.is_over and (until_ms := still_counts_ms(one, now))]
    opens_ms = first_fit_ms(rollout.limits.windows, now.wall_ms, 0)
    if opens_ms != now.wall_ms:
        return rollout, min([*times, *([opens_ms] if opens_ms is not None else [])], default=None)
    under_way = at_once(rollout, fleet.scopes)
    for target in rollout.in_hand:
        if target.wave is None:
            rollout = with_next_wave(
                rollout, there_still(target, rollout, fleet), under_way, fleet, now, changes, times
            )
    for name in rollout.waiting:
        if not has_room_for_another(rollout, under_way):
            break
        target = Target(name, fleet.vms_of(name, rollout.over))
        rollout = with_next_wave(rollout, target, under_way, fleet, now, changes, times)
    return rollout, min(times, default=None)


def has_room_for_another(rollout: Rollout, under_way: AtOnce) -> bool:
    limits = rollout.limits
    most, there = (
        (limits.max_hosts, under_way.hosts) if rollout.over is Over.HOSTS else (limits.max_scopes, under_way.scopes)
    )
    full = limits.max_vms is not None and under_way.vms >= limits.max_vms
    return not full and (most is None or len(there) < most)


def with_next_wave(
    rollout: Rollout,
    target: Target,
    under_way: AtOnce,
    fleet: Fleet,
    now: Moment,
    changes: list[Change],
    times: list[int],
) -> Rollout:
    if not target.waiting:
        return with_target(rollout, target)
    fit = next_fit(rollout, target, under_way, fleet.scopes, now, fleet.expected)
    if isinstance(fit, Blocked):
        times += [fit.until_ms] if fit.until_ms is not None else []
        is_in_hand = any(one.name == target.name for one in rollout.in_hand)
        return with_target(rollout, target) if is_in_hand else rollout
    under_way.take(target.name)
    number = rollout.waves_begun + 1
    operation = rollout.operation_id(number)
    wave = RolloutWave(number, operation, fit.vms, fit.hosts, now.wall_ms, fit.announced_by_ms)
    going = {of.key for of in fit.vms}
    left = tuple(of for of in target.waiting if of.key not in going)
    changes.append(told("rollout wave", f"wave {number}: {in_vms(len(fit.vms))} of {target.name}", rollout))
    rollout = with_target(rollout, replace(target, waiting=left, wave=wave))
    hits = (*rollout.hits, Hit(operation, len(fit.vms))) if rollout.limits.impacts_max is not None else ()
    return replace(rollout, waves_begun=number, hits=hits)


def with_target(rollout: Rollout, target: Target) -> Rollout:
    """The target in its place among those in hand; a new one behind them, and no longer waiting."""
    if any(one.name == target.name for one in rollout.in_hand):
        in_hand = tuple(target if one.name == target.name else one for one in rollout.in_hand)
        return replace(rollout, in_hand=in_hand)
    waiting = tuple(name for name in rollout.waiting if name != target.name)
    return replace(rollout, in_hand=(*rollout.in_hand, target), waiting=waiting)


def there_still(target: Target, rollout: Rollout, fleet: Fleet) -> Target:
    """Without the VMs that have left meanwhile, which are not touched."""
    waiting = tuple(of for of in target.waiting if fleet.is_there(of, target.name, rollout.over))
    return replace(target, waiting=waiting, skipped=target.skipped + len(target.waiting) - len(waiting))


def operation_of(rollout: Rollout, target: Target, wave: RolloutWave) -> Stepped:
    """The operation that a wave is."""
    operation = Operation(
        id=wave.operation,
        type=rollout.type,
        made_by=rollout.made_by,
        made_at_ms=wave.begun_at_ms,
        host=target.name if rollout.over is Over.HOSTS else "",
        rollout=rollout.id,
        description=rollout.description,
        duration_s=rollout.duration_s,
        recovery_s=rollout.limits.recovery_s,
        announced_by_ms=wave.announced_by_ms,
        once=True,
        waiting=tuple(Waiting(of) for of in wave.vms),
    )
    return Stepped(operation, ())


# -- Ends, and operators' words.


def without_finished_targets(rollout: Rollout, now: Moment, changes: list[Change]) -> Rollout:
    finished = [one for one in rollout.in_hand if one.wave is None and not one.waiting]
    for one in finished:
        how = f"{in_vms(one.touched)} touched, {one.failed} failed, {one.skipped} left out"
        changes.append(told("rollout target done", f"{one.name}: {how}", rollout))
    if not finished:
        return rollout
    done = tuple(DoneTarget(one.name, now.wall_ms, one.touched, one.failed, one.skipped) for one in finished)
    in_hand = tuple(one for one in rollout.in_hand if one not in finished)
    return replace(rollout, in_hand=in_hand, done=(*rollout.done, *done))


def ended(rollout: Rollout, now: Moment, changes: list[Change]) -> Rollout:
    is_cancelled = rollout.status is RolloutStatus.CANCELLING and not any(one.wave for one in rollout.in_hand)
    if not is_cancelled and (rollout.waiting or rollout.in_hand):
        return rollout
    status = RolloutStatus.CANCELLED if rollout.status is RolloutStatus.CANCELLING else RolloutStatus.COMPLETED
    how = f"{in_vms(rollout.touched)} touched, {rollout.failed} failed, {rollout.skipped} left out"
    changes.append(told(f"rollout {status.lower()}", how, rollout))
    why = rollout.why if status is RolloutStatus.CANCELLED else ""
    return replace(rollout, status=status, why=why, ended_at_ms=now.wall_ms)


def paused(rollout: Rollout, by: Actor) -> Rolled:
    """Nothing new is begun; what is announced goes on."""
    return worded(rollout, (RolloutStatus.RUNNING,), RolloutStatus.PAUSED, by, "paused")


def resumed(rollout: Rollout, fleet: Fleet, by: Actor) -> Rolled:
    """Failures that are known by now do not halt it again."""
    rolled = worded(rollout, (RolloutStatus.PAUSED, RolloutStatus.HALTED), RolloutStatus.RUNNING, by, "resumed")
    if not rolled.changes:
        return rolled
    return replace(rolled, rollout=replace(rolled.rollout, forgiven=failed_so_far(rollout, fleet)))


def stopped(rollout: Rollout, by: Actor) -> Rolled:
    """Cancelled as a whole: what has not started is withdrawn, what has is waited for."""
    stoppable = (RolloutStatus.RUNNING, RolloutStatus.PAUSED, RolloutStatus.HALTED)
    return worded(rollout, stoppable, RolloutStatus.CANCELLING, by, "cancelled")


def worded(rollout: Rollout, allowed: tuple[RolloutStatus, ...], status: RolloutStatus, by: Actor, word: str) -> Rolled:
    if rollout.status not in allowed:
        return Rolled(rollout)
    why = f"{word} by {by}"
    # Being cancelled is not yet the end, which history tells by itself.
    what = "cancelling" if status is RolloutStatus.CANCELLING else word
    change = replace(told(f"rollout {what}", why, rollout), by=by)
    return Rolled(replace(rollout, status=status, why=why, stopped_by=by), (change,))


def withdraws(rollout: Rollout) -> bool:
    """Whether events of its waves that have not started are taken back."""
    return rollout.status in (RolloutStatus.HALTED, RolloutStatus.CANCELLING)


def told(what: str, why: str, rollout: Rollout) -> Change:
    return Change(what, why, THE_SERVICE, rollout=rollout.id)
