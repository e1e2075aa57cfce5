"""Carrying out: claims, evidence, failures, and what is left of the VM (SPEC §3.5).

Rule 1: only the current attempt's report counts; earlier ones are refused (S6).
Rule 2: nothing leaves Started without evidence, an operator's word, or the retry limit (S10).
"""

from notbefore.core.draft import Answer, Draft
from notbefore.core.effects import PendingEffect
from notbefore.core.errors import NotAllowed, StaleAttempt, UnknownEvent
from notbefore.core.kinds import EventType, Eviction, Status, VmState
from notbefore.core.lifecycle import Happening
from notbefore.core.model import ActorKind, Event, Outcome, Scope, Vm, name_key
from notbefore.core.requests import CancelEvent, ClaimEffect, CompleteEvent, ImpactFailed, ImpactFinished
from notbefore.core.times import SECOND_MS
from notbefore.core.values import replace

FAILURES_MAX = 5
RETRY_FIRST_S = 5
RETRY_MAX_S = 300


def claim_effect(draft: Draft, request: ClaimEffect) -> Answer:
    pending = pending_effect(draft.scope, request.event_id, request.vm, request.seen_attempt)
    begins = pending.attempt == 0 or pending.retry_at_ms is not None
    claimed = replace(
        pending,
        attempt=pending.attempt + 1,
        claimed_by=request.node,
        retry_at_ms=None,
        since_ms=draft.now.wall_ms if begins else pending.since_ms,
    )
    put_pending(draft, claimed)
    return Answer((request.event_id,))


def impact_finished(draft: Draft, request: ImpactFinished) -> Answer:
    pending = claimed_effect(draft.scope, request)
    event = current_event(draft.scope, request.event_id)
    outcome = Outcome(request.vm, draft.now.wall_ms, done=True, evidence=request.evidence)
    event = replace(event, outcomes=(*event.outcomes, outcome))
    drop_pending(draft, pending)
    draft.put(event)
    draft.tell("impact done", f"{request.vm}: {request.evidence}", event=event)
    change_vm_afterwards(draft, event, request.vm, request.new_host)
    end_when_over(draft, event.id)
    return Answer((event.id,))


def impact_failed(draft: Draft, request: ImpactFailed) -> Answer:
    pending = claimed_effect(draft.scope, request)
    event = current_event(draft.scope, request.event_id)
    failures = pending.failures + 1
    if failures < FAILURES_MAX:
        wait_s = min(RETRY_FIRST_S * 2 ** (failures - 1), RETRY_MAX_S)
        retry_at_ms = draft.now.wall_ms + wait_s * SECOND_MS
        put_pending(draft, replace(pending, failures=failures, claimed_by="", retry_at_ms=retry_at_ms))
        draft.tell("impact failed", f"{request.vm}: {request.reason}; next try in {wait_s} s", event=event)
        return Answer((event.id,))
    outcome = Outcome(request.vm, draft.now.wall_ms, done=False, evidence=request.reason)
    event = replace(event, outcomes=(*event.outcomes, outcome))
    drop_pending(draft, pending)
    draft.put(event)
    draft.tell("impact failed", f"{request.vm}: {request.reason}; given up after {failures} tries", event=event)
    end_when_over(draft, event.id)
    return Answer((event.id,))


def complete_event(draft: Draft, request: CompleteEvent) -> Answer:
    event = current_event(draft.scope, request.event_id)
    if request.by.kind is not ActorKind.OPERATOR:
        raise NotAllowed(f"Only an operator may declare event {event.id} complete.", facts={"event": event.id})
    word = f"declared complete by {request.by}"
    missing = [vm for vm in event.vms if not already_over_for(event, vm)]
    outcomes = tuple(Outcome(vm, draft.now.wall_ms, done=True, evidence=word) for vm in missing)
    event = draft.move(replace(event, outcomes=(*event.outcomes, *outcomes)), Happening.DECLARED_COMPLETE, word)
    for vm in missing:
        change_vm_afterwards(draft, event, vm)
    return Answer((event.id,))


def cancel_event(draft: Draft, request: CancelEvent) -> Answer:
    event = current_event(draft.scope, request.event_id)
    if request.by.kind is not ActorKind.OPERATOR and request.by != event.made_by:
        raise NotAllowed(
            f"Event {event.id} may be cancelled by its maker or an operator only.", facts={"event": event.id}
        )
    draft.move(event, Happening.CANCELLED, f"cancelled by {request.by}")
    return Answer((event.id,))


def change_vm_afterwards(draft: Draft, event: Event, vm_name: str, new_host: str | None = None) -> None:
    """What is left of a VM when its impact is over, whoever said so (SPEC §3.5)."""
    vm = draft.scope.vm(vm_name)
    if vm is None:
        return
    match event.type:
        case EventType.REDEPLOY if new_host is not None:
            put_vm(draft, replace(vm, host=new_host), f"{vm.name} moved to {new_host}")
        case EventType.PREEMPT if draft.scope.settings.eviction is Eviction.DEALLOCATE:
            put_vm(draft, replace(vm, state=VmState.DEALLOCATED), f"{vm.name} was evicted and is deallocated")
        case EventType.PREEMPT | EventType.TERMINATE:
            drop_vm(draft, vm, f"{vm.name} was {'evicted' if event.type is EventType.PREEMPT else 'deleted'}")


def drop_vm(draft: Draft, vm: Vm, why: str) -> None:
    """The VM leaves the scope in this commit, and with it every live event's claim on it."""
    draft.scope = replace(
        draft.scope,
        vms=tuple(other for other in draft.scope.vms if other.name != vm.name),
        asked_ms={name: at for name, at in draft.scope.asked_ms.items() if name != name_key(vm.name)},
        hit_ms={name: at for name, at in draft.scope.hit_ms.items() if name != name_key(vm.name)},
        pending=tuple(p for p in draft.scope.pending if name_key(p.effect.vm) != name_key(vm.name)),
    )
    draft.tell("vm left", why, vm=vm)
    for event in draft.scope.events:
        if event.has_vm(vm.name) and not already_over_for(event, vm.name):
            leave_event(draft, event, vm, why)


def already_over_for(event: Event, vm_name: str) -> bool:
    return name_key(vm_name) in {name_key(outcome.vm) for outcome in event.outcomes}


def leave_event(draft: Draft, event: Event, vm: Vm, why: str) -> None:
    others = tuple(name for name in event.vms if name_key(name) != name_key(vm.name))
    if others:
        draft.put(replace(event, vms=others))
        draft.tell("changed", f"{why}, so it left the event", event=draft.scope.event(event.id))
        end_when_over(draft, event.id)
    elif event.status is Status.STARTED:
        draft.move(event, Happening.VM_GONE, f"{why}, and the event had no other VM")
    else:
        draft.move(event, Happening.CANCELLED, f"{why}, and the event had no other VM")


def end_when_over(draft: Draft, event_id: str) -> None:
    event = draft.scope.event(event_id)
    if event is None or event.status is not Status.STARTED or not event.is_over():
        return
    given_up = [outcome.vm for outcome in event.outcomes if not outcome.done]
    if given_up:
        draft.move(event, Happening.GIVEN_UP, f"the impact could not be carried out on {', '.join(given_up)}")
    else:
        draft.move(event, Happening.FINISHED, "the impact is over on every VM")


def current_event(scope: Scope, event_id: str) -> Event:
    event = scope.event(event_id)
    if event is None:
        raise UnknownEvent(event_id)
    return event


def pending_effect(scope: Scope, event_id: str, vm: str, attempt: int) -> PendingEffect:
    for pending in scope.pending:
        if pending.effect.event_id == event_id and name_key(pending.effect.vm) == name_key(vm):
            if pending.attempt == attempt:
                return pending
            break
    raise StaleAttempt(event_id, vm, attempt)


def claimed_effect(scope: Scope, report: ImpactFinished | ImpactFailed) -> PendingEffect:
    """The effect whose running attempt this report is of; an attempt is reported once."""
    pending = pending_effect(scope, report.event_id, report.vm, report.attempt)
    if not pending.claimed_by:
        raise StaleAttempt(report.event_id, report.vm, report.attempt)
    return pending


def put_pending(draft: Draft, changed: PendingEffect) -> None:
    draft.scope = replace(
        draft.scope, pending=tuple(changed if p.key == changed.key else p for p in draft.scope.pending)
    )


def drop_pending(draft: Draft, done: PendingEffect) -> None:
    draft.scope = replace(draft.scope, pending=tuple(p for p in draft.scope.pending if p.key != done.key))


def put_vm(draft: Draft, changed: Vm, why: str) -> None:
    draft.scope = replace(draft.scope, vms=tuple(changed if v.name == changed.name else v for v in draft.scope.vms))
    draft.tell("vm changed", why, vm=changed)
