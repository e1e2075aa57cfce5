"""When the disk, another process or a flipped bit gets in the way of the embedded store."""

import random
import resource
import shutil
import sqlite3
from contextlib import closing, contextmanager

import pytest

from notbefore.core.errors import StoreUnavailable
from notbefore.core.history import HistoryRecord
from notbefore.core.model import Scope, Vm
from notbefore.ports import HistoryQuery
from notbefore.stores.sqlite import SqliteStore, StoreCorrupt
from notbefore.stores.sqlite.rows import row_checksum

FLIPS = 150
RECORD = HistoryRecord("web", 1, "a-request", 1, ())
DAMAGES = (
    "body = CAST(replace(CAST(body AS TEXT), 'web', 'wet') AS BLOB)",
    "body = 7",
    "checksum = checksum + 1",
    "revision = 9",
)
BIG = Scope("web", vms=tuple(Vm(f"vm-{n}", tags={"filler": "x" * 100}) for n in range(1000)))


async def set_on_writer(store, pragma):
    await store._writer.run(lambda connection: connection.execute(f"PRAGMA {pragma}").fetchall())


async def assert_commit_refused_whole(store, scope, match):
    """A refused commit left nothing behind."""
    with pytest.raises(StoreUnavailable, match=match) as refused:
        await store.commit(scope, 1, RECORD)
    assert refused.value.hint
    assert (await store.load("web")).version == 1
    assert len(await store.history(HistoryQuery())) == 1


@pytest.fixture
async def store(open_sqlite):
    """Open, with one small scope in it."""
    opened = await open_sqlite()
    await opened.commit(Scope("web"), 0, RECORD)
    return opened


@contextmanager
def files_no_larger_than(size):
    """Writing beyond it fails as on a failing disk: with an error from the kernel."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_full_disk_refuses_the_commit_and_the_next_one_tries_again(store):
    """Nothing was promised; when there is space again the same commit succeeds."""
    await set_on_writer(store, "max_page_count = 20")
    await assert_commit_refused_whole(store, BIG, "full")
    await set_on_writer(store, "max_page_count = 100000")

    assert (await store.commit(BIG, 1, RECORD)).version == 2


async def test_a_disk_error_refuses_the_commit_and_the_next_one_tries_again(store, database):
    """The kernel said no while the log was being written."""
    log = database.with_name("notbefore.db-wal")
    with files_no_larger_than(log.stat().st_size + 4096):
        await assert_commit_refused_whole(store, BIG, "disk")

    assert (await store.commit(BIG, 1, RECORD)).version == 2


async def test_a_store_held_by_another_for_too_long_refuses(store, database):
    """A stuck process elsewhere costs a bounded wait."""
    await set_on_writer(store, "busy_timeout = 0")
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        await assert_commit_refused_whole(store, Scope("web"), "Another process")
        other.execute("ROLLBACK")

    assert (await store.commit(Scope("web"), 1, RECORD)).version == 2


async def test_a_store_that_may_only_be_read_refuses_commits_and_is_still_read(store):
    """As after a remount."""
    await set_on_writer(store, "query_only = ON")

    await assert_commit_refused_whole(store, Scope("web"), "only be read")


@pytest.mark.parametrize(
    ("table", "key", "ask"),
    [
        ("aggregate", "web", lambda store: store.load("web")),
        ("aggregate", "web", lambda store: store.changes_after(0, 10)),
        ("history", "1", lambda store: store.history(HistoryQuery())),
    ],
)
@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_record_is_named_by_table_and_key(store, database, table, key, ask, damage):
    """Each record is verified on every read; what does not match is told, not served."""
    with closing(sqlite3.connect(database, isolation_level=None)) as vandal:
        vandal.execute(f"UPDATE {table} SET {damage}")

    with pytest.raises(StoreCorrupt) as refused:
        await ask(store)

    named = "9" if (table, damage) == ("history", "revision = 9") else key
    assert refused.value.facts == {"table": table, "key": named}
    assert table in refused.value.message
    assert refused.value.hint


async def test_a_body_that_this_program_cannot_read_is_named(store, database):
    """Its checksum is right, so a newer program may have written it; nothing is guessed."""
    await store._writer.run(write_body_of_the_future)

    with pytest.raises(StoreCorrupt, match=r"cannot read it.*palace"):
        await store.load("web")


def write_body_of_the_future(connection):
    body = b'{"name":"web","kind":"palace"}'
    connection.execute("UPDATE aggregate SET body = ?, checksum = ?", (body, row_checksum(("web", 1, 1), body)))


async def test_no_flipped_bit_ever_changes_an_answer(open_sqlite, database, tmp_path):
    """Wherever a bit of the file flips: each scope and record is given back as written, or not at all, or the
    store refuses with a sentence."""
    store = await open_sqlite()
    scopes = [Scope(f"scope-{n}", vms=(Vm(f"vm-{n}"),)) for n in range(12)]
    for scope in scopes:
        await store.commit(scope, 0, HistoryRecord(scope.name, 1, "a-request", 1, ()))
    written = await everything_in(store, scopes)
    await store.close()
    chance = random.Random(2017)
    refusals = 0

    for n in range(FLIPS):
        damaged = tmp_path / f"damaged-{n}.db"
        shutil.copy(database, damaged)
        flip_a_bit(damaged, chance)
        try:
            found = await everything_in_file(damaged, scopes)
        except StoreUnavailable as refused:
            refusals += bool(refused.message)
        else:
            assert found <= written

    assert 0 < refusals < FLIPS


def flip_a_bit(path, chance):
    content = bytearray(path.read_bytes())
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


async def everything_in_file(path, scopes):
    store = await SqliteStore.open(path, "node-a")
    try:
        return await everything_in(store, scopes)
    finally:
        await store.close()


async def everything_in(store, scopes):
    """Every answer the store gives, in a form that can be compared."""
    loaded = [await store.load(scope.key) for scope in scopes]
    answers = [*filter(None, loaded), *await store.changes_after(0, 100), *await store.history(HistoryQuery())]
    return {repr(answer) for answer in answers}
