"""Contract of every store: looking back in history by time and place, and retiring what is old."""

from dataclasses import replace

import pytest
from store_samples import EVENT, NOON_MS, OTHER_EVENT, event_with, record_of

from notbefore.core.kinds import ENDED, Status
from notbefore.core.model import Scope
from notbefore.ports import HistoryQuery

HOUR_MS = 3600 * 1000


async def told(store, *records):
    revisions = []
    for record in records:
        loaded = await store.load(record.scope.casefold())
        stored = await store.commit(Scope(record.scope), loaded.version if loaded else 0, record)
        revisions.append(stored.revision)
    return revisions


async def revisions_of(store, **query):
    return [stored.revision for stored in await store.history(HistoryQuery(**query))]


def hourly(number):
    return [replace(record_of("web"), at_ms=NOON_MS + n * HOUR_MS) for n in range(number)]


# -- looking back


async def test_before_goes_back_from_the_newest_page_by_page(store):
    """Each page ends where the one after it begins; nothing is left out between."""
    made = await told(store, *hourly(7))

    first = await revisions_of(store, newest=True, limit=3)
    second = await revisions_of(store, newest=True, limit=3, before=first[0])
    third = await revisions_of(store, newest=True, limit=3, before=second[0])

    assert third + second + first == made


async def test_since_and_until_are_both_inclusive(store):
    """To the millisecond."""
    made = await told(store, *hourly(5))
    second, fourth = NOON_MS + HOUR_MS, NOON_MS + 3 * HOUR_MS

    assert await revisions_of(store, since_ms=second, until_ms=fourth) == made[1:4]
    assert await revisions_of(store, since_ms=second + 1, until_ms=fourth - 1) == made[2:3]
    assert await revisions_of(store, until_ms=second, newest=True, limit=1) == made[1:2]


async def test_times_beyond_all_bounds_are_no_failure(store):
    """They come from a query string."""
    made = await told(store, *hourly(2))

    assert await revisions_of(store, since_ms=-(2**70), until_ms=2**70) == made
    assert await revisions_of(store, since_ms=2**70) == []


# -- retiring


async def test_a_retired_record_is_gone_and_the_others_stay(store):
    """From history, and from what is found by event and by status."""
    ended, other, last = await told(
        store,
        record_of("web", event_with(Status.COMPLETED)),
        record_of("web", event_with(Status.COMPLETED, OTHER_EVENT)),
        record_of("db"),
    )

    await store.retire([ended])

    assert await revisions_of(store) == [other, last]
    assert await revisions_of(store, event_id=EVENT) == []
    assert await revisions_of(store, statuses=ENDED) == [other]


async def test_what_was_retired_stays_retired_for_everybody(open_store):
    """Durable before it returns, and seen by whoever opens the store next."""
    store = await open_store("node-a")
    made = await told(store, *hourly(3))

    await store.retire(made[:2])
    await store.close()

    assert await revisions_of(await open_store("node-b")) == made[2:]


async def test_retiring_what_is_gone_is_nothing(open_store):
    """Two who retire the same disturb nobody."""
    here, there = await open_store("node-a"), await open_store("node-b")
    made = await told(here, *hourly(3))

    await here.retire(made[:2])
    await there.retire([*made[:2], 2**40])
    await there.retire([])

    assert await revisions_of(here) == made[2:]


async def test_a_revision_is_not_used_again_when_its_record_is_retired(store):
    """Who resumes after a revision never meets another record under it."""
    made = await told(store, *hourly(3))

    await store.retire(made)
    (later,) = await told(store, record_of("web"))

    assert later > made[-1]


@pytest.mark.parametrize("retired", [1, 3])
async def test_retiring_leaves_the_scopes_alone(store, retired):
    """What is retired is the story, not the state."""
    made = await told(store, *hourly(3))

    await store.retire(made[:retired])

    assert (await store.load("web")).version == 3
    assert [one.scope.name for one in await store.changes_after(0, 10)] == ["web"]
