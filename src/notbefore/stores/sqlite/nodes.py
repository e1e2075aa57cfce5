"""Who works on this store: one file per running node beside the database, locked for as long as it runs.

Rule 1: the lock tells, not the file. It ends with the process, however that ends.
Rule 2: files come and go only under the directory's lock, so that nobody locks a file that is being removed.
Rule 3: when in doubt a node is alive: its claims are then left alone, and asked about again.
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, unquote

from notbefore.core.errors import StoreUnavailable
from notbefore.stores.sqlite.directory_lock import alone_in


class Nodes:
    def __init__(self, database: Path, me: str) -> None:
        self._directory = database.with_name(f"{database.name}-nodes")
        self._me = me
        self._held: int | None = None

    def register(self) -> None:
        self._directory.mkdir(mode=0o700, exist_ok=True)
        with alone_in(self._directory, wait=True):
            descriptor = os.open(self._file_of(self._me), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            if not locked(descriptor):
                os.close(descriptor)
                raise StoreUnavailable(
                    f"Node '{self._me}' already works on this store.",
                    "Stop the other process, or give this one another node name.",
                    {"node": self._me},
                )
            self._held = descriptor

    def is_alive(self, node: str) -> bool:
        if node == self._me and self._held is not None:
            return True
        try:
            with alone_in(self._directory, wait=False):
                return not self._is_buried(node)
        except FileNotFoundError:
            return False
        except OSError:
            return True

    def living(self) -> list[str]:
        """Every node that may be running."""
        try:
            registered = sorted(file.name for file in self._directory.iterdir())
        except FileNotFoundError:
            return []
        return [node for node in map(unquote, registered) if self.is_alive(node)]

    def leave(self) -> None:
        held, self._held = self._held, None
        if held is None:
            return
        with suppress(OSError), alone_in(self._directory, wait=True):
            self._file_of(self._me).unlink(missing_ok=True)
        os.close(held)

    def _is_buried(self, node: str) -> bool:
        """Whether nobody holds the node's lock any more; its file is then removed."""
        descriptor = os.open(self._file_of(node), os.O_RDWR | os.O_CLOEXEC)
        try:
            dead = locked(descriptor)
            if dead:
                self._file_of(node).unlink(missing_ok=True)
            return dead
        finally:
            os.close(descriptor)

    def _file_of(self, node: str) -> Path:
        return self._directory / quote(node, safe="")


def locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
