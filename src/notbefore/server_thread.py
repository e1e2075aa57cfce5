"""A server on a thread and a loop of its own, for hands that block: tests, scenarios.

Rule 1: the loop is that of `serve`, the sockets and the store are real; ports are the kernel's choice.
Rule 2: it ends within a moment of being told, whoever is still connected; and it ends with the process.
Rule 3: what keeps it from starting is in `up`, what it broke down of in `down`.
Used by: testing/, scenarios/.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeVar

from notbefore import event_loop
from notbefore.settings import Settings
from notbefore.wiring import RunningServer, running_server

STOP_WITHIN_S = 20.0
ANSWER_WITHIN_S = 30.0
# What is being answered is finished; a client that hangs is not waited for.
GRACE_S = 0.2

Result = TypeVar("Result")

log = logging.getLogger("notbefore")


class ServerThread:
    def __init__(self, settings: Settings, on_up: Callable[[RunningServer], None] = lambda _: None) -> None:
        """`on_up` is called on the server's own loop, before anybody hears that it is up."""
        self._settings = settings
        self._on_up = on_up
        self.up: Future[RunningServer] = Future()
        self.down: Future[None] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._told: asyncio.Event | None = None
        self._thread = Thread(target=self._run, name="notbefore-emulator", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def tell_to_stop(self) -> None:
        if self._loop and self._told and not self.down.done():
            self._loop.call_soon_threadsafe(self._told.set)

    def joined(self) -> None:
        """Once it is down. What it broke down of, if it did, is raised."""
        self._thread.join(STOP_WITHIN_S)
        self.down.result(0)

    def begun(self, work: Coroutine[Any, Any, Result]) -> "Future[Result]":
        """Have the server's loop do this."""
        if self._loop is None or self.down.done():
            work.close()
            raise RuntimeError("The emulator's server has stopped.")
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def ran(self, work: Coroutine[Any, Any, Result]) -> Result:
        """What it comes to on the server's loop."""
        return self.begun(work).result(ANSWER_WITHIN_S)

    def _run(self) -> None:
        try:
            event_loop.run(self._serve())
        except BaseException as error:  # noqa: BLE001  whatever it is, it is for whoever opened this
            if self.up.done():
                self.down.set_exception(error)
                return
            self.up.set_exception(error)
        self.down.set_result(None)

    async def _serve(self) -> None:
        async with running_server(self._settings, grace_s=GRACE_S) as server:
            self._loop, self._told = asyncio.get_running_loop(), asyncio.Event()
            self._on_up(server)
            told: asyncio.Future[Any] = asyncio.ensure_future(self._told.wait())
            self.up.set_result(server)
            await asyncio.wait({told, server.failure}, return_when=asyncio.FIRST_COMPLETED)
            told.cancel()
            broken = server.failure.exception() if server.failure.done() else None
        if broken:
            log.critical("a part of the emulator broke down, so it stopped: %r", broken)
            raise broken
