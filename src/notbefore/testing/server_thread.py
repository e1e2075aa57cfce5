"""The server of a test's emulator: lines for VMs while it serves, and what was asked on each."""

from collections.abc import Callable
from datetime import UTC, datetime

from notbefore.core.times import SECOND_MS
from notbefore.server_thread import ServerThread
from notbefore.settings import Settings
from notbefore.testing.requests_heard import RequestLog, Tap
from notbefore.wiring import RunningServer, listen_for

START_WITHIN_S = 30.0


class EmulatorThread(ServerThread):
    def __init__(self, settings: Settings, ring: Callable[[], None]) -> None:
        """`ring` is called at every change, and at every question."""
        super().__init__(settings, lambda server: server.node.snapshot.subscribe(lambda _: ring()))
        self._ring = ring

    def now(self) -> datetime:
        """The emulator's time, to the millisecond."""
        return self.ran(self._now())

    def listen_for(self, vm: str) -> tuple[str, RequestLog]:
        """A listener of its own for `scope/vm`: its URL, and what is asked there."""
        server = self.up.result(0)
        log = RequestLog(lambda: moment_of(server), self._ring)
        return self.ran(listen_for(server, vm, lambda made: Tap(made, log))), log

    async def _now(self) -> datetime:
        return moment_of(self.up.result(0))


def moment_of(server: RunningServer) -> datetime:
    return datetime.fromtimestamp(server.node.clock.now().wall_ms / SECOND_MS, UTC)
