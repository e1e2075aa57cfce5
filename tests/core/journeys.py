"""Random journeys of one scope: what was asked, when, and what was decided, for the laws to be checked on.

Rule 1: a journey is a list of turns; a law is a test that reads them.
Rule 2: a step is a word and a number, so that hypothesis shrinks to short journeys of small choices.
Not here: what each word asks for (traveller.py).
"""

import os
from collections.abc import Mapping, Sequence

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from traveller import Digits, Journey, Traveller, Turn

from notbefore.core.kinds import EventType, Source, Status
from notbefore.core.model import Event

PROOF = os.environ.get("NOTBEFORE_PROOF") == "1"
# How often each word comes up among the steps.
ANYTHING = {
    "wait": 3,
    "approve": 3,
    "operate": 3,
    "maintain": 3,
    "join": 3,
    "open_gate": 2,
    "carry_out": 2,
    "leave": 1,
    "cancel": 1,
    "complete": 1,
    "ask": 1,
    "claim": 1,
    "finish": 1,
    "fail": 1,
    "give_up": 1,
    "declare": 1,
    "fail_host": 1,
    "step_the_wall": 1,
    "boot_again": 1,
    "remove": 1,
    "ask_again": 1,
}
MAINTENANCE = {
    "maintain": 4,
    "join": 4,
    "wait": 3,
    "approve": 2,
    "carry_out": 2,
    "open_gate": 1,
    "leave": 1,
    "cancel": 1,
    "operate": 1,
    "fail_host": 1,
    "give_up": 1,
    "declare": 1,
    "step_the_wall": 2,
}
STARTING = {"approve": 6, "maintain": 4, "join": 3, "wait": 3, "operate": 2, "open_gate": 2} | dict.fromkeys(
    ("carry_out", "ask", "declare", "fail_host", "step_the_wall", "boot_again"), 1
)
COUPLING = {"terminate": 4, "approve": 4, "wait": 2, "cancel": 1, "declare": 1, "carry_out": 1}


def travel(steps: Sequence[tuple[str, int]]) -> Journey:
    """The first step declares the scope; one that was removed is declared again a step later."""
    traveller = Traveller()
    traveller.declare(Digits(steps[0][1]))
    for word, number in steps[1:]:
        removed = traveller.scope.removed
        getattr(traveller, word)(Digits(number))
        if removed:
            traveller.declare(Digits(number))
    return traveller.journey


def journeys(words: Mapping[str, int] = ANYTHING, shortest: int = 12, longest: int = 24) -> st.SearchStrategy[Journey]:
    often = [word for word, times in words.items() for _ in range(times)]
    # Hypothesis draws evenly below 2**24 and prefers the small above.
    half = st.integers(0, 2**24 - 1)
    number = st.tuples(half, half).map(lambda halves: halves[0] * 2**24 + halves[1])
    step = st.tuples(st.sampled_from(often), number)
    return st.lists(step, min_size=shortest, max_size=longest).map(travel)


def on_random_journeys(examples: int, in_proof: int, **kind):
    """Check one law on that many random journeys. A failure prints the journey, and how to take it again."""
    how = settings(
        max_examples=in_proof if PROOF else examples,
        deadline=None,
        database=None,
        derandomize=False,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    return lambda law: how(given(journey=journeys(**kind))(law))


def is_planned_platform(event: Event) -> bool:
    """S5's own words: planned platform impact; Preempt, Terminate and host failure aside."""
    failure = "failure" in event.description
    aside = event.type in {EventType.PREEMPT, EventType.TERMINATE}
    return event.source is Source.PLATFORM and not aside and not failure


def is_shown(event: Event) -> bool:
    return event.status in {Status.SCHEDULED, Status.STARTED}


__all__ = [
    "ANYTHING",
    "COUPLING",
    "MAINTENANCE",
    "STARTING",
    "Journey",
    "Turn",
    "is_planned_platform",
    "is_shown",
    "on_random_journeys",
    "travel",
]
