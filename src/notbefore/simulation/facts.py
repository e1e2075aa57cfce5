"""What is true in a simulated run, for the laws to look up: the committed scopes, and how each process is doing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from notbefore.ports import Document, Stored, StoredRecord


@dataclass(slots=True)
class ProcessFacts:
    """One server process, from its start to its end. A machine has one at a time; a reboot changes `boot_id`."""

    name: str
    machine: str
    boot_id: str
    # When it had read the store, and what its machine's wall clock showed then; None while it has not.
    loaded_us: int | None = None
    loaded_wall_ms: int = 0
    ended_us: int | None = None
    # Since when neither its store connection nor its machine has been in any trouble; None while in trouble, and a
    # little ahead of now while what set out in trouble may still arrive.
    calm_since_us: int | None = 0
    # When its machine's wall clock was last stepped, before or during its life; -1 for never.
    stepped_us: int = -1

    @property
    def works(self) -> bool:
        return self.loaded_us is not None and self.ended_us is None


class Facts(Protocol):
    @property
    def now_us(self) -> int: ...

    @property
    def scopes(self) -> Mapping[str, Stored]:
        """What the store holds, by scope key; removed scopes too."""

    @property
    def documents(self) -> Mapping[tuple[str, str], Document]:
        """What the store holds beside the scopes, by kind and key."""

    @property
    def records(self) -> Sequence[StoredRecord]:
        """The history that the store holds."""

    @property
    def processes(self) -> Mapping[str, ProcessFacts]:
        """Every process there has been, by name, oldest first."""

    def wall_ms(self, process: str) -> int:
        """What the wall clock of that process's machine shows now."""
