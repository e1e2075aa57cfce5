"""An event that a test has scheduled: its id, and how it stands whenever somebody looks.

Rule 1: nothing is kept but the id and what never changes; the rest is asked of the server each time.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from notbefore.control_client import Approval, Event

if TYPE_CHECKING:
    from notbefore.testing.emulator import Emulator

ENDED = ("completed", "cancelled", "failed")
STATUSES = ("queued", "scheduled", "started", *ENDED)


def has_status(*words: str) -> Callable[[Event], bool]:
    return lambda event: event.status.lower() in words


CONDITIONS: Mapping[str, Callable[[Event], bool]] = {
    **{word: has_status(word) for word in STATUSES},
    "approved": lambda event: bool(event.approvals),
    "over": has_status(*ENDED),
}
"""What an event may be waited for, by a word."""


class ScheduledEvent:
    def __init__(self, emulator: "Emulator", made: Event) -> None:
        self._emulator = emulator
        self.id = made.id
        self.scope = made.scope
        self.type = made.type
        self.vms = made.vms

    def __repr__(self) -> str:
        return f"<{self} {self.id}>"

    def __str__(self) -> str:
        return f"{self.type} of {', '.join(self.vms)}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ScheduledEvent) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def now(self) -> Event:
        """All the server says of it at this moment, as `notbefore.control_client` has it."""
        return self._emulator.control.event(self.id)

    @property
    def status(self) -> str:
        """Queued, Scheduled, Started, Completed, Cancelled or Failed."""
        return self.now.status

    @property
    def not_before(self) -> datetime | None:
        return self.now.not_before

    @property
    def approvals(self) -> tuple[Approval, ...]:
        return self.now.approvals

    def story(self) -> str:
        """What happened to it, what it waits for, and what each VM of its scope asked."""
        return self._emulator.story(self)
