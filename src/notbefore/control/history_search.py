"""Looking through history: what the store finds by its indexes, narrowed by what only the records tell.

Rule 1: one question looks through a bounded number of records; `more` says that there may be others beyond, and
`next` from where to go on, so that nothing is left out by going on.
Rule 2: the store decides what is where; a record that does not fit is passed over here, in any store alike.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from notbefore.core.history import HistoryRecord
from notbefore.ports import HistoryQuery, Store, StoredRecord

Fits = Callable[[HistoryRecord], bool]


@dataclass(frozen=True, slots=True)
class Reach:
    """How far one question looks: so many pages of so many records behind the first."""

    pages: int = 100
    per_page: int = 200


@dataclass(frozen=True, slots=True)
class Found:
    """Oldest first. `next`: the revision up to which everything that fits is in here or before it."""

    records: tuple[StoredRecord, ...]
    next: int
    more: bool


FAR = Reach()


async def found_after(store: Store, query: HistoryQuery, fits: Fits, reach: Reach = FAR) -> Found:
    """From `query.after` on, at most `query.limit`."""
    found: list[StoredRecord] = []
    after = query.after
    for size in page_sizes(query, reach):
        page = await store.history(replace(query, after=after, limit=size))
        for stored in page:
            after = stored.revision
            if fits(stored.record):
                found.append(stored)
                if len(found) == query.limit:
                    return Found(tuple(found), after, more=True)
        if len(page) < size:
            return Found(tuple(found), after, more=False)
    return Found(tuple(found), after, more=True)


async def newest_found(store: Store, query: HistoryQuery, fits: Fits, reach: Reach = FAR) -> Found:
    """The newest, going back; `next` is the newest there was, so that going on from it misses nothing."""
    found: list[StoredRecord] = []
    newest, before = 0, query.before
    for size in page_sizes(query, reach):
        page = await store.history(replace(query, before=before, newest=True, limit=size))
        newest = newest or (page[-1].revision if page else 0)
        for stored in reversed(page):
            if fits(stored.record):
                found.append(stored)
                if len(found) == query.limit:
                    return Found(tuple(reversed(found)), newest, more=True)
        if len(page) < size:
            return Found(tuple(reversed(found)), newest, more=False)
        before = page[0].revision
    return Found(tuple(reversed(found)), newest, more=True)


def page_sizes(query: HistoryQuery, reach: Reach) -> Iterator[int]:
    """As many as are wanted at first, which is all when everything fits; then larger pages."""
    yield query.limit
    yield from [reach.per_page] * reach.pages
