"""What a seed plans: who lives there, and every act of operators and fate with its time, before anything runs.

Rule 1: acts come in episodes, close together, because what breaks is what happens at the same time.
Rule 2: each act has chances of its own, so that leaving one out changes no other: that is how a story is cut down.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from notbefore.simulation.guests import HABITS
from notbefore.simulation.scheduler import SECOND_US
from notbefore.simulation.trouble import Trouble

HOUR_US = 3600 * SECOND_US
EPISODES_PER_HOUR = 5
EPISODE_US = 20 * 60 * SECOND_US
SCOPE_NAMES = ("shop", "bank", "Mail", "wiki")
# How often each word of operators.py comes up.
OPERATOR_WORDS = {
    "operate": 9,
    "maintain": 8,
    "terminate_two": 1,
    "approve": 2,
    "cancel": 3,
    "complete": 1,
    "declare": 3,
    "fail_host": 1,
    "remove": 1,
    "claim_address": 1,
    "declare_nonsense": 1,
    "say_it_again": 1,
}
KEEPER_WORDS = {"declare_host": 2, "remove_host": 1, "create_token": 2, "revoke_token": 2, "show_token": 1}
KEEPERS = "keepers"
MAINTAINER_WORDS = {
    "maintain_host": 5,
    "begin_rollout": 4,
    "cancel_operation": 2,
    "pause_rollout": 1,
    "resume_rollout": 2,
    "cancel_rollout": 1,
}
MAINTAINERS = "maintainers"
TROUBLES = {
    **dict.fromkeys(Trouble, 2),
    Trouble.CRASH: 3,
    Trouble.STEP_FORWARD: 3,
    Trouble.FAILING_EXECUTOR: 3,
}
TROUBLES_PER_EPISODE = (0, 0, 1, 1, 1, 2, 2, 3)


@dataclass(frozen=True, slots=True)
class Act:
    """One thing an operator or fate does: when, what, to which scope or machine, with which chances."""

    number: int
    at_us: int
    word: str
    whom: str
    seed: str

    def chance(self) -> Random:
        return Random(self.seed)


@dataclass(frozen=True, slots=True)
class Plan:
    scopes: tuple[str, ...]
    # Per scope the habits of its guests, in the order of its VMs.
    habits: dict[str, tuple[str, ...]]
    acts: tuple[Act, ...]

    def keeping(self, numbers: Sequence[int]) -> "Plan":
        kept = set(numbers)
        return Plan(self.scopes, self.habits, tuple(act for act in self.acts if act.number in kept))


def planned(seed: int, hours: float, nodes: int) -> Plan:
    chance = Random(f"{seed}/plan")
    scopes = SCOPE_NAMES[: chance.choice((1, 2, 3, 3, 4))]
    habits = {scope: tuple(chance.choices(*weighed(HABITS), k=chance.choice((2, 3, 4, 5)))) for scope in scopes}
    machines = [f"m{number + 1}" for number in range(nodes)]
    sketched = [(1, "found", scope) for scope in scopes]
    for _ in range(max(1, round(hours * EPISODES_PER_HOUR))):
        sketched += episode(chance, round(hours * HOUR_US), scopes, machines)
    ordered = sorted(sketched)
    acts = tuple(Act(n, at, word, whom, f"{seed}/act/{n}") for n, (at, word, whom) in enumerate(ordered))
    return Plan(scopes, habits, acts)


def episode(chance: Random, end_us: int, scopes: Sequence[str], machines: Sequence[str]) -> list[tuple[int, str, str]]:
    """Some minutes in which one scope, mostly, has much to bear."""
    begin_us = chance.randrange(10 * SECOND_US, max(11 * SECOND_US, end_us - EPISODE_US))
    favourite = chance.choice(scopes)
    when = some_time(chance, begin_us)
    words = chance.choices(*weighed(OPERATOR_WORDS), k=chance.choice((1, 2, 2, 3, 4, 5)))
    kept = chance.choices(*weighed(KEEPER_WORDS), k=chance.choice((0, 1, 1, 2)))
    maintained = chance.choices(*weighed(MAINTAINER_WORDS), k=chance.choice((0, 0, 0, 1)))
    troubles = chance.choices(*weighed(TROUBLES), k=chance.choice(TROUBLES_PER_EPISODE))
    return [
        *((when(), word, favourite if chance.random() < 0.8 else chance.choice(scopes)) for word in words),
        *((when(), word, KEEPERS) for word in kept),
        *((when(), word, MAINTAINERS) for word in maintained),
        *((when(), trouble, chance.choice(machines)) for trouble in troubles),
    ]


def some_time(chance: Random, begin_us: int) -> Callable[[], int]:
    """Within the episode; often within the same second, which is where races are."""
    close_us = begin_us + chance.randrange(EPISODE_US)

    def when() -> int:
        if chance.random() < 0.4:
            return close_us + chance.randrange(SECOND_US)
        return begin_us + chance.randrange(EPISODE_US)

    return when


def weighed(weights: "dict[str, int] | dict[Trouble, int]") -> tuple[list[str], list[int]]:
    return [str(word) for word in weights], list(weights.values())
