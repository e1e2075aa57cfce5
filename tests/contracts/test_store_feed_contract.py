"""Contract of every store: following the commits of everybody, in order, with nothing new left out."""

import asyncio

import pytest

from notbefore.core.model import Scope

# Never reached by a store that keeps its word: it only ends a test that would hang.
PATIENCE_S = 30


async def committed(store, *names):
    return [await store.commit(Scope(name), 0, None) for name in names]


async def test_an_empty_store_has_no_changes(store):
    """There is nothing to follow before the first commit."""
    assert list(await store.changes_after(0, 10)) == []


async def test_the_feed_is_in_order_of_revision(store):
    """Changes come in the order in which they were committed, whatever the scopes are called."""
    made = await committed(store, "zebra", "ant", "middle")

    assert list(await store.changes_after(0, 10)) == made


async def test_the_feed_resumes_after_any_revision(store):
    """A follower that knows a revision gets what came after it and nothing else."""
    made = await committed(store, *"abcde")

    for n, seen in enumerate(made, start=1):
        assert list(await store.changes_after(seen.revision, 10)) == made[n:]


async def test_the_feed_in_small_pieces_is_the_feed_at_once(store):
    """`limit` bounds a piece; the last revision of one piece is where the next begins."""
    made = await committed(store, *"abcdefg")

    seen, revision = [], 0
    while piece := await store.changes_after(revision, 3):
        assert len(piece) <= 3
        seen += piece
        revision = piece[-1].revision

    assert seen == made


@pytest.mark.parametrize("limit", [0, -1])
async def test_a_limit_below_one_gives_nothing(store, limit):
    """A limit never means its opposite."""
    await committed(store, "web")

    assert list(await store.changes_after(0, limit)) == []


async def test_a_revision_beyond_all_gives_nothing(store):
    """A follower may come with any number, from another store or from a person."""
    await committed(store, "web")

    assert list(await store.changes_after(2**70, 10)) == []


async def test_a_scope_committed_again_shows_its_newest_state_at_its_newest_place(store):
    """An older commit of the same scope may be skipped; the newest state may not."""
    await committed(store, "a", "b")
    newest = await store.commit(Scope("a", incarnation=2), 1, None)

    feed = list(await store.changes_after(0, 10))

    assert feed[-1] == newest
    assert {stored.scope.name for stored in feed} == {"a", "b"}


async def test_the_feed_shows_the_commits_of_every_instance(open_store):
    """Followers of one store see what others commit to it."""
    here, there = await open_store("node-a"), await open_store("node-b")

    (first,) = await committed(here, "a")
    (second,) = await committed(there, "b")

    assert list(await here.changes_after(0, 10)) == [first, second]
    assert list(await there.changes_after(0, 10)) == [first, second]


async def test_waiting_ends_when_another_instance_commits(open_store):
    """`wait_for_changes` returns when somebody may have committed."""
    here, there = await open_store("node-a"), await open_store("node-b")
    follower = asyncio.create_task(follow_until(here, "web"))

    await committed(there, "web")

    await asyncio.wait_for(follower, PATIENCE_S)


async def test_waiting_ends_for_a_commit_of_ones_own(store):
    """Somebody may be oneself."""
    follower = asyncio.create_task(follow_until(store, "web"))

    await committed(store, "web")

    await asyncio.wait_for(follower, PATIENCE_S)


async def test_waiting_ends_when_another_process_commits(store, start_child, open_gate):
    """Workers and servers are processes of their own."""
    child = start_child("commit_at_gate", "web")
    child.stdout.readline()
    follower = asyncio.create_task(follow_until(store, "web"))

    open_gate(child)

    await asyncio.wait_for(follower, PATIENCE_S)


async def test_a_commit_between_looking_and_waiting_is_not_missed(open_store):
    """A follower that looks, then waits, needs no luck: the wait knows what came after the last one."""
    here, there = await open_store("node-a"), await open_store("node-b")
    for n in range(20):
        await here.changes_after(0, 100)
        await committed(there, f"scope-{n}")
        await asyncio.wait_for(here.wait_for_changes(), PATIENCE_S)


async def follow_until(store, name):
    """A follower as the runtime has one: look, then wait, and so on."""
    revision = 0
    while True:
        for stored in await store.changes_after(revision, 10):
            revision = stored.revision
            if stored.scope.name == name:
                return
        await store.wait_for_changes()
