"""Migrations of the embedded store: forward, whole or not at all, with a copy of what was there."""

import asyncio
import shutil
import sqlite3
import stat
from contextlib import closing

import pytest

from notbefore.core.errors import StoreUnavailable
from notbefore.core.model import Scope
from notbefore.stores.sqlite.connection import connect
from notbefore.stores.sqlite.migrate import MIGRATIONS, form_of, migrations_in, take_step

NEWEST = migrations_in(MIGRATIONS)[-1].number
NEXT = NEWEST + 1


@pytest.fixture
def newer(tmp_path):
    """The migrations of a newer program: `newer("CREATE …")` adds steps behind those there are."""
    directory = tmp_path / "migrations"

    def with_steps(*steps):
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        for file in MIGRATIONS.iterdir():
            (directory / file.name).write_text(file.read_text())
        for number, sql in enumerate(steps, start=NEXT):
            (directory / f"{number:04d}_step.sql").write_text(sql)
        return directory

    return with_steps


@pytest.fixture
async def filled(open_sqlite):
    """A store of today's form with one scope in it, closed again."""
    store = await open_sqlite()
    await store.commit(Scope("web"), 0, None)
    await store.close()


def read(path, sql):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def form(path):
    return read(path, "PRAGMA user_version")[0][0]


def copies(tmp_path):
    return sorted(path.name for path in tmp_path.glob("notbefore.db.*"))


def test_the_numbers_leave_no_gap():
    """Step n stands on step n - 1."""
    numbers = [migration.number for migration in migrations_in(MIGRATIONS)]

    assert numbers == list(range(1, len(numbers) + 1))


async def test_a_new_store_has_the_newest_form_and_no_copies(database, open_sqlite, tmp_path):
    """There was nothing to keep a copy of."""
    await open_sqlite()

    assert form(database) == NEWEST
    assert copies(tmp_path) == []


async def test_a_step_keeps_the_data_and_a_copy_of_what_was_there(database, filled, newer, open_sqlite, tmp_path):
    """Before a store that holds something is changed, `<db>.before-NNNN` is made, for its owner alone."""
    store = await open_sqlite(migrations=newer("CREATE TABLE extra (x);"))

    copy = tmp_path / f"notbefore.db.before-{NEXT:04d}"
    assert (await store.load("web")).scope == Scope("web")
    assert form(database) == NEXT
    assert copies(tmp_path) == [copy.name]
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert form(copy) == NEWEST
    assert read(copy, "SELECT key FROM aggregate") == [("web",)]


async def test_a_copy_is_a_store_that_the_older_program_opens(filled, newer, open_sqlite, tmp_path):
    """Going back is naming the copy."""
    await open_sqlite(migrations=newer("DELETE FROM aggregate;"))

    older = await open_sqlite(path=tmp_path / f"notbefore.db.before-{NEXT:04d}")

    assert (await older.load("web")).scope == Scope("web")


async def test_every_step_keeps_a_copy_of_its_own(database, filled, newer, open_sqlite, tmp_path):
    """Whichever step went wrong, what was before it is there."""
    await open_sqlite(migrations=newer("CREATE TABLE one (x);", "CREATE TABLE two (x);"))

    names = [f"notbefore.db.before-{number:04d}" for number in (NEXT, NEXT + 1)]
    assert copies(tmp_path) == names
    assert [form(tmp_path / name) for name in names] == [NEWEST, NEXT]
    assert form(database) == NEXT + 1


async def test_opening_again_takes_no_step_again(filled, newer, open_sqlite, database):
    """A step that is not repeatable is not repeated."""
    migrations = newer("CREATE TABLE one (x); INSERT INTO one VALUES (1);")
    await (await open_sqlite(migrations=migrations)).close()
    await (await open_sqlite(migrations=migrations)).close()

    assert read(database, "SELECT count(*) FROM one") == [(1,)]


async def test_a_step_that_fails_changes_nothing(database, filled, newer, open_sqlite):
    """A step and its number are one transaction; the store is then still the older program's."""
    with pytest.raises(StoreUnavailable):
        await open_sqlite(migrations=newer("CREATE TABLE half (x);\nINSERT INTO nowhere VALUES (1);"))

    assert form(database) == NEWEST
    assert read(database, "SELECT name FROM sqlite_master WHERE name = 'half'") == []
    assert (await (await open_sqlite()).load("web")).scope == Scope("web")


async def test_a_step_may_hold_triggers_and_comments(filled, newer, open_sqlite, database):
    """A semicolon inside a trigger or a comment ends no statement."""
    trigger = "CREATE TRIGGER t AFTER DELETE ON one BEGIN INSERT INTO one VALUES (2); INSERT INTO one VALUES (3); END;"
    migrations = newer(f"-- one; two\nCREATE TABLE one (x);\n{trigger}\nINSERT INTO one VALUES (1);\n-- the end")
    await open_sqlite(migrations=migrations)

    assert read(database, "SELECT x FROM one") == [(1,)]


async def test_two_that_open_at_once_take_each_step_once(filled, newer, open_sqlite, database):
    """The number is read again under the write lock."""
    migrations = newer("CREATE TABLE one (x);\nINSERT INTO one VALUES (1);")

    await asyncio.gather(*(open_sqlite(f"node-{n}", migrations=migrations) for n in range(4)))

    assert read(database, "SELECT count(*) FROM one") == [(1,)]


async def test_a_step_that_another_process_took_meanwhile_is_not_taken(filled, newer, database, tmp_path):
    """Whoever comes second finds the number and leaves it so."""
    step = migrations_in(newer("CREATE TABLE one (x);"))[-1]
    with closing(connect(database)) as connection:
        take_step(connection, database, step)
        (tmp_path / f"notbefore.db.before-{NEXT:04d}").unlink()

        take_step(connection, database, step)

        assert form_of(connection) == NEXT
    assert copies(tmp_path) == []


async def test_an_unfinished_copy_of_a_crashed_migration_is_replaced(filled, newer, open_sqlite, tmp_path):
    """A copy gets its name when it is whole; what a crash left behind is in nobody's way."""
    (tmp_path / f"notbefore.db.before-{NEXT:04d}.part").write_bytes(b"half a copy")

    await open_sqlite(migrations=newer("CREATE TABLE one (x);"))

    assert copies(tmp_path) == [f"notbefore.db.before-{NEXT:04d}"]


async def test_a_newer_store_is_refused_and_left_alone(filled, newer, open_sqlite, database):
    """A program that does not know the form does not guess at it; the hint names the way back."""
    await (await open_sqlite(migrations=newer("CREATE TABLE one (x);"))).close()

    with pytest.raises(StoreUnavailable, match="newer notbefore") as refused:
        await open_sqlite()

    assert f"before-{NEXT:04d}" in refused.value.hint
    assert form(database) == NEXT
