"""Cutting a story down: the fewest acts of a failing seed that still break the same law.

Rule 1: what is likely not to matter goes first: other scopes, troubles, keepers. Then acts are left out in halves,
quarters and so on, while the same law is broken (delta debugging).
Rule 2: a limited number of runs, so that a hard case ends with the smallest story found so far.
"""

from collections.abc import Callable, Sequence

from notbefore.simulation.laws.law import Violation
from notbefore.simulation.plan import KEEPERS, MAINTAINERS, Act, planned
from notbefore.simulation.world import World

RUNS_MAX = 200


class Shrinking:
    """One failing seed on its way to its smallest story."""

    def __init__(self, seed: int, hours: float, nodes: int, violation: Violation) -> None:
        self._seed = seed
        self._hours = hours
        self._nodes = nodes
        self._law = violation.law
        self._scope = violation.scope
        self._plan = planned(seed, hours, nodes)
        self.runs = 0

    def fewest(self, on_progress: Callable[[int], None] = lambda _: None) -> list[int]:
        """The numbers of the acts that are needed."""
        kept = self._without_strangers()
        on_progress(len(kept))
        chunk = max(1, len(kept) // 2)
        while self.runs < RUNS_MAX:
            smaller = self._without_one_chunk(kept, chunk)
            if smaller is not None:
                kept = smaller
                on_progress(len(kept))
            elif chunk == 1:
                break
            else:
                chunk = max(1, chunk // 2)
        return kept

    def _without_strangers(self) -> list[int]:
        kept = list(self._plan.acts)
        scopes = {scope.casefold() for scope in self._plan.scopes}
        groups: tuple[Callable[[Act], bool], ...] = (
            lambda act: act.whom.casefold() in scopes - {self._scope},
            lambda act: act.whom == KEEPERS,
            lambda act: act.whom == MAINTAINERS,
            lambda act: act.whom.casefold() not in {*scopes, KEEPERS, MAINTAINERS},
        )
        for goes in groups:
            rest = [act for act in kept if not goes(act)]
            if len(rest) < len(kept) and self._still_broken([act.number for act in rest]):
                kept = rest
        return [act.number for act in kept]

    def _without_one_chunk(self, kept: Sequence[int], chunk: int) -> list[int] | None:
        # From the end: what comes after the violation goes at once.
        for begin in reversed(range(0, len(kept), chunk)):
            rest = [*kept[:begin], *kept[begin + chunk :]]
            if self.runs < RUNS_MAX and self._still_broken(rest):
                return rest
        return None

    def _still_broken(self, kept: Sequence[int]) -> bool:
        self.runs += 1
        violation = World(self._seed, self._hours, self._nodes, self._plan.keeping(kept)).run().violation
        return violation is not None and violation.law == self._law
