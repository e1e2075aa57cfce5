"""The emulator a scenario is played on: a real server in this process, on a thread of its own, with a clock to turn.

Rule 1: its state is temporary, its ports are free ones unless somebody says where, and each VM has a listener.
Rule 2: the player's hands are those of anybody: the control API, and the metadata service over the wire.
Rule 3: also a clock that runs stands at each time the scenario names, exactly, until it is told to run on.
"""

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future, wait
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import msgspec

from notbefore.client import Patience, ScheduledEvents
from notbefore.clock import ManualClock, Pace
from notbefore.control_client import ControlClient
from notbefore.core.errors import Invalid, Refusal
from notbefore.core.model import name_key
from notbefore.core.times import SECOND_MS
from notbefore.scenarios.scenario import Scenario
from notbefore.server_thread import ServerThread
from notbefore.settings import Settings
from notbefore.sockets import PORTS, parse_address

ANY_PORT = "127.0.0.1:0"
TELL_EVERY_S = 0.25
ONCE = Patience(attempts=1)


@dataclass(frozen=True, slots=True)
class Stage:
    """How a scenario is put on. `metadata`: where the first VM is served, the next ones on the ports after it.

    `rate`: how fast the clock runs by itself; None turns it as fast as everything can be done.
    """

    metadata: str = ANY_PORT
    rate: float | None = None


class Emulator:
    def __init__(self, scenario: Scenario, stage: Stage) -> None:
        self._scenario = scenario
        self._stage = stage
        self._stack = ExitStack()
        self._vms: dict[str, ScheduledEvents] = {}
        self.endpoints: dict[str, str] = {}
        self.began_ms = 0
        self._at_s = 0

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            state = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="notbefore-play-")))
            self._thread = ServerThread(settings_for(self._scenario, self._stage, state))
            stack.callback(self._stop)
            self._thread.start()
            server = self._thread.up.result()
            self.operator = stack.enter_context(ControlClient(server.control_url, server.token))
            for (_, vm), url in zip(self._scenario.vms, server.metadata_urls, strict=True):
                self.endpoints[vm.name] = url
                self._vms[name_key(vm.name)] = stack.enter_context(ScheduledEvents(url, patience=ONCE))
            self._declare()
            self.began_ms = round(self.operator.clock().now.timestamp()) * SECOND_MS
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _stop(self) -> None:
        """What it broke down of was said already."""
        self._thread.tell_to_stop()
        wait([self._thread.down])

    def vm(self, name: str) -> ScheduledEvents:
        return self._vms[name_key(name)]

    # -- Time

    def settle(self) -> None:
        """What was set off has been done to the end, at this time."""
        self.operator.advance(0)

    def go_on_to(self, at_s: int, tell: Callable[[], None]) -> None:
        """Let the clock go on until then, and everything settle. `tell` is called now and again, and at the end."""
        if self._stage.rate is None:
            self.operator.advance(at_s - self._at_s)
        else:
            self._run_to(at_s, self._stage.rate, tell)
        self._at_s = at_s
        tell()

    def _run_to(self, at_s: int, rate: float, tell: Callable[[], None]) -> None:
        clock = self._thread.up.result().manual_clock
        assert clock is not None
        try:
            there = self._thread.begun(run_until(clock, self.began_ms + at_s * SECOND_MS, rate))
        except RuntimeError:
            raise broken_down() from None
        while not is_done_within(there, self._thread, TELL_EVERY_S):
            tell()
        self.settle()

    # -- The fleet

    def _declare(self) -> None:
        """What the server has against the fleet is wrong in the file."""
        for host in self._scenario.hosts:
            self.operator.put_host(host, {})
        for scope in self._scenario.scopes:
            try:
                self.operator.put_scope(scope.name, scope.declaration())
            except Refusal as refusal:
                where = f"{self._scenario.source}, line {scope.line}, scope {scope.name}"
                raise Invalid(f"{where}: {refusal.message}", refusal.hint, refusal.facts) from None


def settings_for(scenario: Scenario, stage: Stage, state: Path) -> Settings:
    listeners = [
        {"address": address, "vm": f"{scope}/{vm.name}"}
        for (scope, vm), address in zip(scenario.vms, addresses(stage.metadata, len(scenario.vms)), strict=True)
    ]
    tree: Mapping[str, Any] = {
        "state": str(state),
        "clock": {"kind": "manual"},
        "control": {"address": ANY_PORT},
        "metadata": {"listeners": listeners, "rate_limit_per_s": 0},
        "executor": {"simulate": {"duration_s": scenario.duration_s, "checks_s": scenario.checks_s}},
    }
    return msgspec.convert(tree, Settings)


def addresses(first: str, count: int) -> list[str]:
    """The given one and the ports after it; with port 0 any that are free."""
    host, port = parse_address(first)
    if port and port + count - 1 not in PORTS:
        raise Invalid(f"There are no {count} ports from {port} on.", "Choose a lower one.", {"address": first})
    shown = f"[{host}]" if ":" in host else host
    return [f"{shown}:{port + place if port else 0}" for place in range(count)]


class StopsTheClock:
    """A bell whose ring stops the clock in the same breath."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._reached = asyncio.Event()

    def ring(self) -> None:
        self._clock.set_pace(Pace(self._clock.pace.rate, paused=True))
        self._reached.set()

    async def rung(self, timeout_s: float | None) -> None:  # noqa: ARG002  a clock that can be turned gives none
        await self._reached.wait()


async def run_until(clock: ManualClock, at_ms: int, rate: float) -> None:
    """A clock does not pass what somebody waits for; so it shows that very time when it stands again."""
    if clock.now().wall_ms < at_ms:
        clock.set_pace(Pace(rate, paused=False))
        await clock.wait(at_ms, StopsTheClock(clock))


def broken_down() -> Refusal:
    return Refusal("The emulator broke down, so the scenario cannot go on.", "Its last words are above.")


def is_done_within(there: "Future[None]", server: ServerThread, seconds: float) -> bool:
    """Refused when it never will be: nothing goes on any more once the server has broken down."""
    try:
        there.result(seconds)
    except CancelledError:
        raise broken_down() from None
    except TimeoutError:
        if server.down.done():
            raise broken_down() from None
        return False
    return True
