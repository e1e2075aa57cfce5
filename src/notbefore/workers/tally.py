"""What all workers counted, added up; for whoever shows it (control/metrics).

Rule 1: a sum of what only rises never falls: what a worker had counted when it ended stays.
Rule 2: what is open now is that of the living.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from notbefore.metadata.counts import Counts
from notbefore.workers.frames import Tally


def tally_of(counts: Counts) -> Tally:
    return Tally(
        tuple(counts.requests()),
        dict(counts.refusals),
        counts.connections_open,
        counts.connections_refused,
        counts.polls_held,
        counts.polls_refused,
        dict(counts.polls_ended),
    )


class Tallies:
    """The last word of each worker by its place, those of its predecessors there, and what the parent counted."""

    def __init__(self, places: int) -> None:
        self._own = Counts()
        self._last = [Tally() for _ in range(places)]
        self._before = [Counter[tuple[str, str, int]]() for _ in range(places)]
        self._gone = Tally()

    def count_own(self, own: Counts) -> None:
        """What the parent's own data plane counts."""
        self._own = own

    def report(self, place: int, tally: Tally) -> None:
        self._last[place] = tally

    def end(self, place: int) -> None:
        """Its worker is gone: what it has open is closed, what it counted stays."""
        last, gone = self._last[place], self._gone
        for method, route, status, count in last.answered:
            self._before[place][method, route, status] += count
        self._gone = Tally(
            (),
            dict(Counter(gone.refusals) + Counter(last.refusals)),
            0,
            gone.connections_refused + last.connections_refused,
            0,
            gone.polls_refused + last.polls_refused,
            dict(Counter(gone.polls_ended) + Counter(last.polls_ended)),
        )
        self._last[place] = Tally()

    def answered_by(self) -> Mapping[str, int]:
        """How many requests were answered at each place."""
        living = [sum(row[-1] for row in tally.answered) for tally in self._last]
        return {str(n): now + sum(self._before[n].values()) for n, now in enumerate(living)}

    # -- control/metrics/scrape.DataPlane

    def requests(self) -> Iterator[tuple[str, str, int, int]]:
        rows = Counter[tuple[str, str, int]]()
        for method, route, status, count in self._own.requests():
            rows[method, route, status] = count
        for before in self._before:
            rows.update(before)
        for tally in self._last:
            for method, route, status, count in tally.answered:
                rows[method, route, status] += count
        return ((*key, count) for key, count in rows.items())

    @property
    def refusals(self) -> Mapping[str, int]:
        return sum((Counter(one.refusals) for one in self._all), Counter(self._own.refusals))

    @property
    def connections_open(self) -> int:
        return self._own.connections_open + sum(one.connections_open for one in self._all)

    @property
    def connections_refused(self) -> int:
        return self._own.connections_refused + sum(one.connections_refused for one in self._all)

    @property
    def polls_held(self) -> int:
        return self._own.polls_held + sum(one.polls_held for one in self._all)

    @property
    def polls_refused(self) -> int:
        return self._own.polls_refused + sum(one.polls_refused for one in self._all)

    @property
    def polls_ended(self) -> Mapping[str, int]:
        ended = Counter(self._own.polls_ended)
        for one in self._all:
            ended.update(one.polls_ended)
        return ended

    @property
    def _all(self) -> tuple[Tally, ...]:
        return (self._gone, *self._last)
