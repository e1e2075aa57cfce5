"""Fixtures for what is SQLite's alone; what every store must do is in tests/contracts/."""

import os
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from notbefore.stores.sqlite import SqliteStore
from notbefore.stores.sqlite.migrate import MIGRATIONS

NOBODY = 65534


@pytest.fixture
def database(tmp_path):
    return tmp_path / "notbefore.db"


@pytest.fixture
async def open_sqlite(database):
    """`await open_sqlite("node-b", migrations=…)`: closed when the test ends."""
    async with AsyncExitStack() as opened:

        async def open_one(node="node-a", path=database, migrations=MIGRATIONS):
            store = await SqliteStore.open(path, node, migrations)
            opened.push_async_callback(store.close)
            return store

        yield open_one


@pytest.fixture
def users_directory():
    """A directory of an ordinary user, whom the test is for its duration: root may do anything."""
    with tempfile.TemporaryDirectory() as directory:
        if os.geteuid() != 0:
            yield Path(directory)
            return
        os.chown(directory, NOBODY, NOBODY)
        os.seteuid(NOBODY)
        try:
            yield Path(directory)
        finally:
            os.seteuid(0)
