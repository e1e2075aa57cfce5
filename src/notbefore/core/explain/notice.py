"""Why an event is Scheduled: somebody has to approve it, a Terminate holds it, or only its deadline can (SPEC §3.2).

Rule 1: the deadline always wins, so every answer has a time in it.
Rule 2: where those who have to speak cannot, the rule is the deadline, not the policy.
"""

from collections.abc import Sequence

from notbefore.core.approval import releasing_approval, terminates_holding, voices_missing
from notbefore.core.explain.explanation import (
    Explanation,
    Rule,
    both_hands,
    by_the_clock,
    command,
    ids_of,
    is_held_by_boot_clock,
    kept_at_ms,
    listed,
)
from notbefore.core.explain.gate import (
    Behind,
    is_behind_gate,
    rest_of_wave,
    sentence_of_gated,
    whom,
    why_gated,
    words_on,
)
from notbefore.core.kinds import Policy, VmState
from notbefore.core.listening import has_asked_lately
from notbefore.core.model import ActorKind, Event, Scope, name_key
from notbefore.core.times import Moment, iso

RULES = {Policy.ANY: Rule.POLICY_ANY, Policy.ALL: Rule.POLICY_ALL, Policy.LEADER: Rule.POLICY_LEADER}
ABOUT_TO_START = "its start, which is due now"
MEANINGS = {
    Policy.ANY: "the word of any VM of the scope releases it for all of its VMs",
    Policy.ALL: "every VM in it has to approve",
    Policy.LEADER: "the first VM in it has to approve",
}


def why_scheduled(scope: Scope, event: Event, now: Moment, behind: Behind) -> Explanation:
    if event.release and is_behind_gate(event):
        return why_gated(scope, event, now, behind)
    if not (event.release or releasing_approval(scope, event)):
        return _unapproved(scope, event, now, behind)
    holding = tuple(terminates_holding(scope, event, now))
    return _held(scope, event, holding, now) if holding else _about_to_start(scope, event, now)


def sentence_of_scheduled(scope: Scope, event: Event, now: Moment) -> str:
    """The one in its explanation, without the rest: a list of events has many of them."""
    if event.release and is_behind_gate(event):
        return sentence_of_gated(event, now)
    if not (event.release or releasing_approval(scope, event)):
        return _unapproved_sentence(scope, event, now)
    holding = tuple(terminates_holding(scope, event, now))
    return _held_sentence(event, holding, now) if holding else ABOUT_TO_START


def _unapproved_sentence(scope: Scope, event: Event, now: Moment) -> str:
    policy = scope.settings.policy_for(event.type)
    whom = f"{_whom(scope, event, policy)}, or " if can_be_spoken_for(scope, event) else "its deadline, "
    really = ", when its notice has really elapsed" if _is_past(event, now) else ""
    return f"{whom}{iso(_deadline_ms(event, now))}{really}"


def _unapproved(scope: Scope, event: Event, now: Moment, behind: Behind) -> Explanation:
    policy = scope.settings.policy_for(event.type)
    by_policy = can_be_spoken_for(scope, event) and not _is_past(event, now)
    until_ms = _deadline_ms(event, now)
    # Approved alone, a Terminate would only wait for the next reason.
    together = (event, *terminates_holding(scope, event, now))
    return Explanation(
        event,
        scope.name,
        RULES[policy] if by_policy else Rule.DEADLINE,
        _unapproved_sentence(scope, event, now),
        (
            f"Under policy {policy} {MEANINGS[policy]}.",
            *_spoken(event, policy),
            *_silent(scope, event, policy),
            *_nobody_asks(scope, now),
            *((f"Approved, it would still wait for {_named(together[1:])}, as early.",) if together[1:] else ()),
            *_gate_after(event, behind),
            *(both_hands(event.notice, now) if event.notice else ()),
            "Silence stops nothing: its deadline starts it.",
        ),
        waits_on=_speakers(scope, event) if by_policy else ("the clock",),
        until_ms=until_ms,
        released_by=(*_words(scope, together, behind), by_the_clock(until_ms, "starts")),
    )


def _gate_after(event: Event, behind: Behind) -> tuple[str, ...]:
    """What is still to come for an event of a wave once it is approved."""
    if not is_behind_gate(event) or not (behind.mates or behind.hidden):
        return ()
    return (f"Approved, it would still wait for {rest_of_wave(event)}.", *whom(behind))


def _words(scope: Scope, together: Sequence[Event], behind: Behind) -> tuple[str, ...]:
    """Whose word would start it, besides the clock's."""
    if is_behind_gate(together[0]) and (behind.mates or behind.hidden):
        return words_on(behind, [event.id for event in together])
    return (*_vms_words(scope, together), f"{command('approve', together)}, an operator's word")


def can_be_spoken_for(scope: Scope, event: Event) -> bool:
    """Whether VMs can still release it: not when one that has to speak is not running."""
    if scope.settings.policy_for(event.type) is Policy.ANY:
        return any(vm.state is VmState.RUNNING for vm in scope.vms)
    running = {name_key(vm.name) for vm in scope.vms if vm.state is VmState.RUNNING}
    return all(name_key(name) in running for name in voices_missing(scope, event, event.approvals))


def _speakers(scope: Scope, event: Event) -> tuple[str, ...]:
    """The VMs whose word would release it, any of them or all, by its policy."""
    if scope.settings.policy_for(event.type) is Policy.ANY:
        return tuple(vm.name for vm in scope.vms if vm.state is VmState.RUNNING)
    return voices_missing(scope, event, event.approvals)


def _is_past(event: Event, now: Moment) -> bool:
    return event.notice is not None and is_held_by_boot_clock(event.notice, now)


def _deadline_ms(event: Event, now: Moment) -> int:
    return kept_at_ms(event.notice, now) if event.notice else now.wall_ms


def _whom(scope: Scope, event: Event, policy: Policy) -> str:
    missing = ", ".join(voices_missing(scope, event, event.approvals))
    match policy:
        case Policy.ANY:
            return f"the approval of any VM of scope {scope.name}"
        case Policy.ALL:
            return f"the approval of {missing}"
        case Policy.LEADER:
            return f"the approval of its leader {missing}"


def _spoken(event: Event, policy: Policy) -> tuple[str, ...]:
    """Who has approved so far, and whose word was not asked for."""
    names = [approval.by.name for approval in event.approvals if approval.by.kind is ActorKind.VM]
    counts = [name for name in names if policy is Policy.ALL and event.has_vm(name)]
    others = [name for name in names if name not in counts]
    spoken = (f"{listed(counts)} {'has' if len(counts) == 1 else 'have'} approved.",) if counts else ()
    heard = (f"{listed(others)} approved too, whose word does not count under this policy.",) if others else ()
    return (*spoken, *heard)


def _silent(scope: Scope, event: Event, policy: Policy) -> tuple[str, ...]:
    can = can_be_spoken_for(scope, event)
    if policy is Policy.ANY:
        return () if can else ("No VM of the scope is running, so nobody can approve.",)
    missing = voices_missing(scope, event, event.approvals)
    silent = f"{listed(missing)} {'has' if len(missing) == 1 else 'have'} not approved yet."
    return (silent,) if can else (silent, "Not all of them are running, so they cannot all approve.")


def _nobody_asks(scope: Scope, now: Moment) -> tuple[str, ...]:
    return () if has_asked_lately(scope, now) else ("No VM of the scope has asked for its events within 24 hours.",)


def _vms_words(scope: Scope, events: Sequence[Event]) -> tuple[str, ...]:
    """What VMs can do for all of these events; nothing when for one of them nobody can."""
    words = [_vms_word(scope, event) for event in events if can_be_spoken_for(scope, event)]
    return (", and ".join(words),) if len(words) == len(events) else ()


def _vms_word(scope: Scope, event: Event) -> str:
    speakers = _speakers(scope, event)
    policy = scope.settings.policy_for(event.type)
    where = f"any VM of scope {scope.name}" if policy is Policy.ANY else listed(speakers)
    each = "each of " if policy is Policy.ALL and len(speakers) > 1 else ""
    return f"in {each}{where}: `notbefore ask --approve {event.id}`"


def _held_sentence(event: Event, holding: Sequence[Event], now: Moment) -> str:
    terminates = "a Terminate" if len(holding) == 1 else "Terminates"
    return (
        f"the approval of {listed(ids_of(holding))}, {terminates} as early as this one, "
        f"or {iso(_freed_at_ms(event, holding, now))}"
    )


def _freed_at_ms(event: Event, holding: Sequence[Event], now: Moment) -> int:
    """When those that hold it are due, which is not later than it is itself."""
    return min(_deadline_ms(event, now), max(_deadline_ms(other, now) for other in holding))


def _held(scope: Scope, event: Event, holding: Sequence[Event], now: Moment) -> Explanation:
    until_ms = _freed_at_ms(event, holding, now)
    one = len(holding) == 1
    return Explanation(
        event,
        scope.name,
        Rule.COUPLING,
        _held_sentence(event, holding, now),
        (
            f"It is approved. Terminates are coupled: it waits while {_named(holding)} {'is' if one else 'are'} not.",
            *(words for other in holding[:1] if other.notice for words in both_hands(other.notice, now)),
        ),
        waits_on=ids_of(holding),
        until_ms=until_ms,
        released_by=(
            *_vms_words(scope, holding),
            f"{command('approve', holding)}, an operator's word on {'it' if one else 'them'}",
            f"{command('cancel', holding)}, which withdraws {'it' if one else 'them'}",
            by_the_clock(until_ms, "starts"),
        ),
    )


def _named(events: Sequence[Event]) -> str:
    return listed([f"{event.id} of {listed(event.vms)}" for event in events])


def _about_to_start(scope: Scope, event: Event, now: Moment) -> Explanation:
    return Explanation(
        event,
        scope.name,
        Rule.DEADLINE,
        ABOUT_TO_START,
        ("It is approved, and nothing holds it.",),
        waits_on=("the clock",),
        until_ms=now.wall_ms,
        released_by=(by_the_clock(now.wall_ms, "starts"),),
    )
