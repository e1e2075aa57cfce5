"""Why an event is Started: the impact on its VMs is not over (SPEC §3.5).

Rule 1: per VM it is known which attempt runs on which node, when a failed one is tried again, and behind which other
event's impact on the same VM it stands.
"""

from collections.abc import Mapping, Sequence

from notbefore.core.effects import PendingEffect
from notbefore.core.explain.explanation import Explanation, Rule, Told, command, listed
from notbefore.core.impacts import FAILURES_MAX
from notbefore.core.kinds import Status
from notbefore.core.model import Event, Scope, name_key
from notbefore.core.times import Moment, iso, rounded_up_to_second


def why_started(scope: Scope, event: Event, now: Moment, story: Sequence[Told]) -> Explanation:
    left = _left(event)
    mine = [pending for pending in scope.pending if pending.effect.event_id == event.id]
    retries = _retries(mine, now)
    others = _events_first(scope, mine)
    until_ms = _next_try_ms(retries)
    return Explanation(
        event,
        scope.name,
        Rule.RETRY if retries else Rule.IMPACT,
        _sentence(left, retries),
        (
            *_why_it_started(event, story),
            *(_attempt(p, others) for p in mine),
            *_so_far(event),
            f"An impact that fails is tried {FAILURES_MAX} times, and then the event ends as Failed.",
        ),
        waits_on=left,
        until_ms=until_ms,
        released_by=(
            "the executor: its report that the impact is over on each of them",
            f"{command('complete', [event])}, an operator's word that it is over",
            *_by_ending_the_others(others),
        ),
    )


def sentence_of_started(scope: Scope, event: Event, now: Moment) -> str:
    """The one in its explanation, without the rest: a list of events has many of them."""
    mine = [pending for pending in scope.pending if pending.effect.event_id == event.id]
    return _sentence(_left(event), _retries(mine, now))


def _left(event: Event) -> tuple[str, ...]:
    over = {name_key(outcome.vm) for outcome in event.outcomes}
    return tuple(vm for vm in event.vms if name_key(vm) not in over)


def _retries(pending: Sequence[PendingEffect], now: Moment) -> list[PendingEffect]:
    return [one for one in pending if one.retry_at_ms is not None and one.retry_at_ms > now.wall_ms]


def _next_try_ms(retries: Sequence[PendingEffect]) -> int | None:
    times = [one.retry_at_ms for one in retries if one.retry_at_ms is not None]
    return rounded_up_to_second(min(times)) if times else None


def _sentence(left: Sequence[str], retries: Sequence[PendingEffect]) -> str:
    over = f"the impact on {', '.join(left)} to be over"
    next_try_ms = _next_try_ms(retries)
    if next_try_ms is None:
        return over
    failed = ", ".join(f"{one.effect.vm} failed {_times(one.failures)}" for one in retries)
    return f"{over}: {failed}, next try at {iso(next_try_ms)}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _events_first(scope: Scope, mine: Sequence[PendingEffect]) -> Mapping[str, str]:
    """Per effect that has to wait, the event whose impact on the same VM comes first."""
    first: dict[str, str] = {}
    for pending in scope.pending:
        first.setdefault(name_key(pending.effect.vm), pending.effect.event_id)
    return {p.key: first[name_key(p.effect.vm)] for p in mine if first[name_key(p.effect.vm)] != p.effect.event_id}


def _attempt(pending: PendingEffect, others: Mapping[str, str]) -> str:
    vm = pending.effect.vm
    if pending.key in others:
        return f"The impact on {vm} begins when that of {others[pending.key]} on it is over."
    if pending.retry_at_ms is not None:
        again_at_ms = rounded_up_to_second(pending.retry_at_ms)
        return (
            f"On {vm} it failed {_times(pending.failures)}; attempt {pending.attempt + 1} is due at {iso(again_at_ms)}."
        )
    if not pending.claimed_by:
        return f"No node has taken the impact on {vm} yet."
    failed = f", after {_times(pending.failures)} without success" if pending.failures else ""
    since = iso(pending.since_ms)
    return f"On {vm} attempt {pending.attempt} runs on node {pending.claimed_by} since {since}{failed}."


def _so_far(event: Event) -> tuple[str, ...]:
    done = [outcome.vm for outcome in event.outcomes if outcome.done]
    given_up = [outcome.vm for outcome in event.outcomes if not outcome.done]
    over = (f"It is over on {listed(done)}.",) if done else ()
    lost = (f"It was given up on {listed(given_up)}.",) if given_up else ()
    return (*over, *lost)


def _why_it_started(event: Event, story: Sequence[Told]) -> tuple[str, ...]:
    at = iso(event.started_at_ms) if event.started_at_ms is not None else "some time"
    for told in story:
        if told.change.event and told.change.event.status is Status.STARTED:
            return (f"It started at {at}: {told.change.why}.",)
    return (f"It started at {at}.",)


def _by_ending_the_others(others: Mapping[str, str]) -> tuple[str, ...]:
    """Not a release by itself, but what lets it begin; said with what has to follow."""
    ids = list(dict.fromkeys(others.values()))
    if not ids:
        return ()
    return (f"`notbefore complete {' '.join(ids)}`, and then the executor's report",)
