"""The life of an emulator: opened with a store and ports of its own, closed with nothing left behind.

Rule 1: the state is in memory where the system has a file system for that (/dev/shm), else in a temporary directory;
it goes with the emulator. A directory that was given stays.
Rule 2: each thread speaks to the control API on a connection of its own.
Rule 3: opening and closing wait for the server's thread, on a thread or on an asyncio loop, whichever asks.
"""

import asyncio
import os
import shutil
import tempfile
import threading
from collections.abc import Mapping
from concurrent.futures import wait
from datetime import datetime
from pathlib import Path
from typing import Any, Self
from weakref import WeakSet

import msgspec

from notbefore.control_client import ControlClient
from notbefore.server_thread import STOP_WITHIN_S
from notbefore.settings import Settings
from notbefore.testing.bell import Bell
from notbefore.testing.server_thread import START_WITHIN_S, EmulatorThread

IN_MEMORY = Path("/dev/shm")  # noqa: S108  a directory of our own is made in it
IN_MEMORY_FREE_MIN = 64 * 1024 * 1024
ANY_PORT = "127.0.0.1:0"


class Lifetime:
    def __init__(self, settings: Mapping[str, Any], directory: Path | str | None) -> None:
        self._given = settings
        self._kept = None if directory is None else Path(directory)
        self._bell = Bell()
        self._server: EmulatorThread | None = None
        self._state: Path | None = None
        self._opened_at: datetime | None = None
        self._mine = threading.local()
        self._clients: WeakSet[ControlClient] = WeakSet()

    # -- opening and closing

    def __enter__(self) -> Self:
        server = self._started()
        wait([server.up], START_WITHIN_S)
        return self._entered(server)

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        server = self._started()
        await asyncio.wait([asyncio.wrap_future(server.up)], timeout=START_WITHIN_S)
        return self._entered(server)

    async def __aexit__(self, *_: object) -> None:
        if server := self._told_to_stop():
            await asyncio.wait([asyncio.wrap_future(server.down)], timeout=STOP_WITHIN_S)
            self._ended(server)

    def open(self) -> Self:
        """For whoever cannot use a `with` block; then `close` it."""
        return self.__enter__()

    def close(self) -> None:
        """Closing twice is closing once."""
        if server := self._told_to_stop():
            wait([server.down], STOP_WITHIN_S)
            self._ended(server)

    @property
    def is_open(self) -> bool:
        return self._server is not None

    # -- what there is while it is open

    @property
    def control(self) -> ControlClient:
        """The control API as an operator: everything that is not a method here. One client for each thread."""
        client: ControlClient | None = getattr(self._mine, "client", None)
        if client is None:
            client = self._mine.client = ControlClient(self.url, self.token)
            self._clients.add(client)
        return client

    @property
    def url(self) -> str:
        """Of the control API."""
        return self._running.up.result(0).control_url

    @property
    def token(self) -> str:
        """For the control API, with all rights."""
        return self._running.up.result(0).token

    @property
    def env(self) -> Mapping[str, str]:
        """For `notbefore` commands of an operator in a subprocess; `vm(...).env` is for those of a VM."""
        return {"NOTBEFORE_URL": self.url, "NOTBEFORE_TOKEN": self.token}

    @property
    def now(self) -> datetime:
        """The time by the emulator's clock, which stands until it is turned."""
        return self._running.now()

    @property
    def _running(self) -> EmulatorThread:
        if self._server is None:
            raise RuntimeError("The emulator is not open: use it in a `with` block, or inside the test.")
        return self._server

    # -- below

    def _forget(self) -> None:
        """What is known of a former life."""

    def _started(self) -> EmulatorThread:
        if self._server is not None:
            raise RuntimeError("The emulator is open already.")
        self._forget()
        self._state = self._kept or fresh_directory()
        server = EmulatorThread(settings_in(self._state, self._given), self._bell.ring)
        server.start()
        return server

    def _entered(self, server: EmulatorThread) -> Self:
        try:
            server.up.result(0)
        except BaseException:
            self._remove_state()
            raise
        self._server = server
        self._opened_at = server.now()
        return self

    def _told_to_stop(self) -> EmulatorThread | None:
        server, self._server = self._server, None
        for client in list(self._clients):
            client.close()
        self._mine = threading.local()
        if server:
            server.tell_to_stop()
        return server

    def _ended(self, server: EmulatorThread) -> None:
        try:
            server.joined()
        finally:
            self._remove_state()
            self._bell.ring()

    def _remove_state(self) -> None:
        if self._state and not self._kept:
            shutil.rmtree(self._state, ignore_errors=True)


def fresh_directory(in_memory: Path = IN_MEMORY) -> Path:
    return Path(tempfile.mkdtemp(prefix="notbefore-", dir=in_memory if is_roomy(in_memory) else None))


def is_roomy(directory: Path) -> bool:
    try:
        return os.access(directory, os.W_OK) and shutil.disk_usage(directory).free >= IN_MEMORY_FREE_MIN
    except OSError:
        return False


def settings_in(state: Path, given: Mapping[str, Any]) -> Settings:
    """What `notbefore serve --clock manual` would run with, on free ports, and with faults where there are such."""
    tree = {
        "state": str(state),
        "clock": {"kind": "manual"},
        "control": {"address": ANY_PORT},
        **given,
    }
    if "allow_faults" in Settings.__struct_fields__:
        tree["allow_faults"] = True
    return msgspec.convert(tree, Settings)
