"""Opening the embedded store: whose file it is, who may read it, and what is refused."""

import os
import sqlite3
import stat
from contextlib import closing

import pytest

from notbefore.core.errors import StoreUnavailable
from notbefore.core.model import Scope
from notbefore.stores.sqlite import SqliteStore, StoreCorrupt
from notbefore.stores.sqlite.connection import BUSY_TIMEOUT_MS
from notbefore.stores.sqlite.named_sql import queries_in


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


async def refusal_of(path):
    with pytest.raises(StoreUnavailable) as refused:
        await SqliteStore.open(path, "node-a")
    assert refused.value.message.endswith(".")
    assert refused.value.hint
    return refused.value


@pytest.mark.parametrize(
    ("pragma", "value"), [("journal_mode", "wal"), ("synchronous", 2), ("busy_timeout", BUSY_TIMEOUT_MS)]
)
async def test_the_writers_pragmas_are_in_force(open_sqlite, pragma, value):
    """WAL and synchronous = FULL (2): the log is fsynced before a commit returns; and a bounded wait for others."""
    store = await open_sqlite()

    assert await store._writer.run(lambda connection: connection.execute(f"PRAGMA {pragma}").fetchone()[0]) == value


async def test_the_reader_cannot_write(open_sqlite):
    """One writer per node."""
    store = await open_sqlite()

    with pytest.raises(StoreUnavailable):
        await store._reader.run(lambda connection: connection.execute("DELETE FROM aggregate"))


async def test_the_store_is_its_owners_alone(tmp_path, open_sqlite):
    """The files are 0600 and the directories 0700, from the first moment and with every file beside the database."""
    before = os.umask(0)
    try:
        store = await open_sqlite(path=tmp_path / "state" / "notbefore.db")
    finally:
        os.umask(before)
    await store.commit(Scope("web"), 0, None)

    found = {path.name: mode_of(path) for path in (tmp_path / "state").rglob("*")}

    assert mode_of(tmp_path / "state") == 0o700
    assert found == {
        "notbefore.db": 0o600,
        "notbefore.db-wal": 0o600,
        "notbefore.db-shm": 0o600,
        "notbefore.db-nodes": 0o700,
        "node-a": 0o600,
    }


async def test_a_store_named_by_a_link_is_the_store_it_links_to(database, open_sqlite, tmp_path):
    """Nodes that reach one file by two names see each other."""
    here = await open_sqlite("node-a")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "link.db").symlink_to(database)

    there = await open_sqlite("node-b", path=tmp_path / "elsewhere" / "link.db")

    assert here.is_alive("node-b")
    assert there.is_alive("node-a")


async def test_a_link_to_itself_is_refused(database):
    """It leads to no file."""
    database.symlink_to(database)

    await refusal_of(database)


async def test_a_node_leaves_no_file_behind(open_sqlite, tmp_path):
    """The directory of nodes lists those that run, and the crashed ones until somebody asks for them."""
    await (await open_sqlite()).close()

    assert list((tmp_path / "notbefore.db-nodes").iterdir()) == []


async def test_closing_is_possible_when_the_directory_of_nodes_is_gone(open_sqlite, tmp_path):
    """Somebody tidied up while the store was open."""
    store = await open_sqlite()
    (tmp_path / "notbefore.db-nodes" / "node-a").unlink()
    (tmp_path / "notbefore.db-nodes").rmdir()

    await store.close()


@pytest.mark.parametrize(
    "garbage", [b"not a database at all, but long enough to look", b"\0" * 8192, b"SQLite format 3\0"]
)
async def test_a_file_that_is_no_database_is_refused(database, garbage):
    """It is somebody's file: it is named, and left as it is."""
    database.write_bytes(garbage)

    refused = await refusal_of(database)

    assert isinstance(refused, StoreCorrupt)
    assert str(database) in str(refused.facts)
    assert database.read_bytes() == garbage


async def test_a_truncated_database_is_refused(database, open_sqlite):
    """Half a store is none."""
    store = await open_sqlite()
    for n in range(50):
        await store.commit(Scope(f"scope-{n}"), 0, None)
    await store.close()
    os.truncate(database, database.stat().st_size // 2)

    assert isinstance(await refusal_of(database), StoreCorrupt)


async def test_an_empty_file_becomes_a_store(database, open_sqlite):
    """A crash between making the file and filling it is no reason to refuse it."""
    database.touch()

    store = await open_sqlite()

    assert await store.load("web") is None


async def test_a_database_of_another_program_is_refused_and_left_alone(database):
    """A wrong path must not add our tables to somebody's data."""
    with closing(sqlite3.connect(database)) as theirs:
        theirs.execute("CREATE TABLE recipes (name TEXT)")
    before = database.read_bytes()

    refused = await refusal_of(database)

    assert "another program" in refused.message
    assert database.read_bytes() == before


async def test_a_directory_is_refused(tmp_path):
    """The hint names a file instead."""
    refused = await refusal_of(tmp_path)

    assert "directory" in refused.message
    assert not tmp_path.with_name(f"{tmp_path.name}-nodes").exists()


async def test_a_path_below_a_file_is_refused(tmp_path):
    """No directory can be made there."""
    (tmp_path / "file").write_text("")

    refused = await refusal_of(tmp_path / "file" / "notbefore.db")

    assert "cannot be used" in refused.message


@pytest.mark.parametrize("mode", [0o000, 0o400, 0o200])
async def test_a_file_that_may_not_be_read_and_written_is_refused(users_directory, mode):
    """A store that cannot be written keeps no promise."""
    path = users_directory / "notbefore.db"
    await (await SqliteStore.open(path, "node-a")).close()
    path.chmod(mode)

    refused = await refusal_of(path)

    assert "may not be read and written" in refused.message


async def test_a_directory_that_may_not_be_written_is_refused(users_directory):
    """Neither the database nor its log can be made in it."""
    users_directory.chmod(0o500)

    await refusal_of(users_directory / "notbefore.db")

    users_directory.chmod(0o700)


async def test_a_refused_opening_leaves_nothing_open(database, open_sqlite):
    """After the reason is gone the same process opens the store."""
    database.mkdir()
    await refusal_of(database)
    database.rmdir()

    assert (await open_sqlite()).is_alive("node-a")


def test_named_queries_are_cut_at_their_names():
    """A section begins at its name and ends at the next; what stands before the first belongs to none."""
    text = "-- about\n\n-- name: one\nSELECT 1\n\n-- why\n-- name: two\nSELECT\n  2\n"

    assert queries_in(text) == {"one": "SELECT 1\n\n-- why", "two": "SELECT\n  2"}
