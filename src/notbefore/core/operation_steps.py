"""What an operation becomes by what is seen of its events and scopes.

Rule 1: pure, and by what is seen alone: seeing the same twice changes nothing, and a look that was missed is made up
for by the next.
Rule 2: the gate opens when every event of the wave is released, has started or is over; one that is asked for and not
answered yet keeps it shut.
Rule 3: a common NotBefore is as late as the longest notice of the wave asks for, and a little later, so that every
scope can be told in time.
Called by: runtime/operations.py, the simulator, the tests.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from notbefore.core.history import Change
from notbefore.core.kinds import ENDED, EventType, Status, VmState
from notbefore.core.model import THE_SERVICE, Actor, Event, Scope, Vm, is_on, name_key
from notbefore.core.operation import Left, Member, Operation, OperationStatus, ScopedVm, Stage, Waiting, Wave, in_vms
from notbefore.core.requests import JoinWave
from notbefore.core.schedule import groups_going_down_together
from notbefore.core.times import SECOND_MS, Moment, is_still_to_come, iso, rounded_up_to_second
from notbefore.core.values import replace
from notbefore.core.waves import hindrance_to

WAVE_SLACK_MS = SECOND_MS
ASK_AGAIN_MS = SECOND_MS
ASK_AGAIN_MAX_MS = 64 * SECOND_MS
STAGES = tuple(Stage)
TOOK_NONE = "its scope could not take it then"
TOO_LATE = "it came too late to be over before its window closes"


@dataclass(frozen=True, slots=True)
class Sight:
    """What is seen: scopes by key, and events by id, ended ones too; an event that is not there yet is left out."""

    scopes: Mapping[str, Scope]
    events: Mapping[str, Event]


@dataclass(frozen=True, slots=True)
class Stepped:
    """The operation afterwards, and what has changed for history."""

    operation: Operation
    changes: tuple[Change, ...]


def step(operation: Operation, sight: Sight, now: Moment) -> Stepped:
    """As far as it goes now."""
    changes: list[Change] = []
    if operation.wave:
        operation = seen(operation, operation.wave, sight)
        operation = with_gate(operation, changes)
        operation = without_finished_wave(operation, changes)
    if operation.wave is None and operation.status is OperationStatus.RUNNING and may_form(operation):
        operation = with_next_wave(operation, sight, now, changes)
    if operation.wave is None and not operation.is_over:
        operation = ended(operation, now, changes)
    return Stepped(operation, tuple(changes))


def seen(operation: Operation, wave: Wave, sight: Sight) -> Operation:
    for member in wave.members:
        event = sight.events.get(member.event_id)
        if event is not None and member.stage is not Stage.OVER:
            wave = wave.with_member(as_seen(member, event))
    return replace(operation, wave=wave)


def as_seen(member: Member, event: Event) -> Member:
    """Forward only: what was seen once stays, also when somebody looks at an older state."""
    now_at = as_event_is(member, event)
    before, after = ((STAGES.index(one.stage), len(one.failed_vms)) for one in (member, now_at))
    return now_at if after > before else member


def as_event_is(member: Member, event: Event) -> Member:
    failed = tuple(outcome.vm for outcome in event.outcomes if not outcome.done)
    known = replace(member, started_at_ms=event.started_at_ms, failed_vms=failed)
    if event.status in ENDED:
        return replace(known, stage=Stage.OVER, ended=event.status)
    if event.status is Status.STARTED:
        return replace(known, stage=Stage.STARTED)
    return replace(member, stage=Stage.RELEASED if event.release else Stage.ANNOUNCED)


def with_gate(operation: Operation, changes: list[Change]) -> Operation:
    wave = operation.wave
    if wave is None or wave.gate_open or operation.status is not OperationStatus.RUNNING:
        return operation
    stages = {member.stage for member in wave.members}
    if Stage.RELEASED not in stages or stages & {Stage.ASKED, Stage.ANNOUNCED}:
        return operation
    changes.append(told("gate opened", f"every event of wave {wave.number} is released", operation))
    return replace(operation, wave=replace(wave, gate_open=True))


def without_finished_wave(operation: Operation, changes: list[Change]) -> Operation:
    wave = operation.wave
    if wave is None or any(member.stage is not Stage.OVER for member in wave.members):
        return operation
    if wave.members:
        how = ", ".join(f"{member.scope} {member.ended}" for member in wave.members)
        changes.append(told("wave ended", f"wave {wave.number} is over: {how}", operation))
    return replace(operation, wave=None, done=(*operation.done, *wave.members))


def may_form(operation: Operation) -> bool:
    return bool(operation.waiting) and not (operation.once and operation.waves_formed)


def with_next_wave(operation: Operation, sight: Sight, now: Moment, changes: list[Change]) -> Operation:
    operation = without_the_gone(operation, sight)
    if operation.announced_by_ms is not None and now.wall_ms > operation.announced_by_ms:
        late = tuple(replace(one, why=TOO_LATE) for one in operation.waiting)
        return replace(operation, waiting=late, waves_formed=1)
    groups = groups_ready(operation, sight, now)
    if not groups:
        return replace(operation, waves_formed=1) if operation.once else operation
    number = operation.waves_formed + 1
    refused_before = {one.of.key: one.refused for one in operation.waiting}
    members = tuple(
        Member(
            scope.name,
            vms[0].update_domain,
            tuple(vm.name for vm in vms),
            operation.event_id(number, scope.name, vms[0].update_domain, vms[0].host),
            number,
            vms[0].host,
            refused=max(refused_before[name_key(scope.name), name_key(vm.name)] for vm in vms),
        )
        for scope, vms in groups
    )
    not_before_ms = common_not_before_ms(operation.type, [scope for scope, _ in groups], now)
    if number == 1:
        not_before_ms = max(not_before_ms, rounded_up_to_second(operation.not_before_ms or 0))
    wave = Wave(number, now.wall_ms, not_before_ms, members)
    joining = {vm.key for member in members for vm in member.scoped_vms}
    changes.append(
        told("wave announced", f"wave {number}: {worded(members)}, not before {iso(not_before_ms)}", operation)
    )
    waiting = tuple(one for one in operation.waiting if one.of.key not in joining)
    return replace(operation, wave=wave, waves_formed=number, waiting=waiting)


def common_not_before_ms(event_type: EventType, scopes: Sequence[Scope], now: Moment) -> int:
    notice_s = max(scope.settings.notice_for(event_type) for scope in scopes)
    return rounded_up_to_second(now.wall_ms + notice_s * SECOND_MS) + WAVE_SLACK_MS


def without_the_gone(operation: Operation, sight: Sight) -> Operation:
    """VMs that are no longer there, or not on the host, are not touched."""
    gone = [Left(one.of, why) for one in operation.waiting if (why := why_gone(operation, one.of, sight))]
    if not gone:
        return operation
    keys = {left.of.key for left in gone}
    waiting = tuple(one for one in operation.waiting if one.of.key not in keys)
    return replace(operation, waiting=waiting, left=(*operation.left, *gone))


def why_gone(operation: Operation, of: ScopedVm, sight: Sight) -> str:
    scope = sight.scopes.get(name_key(of.scope))
    vm = scope.vm(of.vm) if scope and not scope.removed else None
    if vm is None:
        return "it is not there any more"
    if vm.state is not VmState.RUNNING:
        return "it is not running"
    return "" if not operation.host or is_on(vm, operation.host) else f"it is on {vm.host or 'no host'} now"


def groups_ready(operation: Operation, sight: Sight, now: Moment) -> list[tuple[Scope, Sequence[Vm]]]:
    """Of each scope the first update domain that can be announced now: VMs of one domain and host together."""
    ready: list[tuple[Scope, Sequence[Vm]]] = []
    for scope, vms in waiting_by_scope(operation.waiting, sight.scopes, now):
        chosen: int | None = None
        for group in groups_going_down_together(vms):
            if chosen not in (None, group[0].update_domain):
                break
            if hindrance_to(scope, group, operation.type, now) is None:
                chosen = group[0].update_domain
                ready.append((scope, group))
    return ready


def waiting_by_scope(
    waiting: Iterable[Waiting], scopes: Mapping[str, Scope], now: Moment
) -> Iterable[tuple[Scope, list[Vm]]]:
    """Those whose scope is there and who may be asked for at that time."""
    vms: dict[str, list[Vm]] = {}
    for one in waiting:
        scope = scopes.get(name_key(one.of.scope))
        vm = scope.vm(one.of.vm) if scope else None
        if vm and not is_still_to_come(one.not_until_ms, now, ASK_AGAIN_MAX_MS):
            vms.setdefault(name_key(one.of.scope), []).append(vm)
    return [(scopes[key], of_scope) for key, of_scope in sorted(vms.items())]


def ended(operation: Operation, now: Moment, changes: list[Change]) -> Operation:
    if operation.status is OperationStatus.RUNNING and may_form(operation):
        return operation
    left = (*operation.left, *(Left(one.of, operation.why or one.why or TOOK_NONE) for one in operation.waiting))
    failed = any(member.ended is Status.FAILED for member in operation.done)
    if operation.status is OperationStatus.CANCELLING:
        status = OperationStatus.CANCELLED
    else:
        status = OperationStatus.FAILED if failed else OperationStatus.COMPLETED
    over = replace(operation, status=status, waiting=(), left=left, ended_at_ms=now.wall_ms)
    changes.append(told(f"operation {status.lower()}", f"{touched(over)} of {in_vms(counted(over))} touched", over))
    return over


def touched(operation: Operation) -> int:
    return sum(len(member.vms) for member in operation.done if member.started_at_ms is not None)


def counted(operation: Operation) -> int:
    return sum(len(member.vms) for member in operation.members()) + len(operation.left) + len(operation.waiting)


def joining(operation: Operation, wave: Wave, member: Member) -> JoinWave:
    """What its scope is asked for."""
    return JoinWave(
        scope=member.scope,
        request_id=operation.join_id(member.event_id),
        by=operation.made_by,
        event_id=member.event_id,
        operation=operation.id,
        wave=wave.number,
        type=operation.type,
        vms=member.vms,
        update_domain=member.update_domain,
        host=member.host,
        not_before_ms=wave.not_before_ms,
        duration_s=operation.duration_s,
        description=operation.description,
        recovery_s=operation.recovery_s,
    )


def answered(operation: Operation, event_id: str, refusal: str, now: Moment) -> Operation:
    """A scope has taken the event in, or says why not."""
    wave = operation.wave
    member = next((one for one in wave.members if one.event_id == event_id), None) if wave else None
    if wave is None or member is None or member.stage is not Stage.ASKED:
        return operation
    if not refusal:
        return replace(operation, wave=wave.with_member(replace(member, stage=Stage.ANNOUNCED)))
    wait_ms = min(ASK_AGAIN_MS * 2**member.refused, ASK_AGAIN_MAX_MS)
    back = tuple(
        Waiting(vm, refusal, member.refused + 1, not_until_ms=now.wall_ms + wait_ms) for vm in member.scoped_vms
    )
    return replace(operation, wave=wave.without(event_id), waiting=(*operation.waiting, *back))


def cancelled(operation: Operation, by: Actor, why: str) -> Stepped:
    if operation.status is not OperationStatus.RUNNING:
        return Stepped(operation, ())
    cancelling = replace(operation, status=OperationStatus.CANCELLING, why=why, cancelled_by=by)
    return Stepped(cancelling, (replace(told("operation cancelling", why, operation), by=by),))


def withdrawn(operation: Operation, event_id: str) -> Operation:
    """The event had not come to its scope, and never will: its VMs are not touched."""
    wave = operation.wave
    member = next((one for one in wave.members if one.event_id == event_id), None) if wave else None
    if wave is None or member is None or member.stage is not Stage.ASKED:
        return operation
    left = tuple(Left(vm, operation.why) for vm in member.scoped_vms)
    return replace(operation, wave=wave.without(event_id), left=(*operation.left, *left))


def look_again_ms(operation: Operation, sight: Sight, now: Moment) -> int | None:
    """When time alone may let it go on; None when only a change of one of its scopes can."""
    if operation.wave or not may_form(operation):
        return None
    waits = [one.not_until_ms for one in operation.waiting]
    times = [until_ms for until_ms in waits if is_still_to_come(until_ms, now, ASK_AGAIN_MAX_MS)]
    for scope, vms in waiting_by_scope(operation.waiting, sight.scopes, now):
        for group in groups_going_down_together(vms):
            hindrance = hindrance_to(scope, group, operation.type, now)
            if hindrance and hindrance.until_ms is not None:
                times.append(hindrance.until_ms)
    return min(times, default=None)


def told(what: str, why: str, operation: Operation) -> Change:
    return Change(what, why, THE_SERVICE, operation=operation.id, rollout=operation.rollout)


def worded(members: Sequence[Member]) -> str:
    return "; ".join(f"update domain {one.update_domain} of {one.scope} ({in_vms(len(one.vms))})" for one in members)
