"""Contract of every store: documents, the small things beside the scopes, each with a compare-and-set of its own."""

import asyncio

import pytest
from store_samples import record_of

from notbefore.core.errors import LimitReached
from notbefore.core.model import Scope
from notbefore.ports import Document, HistoryQuery, VersionConflict

# Never reached by a store that keeps its word: it only ends a test that would hang.
PATIENCE_S = 30
BODY = '{"größe":"ľščť"}'.encode() + bytes(range(256))


async def put(store, key, body=b"{}", expected_version=0, *, kind="token", record=None):
    return await store.put_document(kind, key, body, expected_version, record)


async def keys(store, kind="token"):
    return [document.key for document in await store.documents(kind)]


async def test_a_kind_that_nobody_put_has_no_documents(store):
    """Nothing is there before it is put."""
    await put(store, "ann", kind="host")

    assert list(await store.documents("token")) == []


async def test_a_document_is_given_back_as_it_was_put(store):
    """Kind, key and every byte of the body."""
    made = await put(store, "Ann Öl/ž", BODY)

    assert isinstance(made, Document)
    assert (made.kind, made.key, made.body) == ("token", "Ann Öl/ž", BODY)
    assert made.version > 0
    assert list(await store.documents("token")) == [made]


async def test_documents_of_a_kind_come_by_key(store):
    """In the order of their keys, whenever each was put."""
    for key in ("zoe", "ann", "mia"):
        await put(store, key)
    await put(store, "bob", kind="host")

    assert await keys(store) == ["ann", "mia", "zoe"]


async def test_a_kind_and_a_key_together_name_a_document(store):
    """The same key under another kind is another document, and no scope either."""
    token = await put(store, "web", b"1")
    host = await put(store, "web", b"2", kind="host")
    await store.commit(Scope("web"), 0, None)

    assert list(await store.documents("token")) == [token]
    assert list(await store.documents("host")) == [host]


async def test_a_change_names_the_version_it_replaces(store):
    """Compare-and-set: the newest version is the one to name, any other is a conflict that changes nothing."""
    first = await put(store, "ann", b"1")
    second = await put(store, "ann", b"2", first.version)

    with pytest.raises(VersionConflict):
        await put(store, "ann", b"3", first.version)

    assert second.version != first.version
    assert second.revision > first.revision
    assert list(await store.documents("token")) == [second]


async def test_version_zero_means_there_is_none(store):
    """Two that create the same document at once: one is told of the conflict."""
    made = await put(store, "ann", b"1")

    with pytest.raises(VersionConflict):
        await put(store, "ann", b"2")

    assert list(await store.documents("token")) == [made]


async def test_a_document_that_is_not_there_cannot_be_changed(store):
    """A version of something that is gone is a conflict."""
    with pytest.raises(VersionConflict):
        await put(store, "ann", b"1", expected_version=1)

    assert await keys(store) == []


async def test_a_removed_document_leaves_no_ghost(store):
    """Removing takes the version to remove, and leaves nothing to be listed."""
    made = await put(store, "ann")
    with pytest.raises(VersionConflict):
        await put(store, "ann", None, made.version + 1)

    assert await put(store, "ann", None, made.version) is None

    assert await keys(store) == []


@pytest.mark.parametrize("expected_version", [0, 1])
async def test_what_is_not_there_cannot_be_removed(store, expected_version):
    """Somebody else removed it first: that is a conflict, and tells nothing to history."""
    with pytest.raises(VersionConflict):
        await put(store, "ann", None, expected_version, record=record_of(""))

    assert list(await store.history(HistoryQuery())) == []


async def test_a_document_made_anew_is_not_taken_for_its_predecessor(store):
    """Whoever still holds a version of the removed one gets a conflict, however often it was changed."""
    first = await put(store, "ann", b"1")
    second = await put(store, "ann", b"2", first.version)
    await put(store, "ann", None, second.version)
    anew = await put(store, "ann", b"3")
    newest = await put(store, "ann", b"4", anew.version)

    for old in (first, second):
        with pytest.raises(VersionConflict):
            await put(store, "ann", b"5", old.version)
        with pytest.raises(VersionConflict):
            await put(store, "ann", None, old.version)

    assert list(await store.documents("token")) == [newest]


async def test_a_document_and_its_record_are_one_commit(store):
    """History tells of it under the document's own revision, with the scope of no scope."""
    made = await put(store, "ann", record=record_of(""))
    await put(store, "ann", None, made.version, record=record_of(""))

    first, second = await store.history(HistoryQuery(scope=""))

    assert first.revision == made.revision
    assert second.revision > first.revision
    assert first.record == record_of("")


async def test_a_conflict_writes_no_history(store):
    """All or nothing."""
    await put(store, "ann")

    with pytest.raises(VersionConflict):
        await put(store, "ann", b"2", record=record_of(""))

    assert list(await store.history(HistoryQuery())) == []


async def test_the_feed_of_scopes_passes_over_documents(store):
    """Documents share the order of commits with the scopes, and a follower of scopes never sees one."""
    await put(store, "ann")
    web = await store.commit(Scope("web"), 0, None)
    later = await put(store, "bob")
    db = await store.commit(Scope("db"), 0, None)

    assert web.revision < later.revision < db.revision
    assert list(await store.changes_after(0, 10)) == [web, db]
    assert list(await store.changes_after(0, 1)) == [web]
    assert list(await store.changes_after(web.revision, 1)) == [db]


async def test_a_document_that_is_too_large_is_refused(store):
    """Small enough for every store; the limit is in the sentence, and nothing is changed."""
    with pytest.raises(LimitReached, match="token 'ann'"):
        await put(store, "ann", b"x" * (512 * 1024 + 1))

    assert await keys(store) == []


async def test_a_scope_is_no_document(store):
    """A scope is reached by `commit` alone."""
    with pytest.raises(ValueError, match="scope"):
        await put(store, "web", kind="scope")


async def test_documents_are_seen_by_every_instance(open_store):
    """One that is put here is there at once, and one that is removed is gone."""
    here, there = await open_store("node-a"), await open_store("node-b")

    made = await put(here, "ann")
    assert list(await there.documents("token")) == [made]

    await put(there, "ann", None, made.version)
    assert list(await here.documents("token")) == []


async def test_waiting_ends_when_another_instance_changes_a_document(open_store):
    """`wait_for_changes` is for documents too: put, changed and removed."""
    here, there = await open_store("node-a"), await open_store("node-b")
    made = await put(there, "ann")
    await asyncio.wait_for(here.wait_for_changes(), PATIENCE_S)
    changed = await put(there, "ann", b"2", made.version)
    await asyncio.wait_for(here.wait_for_changes(), PATIENCE_S)
    await put(there, "ann", None, changed.version)
    await asyncio.wait_for(here.wait_for_changes(), PATIENCE_S)

    assert await keys(here) == []


async def test_a_document_survives_the_death_of_its_process(store, start_child):
    """Durable before it returns: killed in the next instruction, it is there."""
    child = start_child("put_document_and_die", "ann")
    child.wait()

    assert await keys(store) == ["ann"]
    (told,) = await store.history(HistoryQuery(scope=""))
    assert told.record == record_of("")


async def test_documents_after_a_revision_are_those_changed_since(store):
    """`after`: only those whose last change is after that revision, by key as ever."""
    first = await put(store, "zoe")
    second = await put(store, "ann")
    third = await put(store, "mia")
    await put(store, "bob", kind="host")

    assert list(await store.documents("token", 0)) == [second, third, first]
    assert list(await store.documents("token", first.revision)) == [second, third]
    assert list(await store.documents("token", second.revision)) == [third]
    assert list(await store.documents("token", third.revision)) == []


async def test_a_changed_document_is_after_whatever_came_before_its_change(store):
    """What counts is the last change, not when it was made."""
    first = await put(store, "zoe")
    second = await put(store, "ann")
    changed = await put(store, "zoe", b"2", first.version)

    assert list(await store.documents("token", second.revision)) == [changed]


async def test_commits_of_scopes_and_of_other_kinds_move_nothing_after_a_revision(store):
    """All commits share one order, and `after` may name any revision of it."""
    first = await put(store, "ann")
    web = await store.commit(Scope("web"), 0, None)
    host = await put(store, "ann", kind="host")

    assert list(await store.documents("token", first.revision)) == []
    last = await put(store, "bob")
    for revision in (first.revision, web.revision, host.revision):
        assert list(await store.documents("token", revision)) == [last]


async def test_a_removed_document_is_after_no_revision_and_one_made_anew_is(store):
    """A removal leaves nothing to be listed; what is made under the key again is a change like any other."""
    made = await put(store, "ann")
    await put(store, "ann", None, made.version)
    assert list(await store.documents("token", made.revision)) == []

    anew = await put(store, "ann", b"2")
    assert list(await store.documents("token", made.revision)) == [anew]


async def test_another_instance_reads_on_from_the_revision_it_has_seen(open_store):
    """Reading from the last revision seen, again and again, leaves nothing out and repeats nothing."""
    here, there = await open_store("node-a"), await open_store("node-b")
    seen, revision = [], 0
    for n in range(6):
        await put(here, f"key-{n % 4}-{n}", str(n).encode())
        if n % 2:
            fresh = await there.documents("token", revision)
            seen += [int(document.body) for document in fresh]
            revision = max(document.revision for document in fresh)

    assert sorted(seen) == list(range(6))


async def test_a_store_that_is_opened_again_has_its_documents(open_store):
    """Opening verifies them like everything else that decisions rest on."""
    store = await open_store("node-a")
    made = await put(store, "ann", BODY)
    await store.close()

    assert list(await (await open_store("node-a")).documents("token")) == [made]
