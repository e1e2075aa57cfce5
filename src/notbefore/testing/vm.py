"""A VM of the emulator: its own endpoint, and a hand to ask and approve there as that VM.

Rule 1: whoever asks at the endpoint is that VM: the listener is its private line (SPEC §5). It is opened at first use.
Rule 2: `document` and `approve` go over the wire, once: what goes wrong there is an EndpointError, and not retried.
"""

from collections.abc import Callable, Mapping
from threading import Lock
from typing import TYPE_CHECKING

from notbefore.client import AsyncScheduledEvents, Document, Patience, ScheduledEvents
from notbefore.client.caller import VARIABLE
from notbefore.testing.hurry import HurriedClock
from notbefore.testing.requests_heard import Request, RequestLog
from notbefore.wire.api_versions import NEWEST

if TYPE_CHECKING:
    from notbefore.testing.event import ScheduledEvent

ANSWER_WITHIN_S = 10.0
ONCE = Patience(first_s=ANSWER_WITHIN_S, later_s=ANSWER_WITHIN_S, connect_s=ANSWER_WITHIN_S, attempts=1, gone_s=0.0)

OpenLine = Callable[[str], tuple[str, RequestLog]]


class EmulatedVm:
    """One VM, as `Emulator.vm` gives it."""

    def __init__(self, scope: str, name: str, open_line: OpenLine) -> None:
        self.scope = scope
        self.name = name
        self._open_line = open_line
        self._line: tuple[str, RequestLog] | None = None
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"<VM {self.full_name}>"

    def __str__(self) -> str:
        return self.name

    @property
    def full_name(self) -> str:
        """`scope/vm`."""
        return f"{self.scope}/{self.name}"

    @property
    def endpoint(self) -> str:
        """Where this VM, and only this VM, asks: `http://127.0.0.1:PORT`."""
        with self._lock:
            if self._line is None:
                self._line = self._open_line(self.full_name)
            return self._line[0]

    @property
    def env(self) -> Mapping[str, str]:
        """For a program that uses notbefore's client, or runs notbefore's commands as this VM."""
        return {VARIABLE: self.endpoint}

    @property
    def requests(self) -> tuple[Request, ...]:
        """What was asked at its endpoint, oldest first; the newest thousand."""
        return self._line[1].kept if self._line else ()

    @property
    def requests_count(self) -> int:
        return self._line[1].count if self._line else 0

    def document(self, api_version: str = NEWEST) -> Document:
        """What this VM sees now, asked over the wire. It counts as a question of the VM."""
        with ScheduledEvents(self.endpoint, api_version, patience=ONCE) as service:
            return service.document()

    def approve(self, *events: "ScheduledEvent | str") -> tuple[str, ...]:
        """Approve as this VM, over the wire; the ids that were there to be approved."""
        ids = [event if isinstance(event, str) else event.id for event in events]
        with ScheduledEvents(self.endpoint, patience=ONCE) as service:
            return service.approve(*ids)

    def client(self, api_version: str = NEWEST) -> ScheduledEvents:
        """notbefore's client at this endpoint, which retries and watches as ever but hardly waits in between."""
        return ScheduledEvents(self.endpoint, api_version, clock=HurriedClock())

    def async_client(self, api_version: str = NEWEST) -> AsyncScheduledEvents:
        return AsyncScheduledEvents(self.endpoint, api_version, clock=HurriedClock())
