"""Contract of every store: history, complete, in the commit it explains, and found by what it tells of."""

import pytest
from store_samples import EVENT, OTHER_EVENT, event_with, record_of

from notbefore.core.kinds import ENDED, Status
from notbefore.core.model import Scope
from notbefore.ports import HistoryQuery


async def told(store, *records):
    """Each record with a commit of its own; the revisions they got."""
    revisions = []
    for record in records:
        loaded = await store.load(record.scope.casefold())
        stored = await store.commit(Scope(record.scope), loaded.version if loaded else 0, record)
        revisions.append(stored.revision)
    return revisions


async def revisions_of(store, **query):
    return [stored.revision for stored in await store.history(HistoryQuery(**query))]


async def test_a_record_has_the_revision_of_the_commit_it_explains(store):
    """History is appended in the same commit as the change it explains."""
    record = record_of("web", event_with(Status.SCHEDULED))
    stored = await store.commit(Scope("web"), 0, record)

    (found,) = await store.history(HistoryQuery())

    assert (found.revision, found.record) == (stored.revision, record)


async def test_a_commit_without_a_record_leaves_no_history(store):
    """Not every change needs explaining; the ones around it keep their order."""
    first = await store.commit(Scope("web"), 0, record_of("web"))
    await store.commit(Scope("web"), 1, None)
    third = await store.commit(Scope("web"), 2, record_of("web"))

    assert await revisions_of(store) == [first.revision, third.revision]


async def test_history_is_in_order_of_commit_and_complete(open_store):
    """Whoever committed, whatever the scope."""
    here, there = await open_store("node-a"), await open_store("node-b")
    made = []
    for n in range(10):
        made += await told((here, there)[n % 2], record_of(f"scope-{n % 3}"))

    assert await revisions_of(here) == made
    assert await revisions_of(there) == made


async def test_history_of_several_scopes_is_what_a_limited_reader_gets(store):
    """Pages of it are full pages, its names compare in any letter case, and no scopes at all is nothing."""
    web, _, db, _, again = await told(
        store, record_of("Web"), record_of("secret"), record_of("db"), record_of("secret"), record_of("WEB")
    )
    await store.put_document("token", "ann", b"{}", 0, record_of(""))

    assert await revisions_of(store, scopes=("web", "DB", "nobody")) == [web, db, again]
    assert await revisions_of(store, scopes=("web", "db"), limit=2) == [web, db]
    assert await revisions_of(store, scopes=("web", "db"), limit=2, newest=True) == [db, again]
    assert await revisions_of(store, scopes=("web",), scope="secret") == []
    assert await revisions_of(store, scopes=()) == []


async def test_history_of_a_scope_is_found_in_any_letter_case(store):
    """Names compare in any letter case."""
    web, _, again = await told(store, record_of("Web"), record_of("db"), record_of("WEB"))

    assert await revisions_of(store, scope="wEB") == [web, again]
    assert await revisions_of(store, scope="nobody") == []


async def test_history_of_an_event_is_found_in_any_letter_case(store):
    """An EventId is accepted in any case."""
    made, _, ended = await told(
        store,
        record_of("web", event_with(Status.SCHEDULED)),
        record_of("web", event_with(Status.SCHEDULED, OTHER_EVENT)),
        record_of("web", event_with(Status.COMPLETED), event_with(Status.STARTED, OTHER_EVENT)),
    )

    assert await revisions_of(store, event_id=EVENT.lower()) == [made, ended]
    assert await revisions_of(store, event_id="no such event") == []


async def test_history_of_statuses_finds_records_that_leave_an_event_in_one_of_them(store):
    """Ended events are no longer in their scope; history lists them."""
    _, completed, failed, _ = await told(
        store,
        record_of("web", event_with(Status.STARTED)),
        record_of("web", event_with(Status.STARTED, OTHER_EVENT), event_with(Status.COMPLETED)),
        record_of("db", event_with(Status.FAILED, OTHER_EVENT)),
        record_of("db"),
    )

    assert await revisions_of(store, statuses=ENDED) == [completed, failed]
    assert await revisions_of(store, statuses=(Status.FAILED,)) == [failed]
    assert await revisions_of(store, statuses=(Status.CANCELLED,)) == []


async def test_the_last_status_of_an_event_in_a_record_counts(store):
    """An event may be made visible, start and end in one turn; the record leaves it ended."""
    (revision,) = await told(store, record_of("web", event_with(Status.STARTED), event_with(Status.COMPLETED)))

    assert await revisions_of(store, statuses=(Status.COMPLETED,)) == [revision]
    assert await revisions_of(store, statuses=(Status.STARTED,)) == []
    assert len((await store.history(HistoryQuery()))[0].record.changes) == 2


async def test_filters_narrow_each_other(store):
    """A record is found when everything that is asked holds; event and status speak of the same event."""
    _, both, elsewhere = await told(
        store,
        record_of("web", event_with(Status.SCHEDULED)),
        record_of("web", event_with(Status.STARTED), event_with(Status.FAILED, OTHER_EVENT)),
        record_of("db", event_with(Status.STARTED)),
    )

    assert await revisions_of(store, event_id=EVENT, statuses=(Status.STARTED,)) == [both, elsewhere]
    assert await revisions_of(store, event_id=EVENT, statuses=(Status.FAILED,)) == []
    assert await revisions_of(store, event_id=EVENT, scope="db") == [elsewhere]
    assert await revisions_of(store, statuses=(Status.STARTED,), scope="web", after=both) == []


async def test_history_resumes_after_any_revision(store):
    """A reader that knows a revision gets the records after it and nothing else."""
    made = await told(store, *(record_of("web") for _ in range(5)))

    for n, revision in enumerate(made, start=1):
        assert await revisions_of(store, after=revision) == made[n:]


async def test_a_limit_gives_the_oldest_and_newest_gives_the_newest_both_oldest_first(store):
    """`newest` chooses which records; the order stays that of the commits."""
    made = await told(store, *(record_of("web") for _ in range(7)))

    assert await revisions_of(store, limit=3) == made[:3]
    assert await revisions_of(store, limit=3, newest=True) == made[-3:]
    assert await revisions_of(store, limit=100, newest=True) == made


async def test_newest_goes_with_every_filter(store):
    """The newest of those that match."""
    ends = [record_of("web", event_with(Status.COMPLETED, f"EVENT-{n}")) for n in range(4)]
    made = await told(store, *ends, record_of("db"))

    assert await revisions_of(store, scope="web", newest=True, limit=2) == made[2:4]
    assert await revisions_of(store, statuses=ENDED, newest=True, limit=2) == made[2:4]
    assert await revisions_of(store, newest=True, limit=2, after=made[3]) == made[4:]


@pytest.mark.parametrize("limit", [0, -1])
@pytest.mark.parametrize("newest", [False, True])
async def test_a_limit_below_one_gives_nothing(store, limit, newest):
    """A limit never means its opposite."""
    await told(store, record_of("web"))

    assert await revisions_of(store, limit=limit, newest=newest) == []


async def test_numbers_beyond_all_bounds_are_no_failure(store):
    """They come from a query string; they match nothing, or everything."""
    made = await told(store, record_of("web"))

    assert await revisions_of(store, after=2**70) == []
    assert await revisions_of(store, after=-(2**70), limit=2**70) == made
