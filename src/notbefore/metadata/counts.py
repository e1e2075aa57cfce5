"""How the data plane answered, as plain numbers for whoever shows them (control/metrics).

Rule 1: counting is one addition to a number that is already at hand: the memo keeps the right row beside a verdict.
Rule 2: rows are a closed set: the routes, three methods, the statuses there are; nothing a caller sends makes one.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator

from notbefore.metadata.connections import Connections, Limits
from notbefore.metadata.verdict import RequestHead, route_of
from notbefore.wire.api_versions import PATH

# Statuses that are there from the start: a rate needs a number to rise from.
METHODS = {"GET": (200, 304, 400, 403, 429, 500, 503), "POST": (200, 400, 403, 429, 500, 503)}
OTHER = "other"
# What was no HTTP has neither method nor route.
MALFORMED = "malformed"
# How a question that was held came to its end.
CHANGED, EXPIRED, LEFT, RELEASED = "changed", "expired", "left", "released"

ByStatus = defaultdict[int, int]


class Counts:
    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], ByStatus] = {}
        for method, statuses in METHODS.items():
            self._row(method, PATH).update(dict.fromkeys(statuses, 0))
        self.malformed = self._row(OTHER, MALFORMED)
        self.refusals: Counter[str] = Counter()
        self.connections = Connections(Limits())
        self.polls_held = 0
        self.polls_refused = 0
        self.polls_ended: Counter[str] = Counter(dict.fromkeys((CHANGED, EXPIRED, LEFT, RELEASED), 0))

    def row_for(self, head: RequestHead) -> ByStatus:
        """Where the answer to such a request is counted, by its status."""
        method = head.method if head.method in METHODS else OTHER
        return self._row(method, route_of(head.raw_path) or OTHER)

    def requests(self) -> Iterator[tuple[str, str, int, int]]:
        """Method, route, status, how many."""
        for (method, route), by_status in self._rows.items():
            for status, count in by_status.items():
                yield method, route, status, count

    @property
    def connections_open(self) -> int:
        return self.connections.count

    @property
    def connections_refused(self) -> int:
        return self.connections.refused

    def _row(self, method: str, route: str) -> ByStatus:
        return self._rows.setdefault((method, route), defaultdict(int))
