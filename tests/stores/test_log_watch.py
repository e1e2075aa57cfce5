"""Whether anybody may have written (stores/sqlite/log_watch.py): a real database, a second connection that writes."""

import sqlite3
from pathlib import Path

import pytest

from notbefore.stores.sqlite.log_watch import ASKED_ANYWAY_EVERY, LogWatch


@pytest.fixture
def database(tmp_path):
    connection = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE t (n)")
    yield connection
    connection.close()


@pytest.fixture
def watch(tmp_path, database):
    return LogWatch(tmp_path / "a.db")


def test_a_log_that_stays_the_same_is_believed_after_a_second_look(watch):
    assert [watch.may_have_changed() for _ in range(5)] == [True, True, False, False, False]


def test_a_write_is_noticed_and_doubted_once_more(watch, database):
    """Its time has a grain: another write may hide behind it."""
    while watch.may_have_changed():
        pass
    database.execute("INSERT INTO t VALUES (1)")

    assert [watch.may_have_changed() for _ in range(3)] == [True, True, False]


def test_every_so_often_the_database_is_asked_all_the_same(watch):
    looks = [watch.may_have_changed() for _ in range(2 + 2 * (ASKED_ANYWAY_EVERY + 1))]

    assert looks.count(True) == 4


def test_without_a_log_the_database_is_always_asked(tmp_path):
    watch = LogWatch(tmp_path / "none.db")

    assert all(watch.may_have_changed() for _ in range(5))


def test_the_log_is_not_opened(watch):
    """Closing it would drop the locks that SQLite holds on it in this process."""
    before = open_files()
    watch.may_have_changed()

    assert open_files() == before


def open_files():
    return {one.name for one in Path("/proc/self/fd").iterdir()}
