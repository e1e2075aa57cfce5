"""Why an event is Queued: another update domain has its turn, queues before it, or rests (SPEC §3.4).

Rule 1: it becomes visible when it is of the first domain in the queue, no other domain has its turn, and the rest is
over; whatever of this is missing is named.
"""

from collections.abc import Sequence
from itertools import islice

from notbefore.core.domains import is_planned_platform, rest_after_s
from notbefore.core.explain.explanation import Explanation, Rule, both_hands, by_the_clock, command, ids_of, kept_at_ms
from notbefore.core.kinds import Status
from notbefore.core.model import Event, Recovery, Scope
from notbefore.core.times import SECOND_MS, Moment, iso

# How many update domains and events a sentence names; the explanation has them all.
FEW = 3
UNSEEN = "VMs do not see it yet; its notice begins when they do."


def why_queued(scope: Scope, event: Event, now: Moment) -> Explanation:
    before = events_before(scope, event)
    rest = rest_before(scope, event, now)
    if before:
        return _behind(scope, event, before, rest, now)
    if rest:
        return _resting(scope, event, rest, now)
    return Explanation(
        event,
        scope.name,
        Rule.QUEUE,
        sentence_of_queued(scope, event, now),
        ("Nothing stands before it any more.",),
        until_ms=now.wall_ms,
        released_by=(by_the_clock(now.wall_ms, "becomes visible"),),
    )


def sentence_of_queued(scope: Scope, event: Event, now: Moment) -> str:
    """The one in its explanation, without the rest: a list of events has many of them."""
    if before := events_before(scope, event):
        return f"its turn: {_in_the_way(before)}"
    if rest := rest_before(scope, event, now):
        return f"its turn: update domain {rest.update_domain} rests until {iso(kept_at_ms(rest.span, now))}"
    return "its turn, which is now"


def events_before(scope: Scope, event: Event) -> tuple[Event, ...]:
    """Those that have to end first: of other domains, live, or in the queue before the first of its own."""
    live = scope.events_in(Status.SCHEDULED, Status.STARTED)
    having_their_turn = [e for e in live if is_planned_platform(e) and e.update_domain != event.update_domain]
    queued = scope.events_in(Status.QUEUED)
    first_of_its_own = next(n for n, e in enumerate(queued) if e.update_domain == event.update_domain)
    return (*having_their_turn, *queued[:first_of_its_own])


def rest_before(scope: Scope, event: Event, now: Moment) -> Recovery | None:
    rest = scope.recovery
    if rest is None or rest.update_domain == event.update_domain or rest.span.has_passed(now):
        return None
    return rest


def _behind(scope: Scope, event: Event, before: Sequence[Event], rest: Recovery | None, now: Moment) -> Explanation:
    because = f"Of a scope one update domain at a time is maintained, and this event is of {event.update_domain}."
    # Only an update domain that was touched rests: none does when those that are Scheduled are cancelled.
    rest_then = _rest_to_come(scope, rest, now, [e for e in before if e.status is Status.STARTED])
    rest_after_all = _rest_to_come(scope, rest, now, before)
    return Explanation(
        event,
        scope.name,
        Rule.QUEUE,
        sentence_of_queued(scope, event, now),
        (because, UNSEEN),
        waits_on=ids_of(before),
        released_by=(
            f"{_endings(before)}{rest_then}",
            *_by_letting_them_go(before, rest_after_all),
            f"the clock: it becomes visible by itself when {_ended(before)}{rest_after_all}",
        ),
    )


def _rest_to_come(scope: Scope, rest: Recovery | None, now: Moment, touched: Sequence[Event]) -> str:
    """The longest: the scope's own, that of an operation's event, or what is owed already."""
    rest_s = max((rest_after_s(scope, event) for event in touched), default=0)
    if rest_s * SECOND_MS > (rest.span.remaining_ms(now) if rest else 0):
        return f", and then a rest of {rest_s} s (recovery_s)"
    if rest:
        return f", and then the rest of update domain {rest.update_domain} until {iso(kept_at_ms(rest.span, now))}"
    return ""


def _by_letting_them_go(before: Sequence[Event], afterwards: str) -> tuple[str, ...]:
    """Approved, those that VMs see start and end; those that queue as well cannot be approved."""
    scheduled = [event for event in before if event.status is Status.SCHEDULED]
    if not scheduled or any(event.status is Status.QUEUED for event in before):
        return ()
    return (f"{command('approve', scheduled)}, and then the end of {'it' if len(before) == 1 else 'all'}{afterwards}",)


def _endings(before: Sequence[Event]) -> str:
    """Those that queue first, and the last of them first: otherwise the end of one would let others have their turn."""
    queued, scheduled, started = (
        [event for event in before if event.status is status]
        for status in (Status.QUEUED, Status.SCHEDULED, Status.STARTED)
    )
    cancels = [command("cancel", [*reversed(queued), *scheduled])] if queued or scheduled else []
    return " and ".join([*cancels, *([command("complete", started)] if started else [])])


def _in_the_way(before: Sequence[Event]) -> str:
    """One phrase per update domain, with its events; of many only the first."""
    domains: dict[tuple[int, bool], list[Event]] = {}
    for event in before:
        domains.setdefault((event.update_domain, event.status is Status.QUEUED), []).append(event)
    phrases = [
        f"update domain {domain} {'queues before it' if queues else 'is having its own'} ({_few(events)})"
        for (domain, queues), events in islice(domains.items(), FEW)
    ]
    more = len(domains) - FEW
    return "; ".join([*phrases, *([f"and {more} more update domains"] if more > 0 else [])])


def _few(events: Sequence[Event]) -> str:
    more = len(events) - FEW
    return ", ".join(ids_of(events[:FEW])) + (f" and {more} more" if more > 0 else "")


def _ended(before: Sequence[Event]) -> str:
    return "that event has ended" if len(before) == 1 else f"those {len(before)} events have ended"


def _resting(scope: Scope, event: Event, rest: Recovery, now: Moment) -> Explanation:
    until_ms = kept_at_ms(rest.span, now)
    return Explanation(
        event,
        scope.name,
        Rule.RECOVERY,
        sentence_of_queued(scope, event, now),
        (
            "An update domain that was touched rests before the next one's turn (recovery_s); no rest is forgiven.",
            UNSEEN,
            *both_hands(rest.span, now),
        ),
        waits_on=(f"update domain {rest.update_domain}",),
        until_ms=until_ms,
        released_by=(by_the_clock(until_ms, "becomes visible"),),
    )
