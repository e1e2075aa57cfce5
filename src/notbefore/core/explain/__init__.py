"""Why an event stands where it stands: what it waits for, on whom, until when, by which rule, what would release it.

Rule 1: pure, and from the same functions that decide (approval.py, domains.py), so that it cannot tell another story.
Rule 2: each entry of `released_by` is enough by itself. Commands stand in `backticks`; what begins with "the clock"
needs nobody.
Rule 3: the sentence that an event shows as `waiting_for` is the one in its explanation.
Files: explanation (the value), queueing, notice, impact, ending: a status each; gate: an approved event of a wave.
"""

from collections.abc import Sequence

from notbefore.core.explain.ending import why_over
from notbefore.core.explain.explanation import Explanation, Rule, Told
from notbefore.core.explain.gate import UNKNOWN, Behind, WaveMate
from notbefore.core.explain.impact import sentence_of_started, why_started
from notbefore.core.explain.notice import sentence_of_scheduled, why_scheduled
from notbefore.core.explain.queueing import sentence_of_queued, why_queued
from notbefore.core.kinds import Status
from notbefore.core.model import Event, Scope
from notbefore.core.times import Moment


def explain(
    scope: Scope, event: Event, now: Moment, story: Sequence[Told] = (), behind: Behind = UNKNOWN
) -> Explanation:
    """`story` is what history tells of the event, in order; without it an explanation is only shorter.

    `behind` are the others of its wave, as far as whoever asks may know them.
    """
    match event.status:
        case Status.QUEUED:
            return why_queued(scope, event, now)
        case Status.SCHEDULED:
            return why_scheduled(scope, event, now, behind)
        case Status.STARTED:
            return why_started(scope, event, now, story)
        case _:
            return why_over(scope.name, event, story)


def waiting_for(scope: Scope, event: Event, now: Moment) -> str:
    """The sentence alone, as cheaply as it can be had: lists show one for each event."""
    match event.status:
        case Status.QUEUED:
            return sentence_of_queued(scope, event, now)
        case Status.SCHEDULED:
            return sentence_of_scheduled(scope, event, now)
        case Status.STARTED:
            return sentence_of_started(scope, event, now)
        case _:
            return why_over(scope.name, event).waiting_for


__all__ = ["UNKNOWN", "Behind", "Explanation", "Rule", "Told", "WaveMate", "explain", "waiting_for", "why_over"]
