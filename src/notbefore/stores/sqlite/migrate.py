"""Bringing the database to the form this program knows, one numbered step at a time, forward only.

Rule 1: a step and its number are committed together; a crash leaves the form before or after, never between.
Rule 2: before a step changes a database that holds something, a copy is kept as `<db>.before-NNNN`.
Rule 3: the number is read again under the write lock: of two processes that open at once, one takes the step.
Not here: whose database it is, and whether it is too new (database_file.py).
"""

import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from notbefore.stores.sqlite.connection import connect, transaction

MIGRATIONS: Final[Traversable] = files(__package__).joinpath("migrations")
FILE_NAME = re.compile(r"(\d{4})_\w+\.sql")

# "nbfr": tells a database of ours from another program's.
APPLICATION_ID: Final = 0x6E626672


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    sql: str


def migrations_in(source: Traversable) -> Sequence[Migration]:
    named = ((FILE_NAME.fullmatch(file.name), file) for file in source.iterdir())
    found = [Migration(int(match[1]), file.read_text(encoding="utf-8")) for match, file in named if match]
    return sorted(found, key=lambda migration: migration.number)


def form_of(connection: sqlite3.Connection) -> int:
    """The number of the last step taken; 0 for a new database."""
    number: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return number


def migrate(connection: sqlite3.Connection, path: Path, migrations: Sequence[Migration]) -> None:
    for migration in migrations:
        if form_of(connection) < migration.number:
            take_step(connection, path, migration)


def take_step(connection: sqlite3.Connection, path: Path, migration: Migration) -> None:
    with transaction(connection):
        form = form_of(connection)
        if form >= migration.number:
            return
        if form > 0:
            keep_copy(path, migration)
        for statement in statements_in(migration.sql):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {migration.number}")


def keep_copy(path: Path, migration: Migration) -> None:
    """A copy under its name is whole: it gets the name last."""
    copy = path.with_name(f"{path.name}.before-{migration.number:04d}")
    unfinished = copy.with_name(f"{copy.name}.part")
    unfinished.unlink(missing_ok=True)
    os.mknod(unfinished, 0o600)
    with closing(connect(path)) as source, closing(connect(unfinished)) as target:
        source.backup(target)
    unfinished.replace(copy)


def statements_in(sql: str) -> Iterator[str]:
    """One at a time, because `executescript` would commit the transaction it runs in."""
    statement = ""
    for piece in sql.split(";"):
        statement += piece + ";"
        # A semicolon in a comment, a string or a trigger ends nothing.
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
