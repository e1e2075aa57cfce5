"""Faults that a test orders: tricks which the real service plays now and then."""

from typing import Any, Protocol, Self, cast

from notbefore.control_client import ControlClient


class Listed(Protocol):
    """A fault as the control API shows it."""

    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def struck(self) -> int: ...


class TakesFaults(Protocol):
    def add_fault(self, kind: str, **options: Any) -> Listed: ...
    def faults(self) -> tuple[Listed, ...]: ...
    def clear_faults(self, kind: str | None = None, fault_id: str | None = None) -> int: ...


def faults_of(control: ControlClient) -> TakesFaults:
    return cast("TakesFaults", control)


class OrderedFault:
    """One fault. As a context manager it is cleared at the end of the block; else by `clear`, or with the emulator."""

    def __init__(self, control: ControlClient, listed: Listed) -> None:
        self._faults = faults_of(control)
        self.id = listed.id
        self.kind = listed.kind

    def __repr__(self) -> str:
        return f"<fault {self.kind} {self.id}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    @property
    def struck(self) -> int:
        """How often it has struck by now; 0 as well when it was cleared."""
        return sum(one.struck for one in self._faults.faults() if one.id == self.id)

    def clear(self) -> None:
        """Clearing what is cleared is nothing."""
        if any(one.id == self.id for one in self._faults.faults()):
            self._faults.clear_faults(fault_id=self.id)
