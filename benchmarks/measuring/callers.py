"""Who asks a fleet: addresses of its VMs, spread over all of it, each of which was answered before.

Rule 1: only those are taken whose answers have the same length, that of the most: every answer is checked by it.
Rule 2: the first question of a scope is a commit; it is asked here, before anything is measured.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import cycle

from measuring.answer import Answer, answer_to
from measuring.load import Address, LoadFailed

STRIDE = 7919  # a prime: callers one after the other live in scopes far apart
CALLERS_MAX = 20_000


def callers(
    address: Address, request: bytes, address_of: Callable[[int], str], vms: int
) -> tuple[tuple[str, ...], Answer]:
    """The callers there are, and what the first of them is answered."""
    places = [(number * STRIDE) % vms for number in range(min(vms, CALLERS_MAX))]
    answers = {source: answer_to(address, request, source) for source in map(address_of, dict.fromkeys(places))}
    wrong = next((answer for answer in answers.values() if answer.status != 200), None)
    if wrong is not None:
        raise LoadFailed(f"a VM of the fleet is not answered as it should be: {wrong}")
    ((length, _),) = Counter(answer.length for answer in answers.values()).most_common(1)
    alike = tuple(source for source, answer in answers.items() if answer.length == length)
    return alike, answers[alike[0]]


_turns: dict[tuple[str, ...], Iterator[str]] = {}


def in_turn(sources: tuple[str, ...]) -> Iterator[str]:
    """Goes on where it was left: no address comes again before all others had their turn."""
    return _turns.setdefault(sources, cycle(sources))
