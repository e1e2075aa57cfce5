"""Commits that wait for the writer share its next transaction, and one fsync.

Rule 1: nobody waits for company. A commit that finds the writer free is written at once; those that come meanwhile
are the next group.
Rule 2: each succeeds or conflicts alone (writing.py, rule 1). A store that is away is away for the
whole group; what only one of it can be the cause of is found out by trying them one by one.
Called by: store.py.
"""

import asyncio
import sqlite3
from collections.abc import Sequence
from typing import Final

from notbefore.core.errors import StoreUnavailable
from notbefore.ports import OutcomeUnknown, Stored
from notbefore.stores.sqlite.connection import ConnectionThread, transaction
from notbefore.stores.sqlite.writing import Commit, write_commits

GROUP_MAX: Final = 32

Outcome = Stored | Exception
Waiting = tuple[Commit, "asyncio.Future[Stored]"]


class CommitGroups:
    def __init__(self, writer: ConnectionThread) -> None:
        self._writer = writer
        self._waiting: list[Waiting] = []
        self._writing: asyncio.Task[None] | None = None

    async def commit(self, commit: Commit) -> Stored:
        written: asyncio.Future[Stored] = asyncio.get_running_loop().create_future()
        self._waiting.append((commit, written))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_all(), name="commits")
        return await written

    async def _write_all(self) -> None:
        while self._waiting:
            group, self._waiting = self._waiting[:GROUP_MAX], self._waiting[GROUP_MAX:]
            outcomes = await self._outcomes([commit for commit, _ in group])
            for (_, written), outcome in zip(group, outcomes, strict=True):
                tell(written, outcome)
        self._writing = None

    async def _outcomes(self, commits: Sequence[Commit]) -> Sequence[Outcome]:
        try:
            return await self._writer.run(lambda connection: write_together(connection, commits))
        except (StoreUnavailable, OutcomeUnknown) as away:
            return [away] * len(commits)
        except Exception as error:  # noqa: BLE001  whatever it is, it is for those who wait
            if len(commits) == 1:
                return [error]
            return [outcome for commit in commits for outcome in await self._outcomes([commit])]


def write_together(connection: sqlite3.Connection, commits: Sequence[Commit]) -> Sequence[Outcome]:
    with transaction(connection):
        return write_commits(connection, commits)


def tell(written: "asyncio.Future[Stored]", outcome: Outcome) -> None:
    """Unless nobody waits any more."""
    if written.done():
        return
    if isinstance(outcome, Exception):
        written.set_exception(outcome)
    else:
        written.set_result(outcome)
