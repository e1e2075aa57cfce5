"""Commits side by side share a transaction of SQLite; what each of them is promised stays the same."""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "contracts"))
from store_samples import event_with, record_of

from notbefore.core.errors import ScopeTooLarge, StoreUnavailable
from notbefore.core.kinds import Status
from notbefore.core.model import Scope
from notbefore.ports import HistoryQuery, Stored, VersionConflict
from notbefore.stores.codec import SCOPE_BODY_MAX_BYTES
from notbefore.stores.sqlite.groups import GROUP_MAX

MANY = GROUP_MAX * 3 + 1


async def committed(store, *scopes, expected_version=0):
    commits = (store.commit(scope, expected_version, record_of(scope.name)) for scope in scopes)
    return await asyncio.gather(*commits, return_exceptions=True)


async def test_many_commits_at_once_are_each_stored_with_a_revision_of_its_own(open_sqlite):
    """In the order they were asked for, whatever groups they were written in."""
    store = await open_sqlite()

    stored = await committed(store, *(Scope(f"web-{n}") for n in range(MANY)))

    assert [one.revision for one in stored] == list(range(1, MANY + 1))
    assert [await store.load(one.scope.key) for one in stored] == stored
    assert len(await store.history(HistoryQuery(limit=1000))) == MANY


async def test_a_conflict_in_a_group_is_only_its_own(open_sqlite):
    """Compare-and-set is on one scope: the others of the group know nothing of it."""
    store = await open_sqlite()

    first, again, other = await committed(store, Scope("web"), Scope("web"), Scope("shop"))

    assert isinstance(first, Stored)
    assert isinstance(again, VersionConflict)
    assert isinstance(other, Stored)
    assert [one.record.scope for one in await store.history(HistoryQuery())] == ["web", "shop"]


async def test_a_scope_too_large_disturbs_nobody(open_sqlite):
    store = await open_sqlite()
    wordy = replace(event_with(Status.SCHEDULED), description="x" * SCOPE_BODY_MAX_BYTES)

    one, large, other = await committed(store, Scope("web"), Scope("large", events=(wordy,)), Scope("shop"))

    assert (isinstance(one, Stored), isinstance(large, ScopeTooLarge), isinstance(other, Stored)) == (True, True, True)


async def test_whoever_no_longer_waits_does_not_hold_up_the_others(open_sqlite):
    """Work that has begun runs to its end; a caller that was cancelled misses only the answer."""
    store = await open_sqlite()
    tasks = [asyncio.create_task(store.commit(Scope(f"web-{n}"), 0, None)) for n in range(MANY)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    tasks[GROUP_MAX + 1].cancel()

    outcomes = await asyncio.gather(*tasks, return_exceptions=True)

    assert [isinstance(one, Stored) for one in outcomes].count(True) == MANY - 2


async def test_a_closed_store_refuses_every_commit_in_a_sentence(open_sqlite):
    store = await open_sqlite()
    await store.close()

    assert {type(one) for one in await committed(store, Scope("web"), Scope("shop"))} == {StoreUnavailable}


@pytest.mark.parametrize("name", ["web\ud800"])
async def test_what_cannot_be_written_at_all_fails_alone(open_sqlite, name):
    """One that SQLite cannot take is found out by trying the group one by one."""
    store = await open_sqlite()

    one, strange, other = await asyncio.gather(
        store.commit(Scope("web"), 0, None),
        store.commit(Scope("x", kind="standalone"), 0, record_of(name)),
        store.commit(Scope("shop"), 0, None),
        return_exceptions=True,
    )

    assert (isinstance(one, Stored), isinstance(strange, Exception), isinstance(other, Stored)) == (True, True, True)
