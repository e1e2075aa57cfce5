"""The client for programs inside a VM: `from notbefore.client import ScheduledEvents`.

Standard library only, and nothing of the server: it ships into VMs. The asyncio half is imported when it is asked for.
"""

from typing import TYPE_CHECKING, Any

from notbefore.client.changes import Change, ChangeKind
from notbefore.client.clock import Clock
from notbefore.client.discovery import discover_endpoint
from notbefore.client.document import Document, EventView
from notbefore.client.endpoint import EndpointError
from notbefore.client.names import same_vm
from notbefore.client.retries import Patience
from notbefore.client.scheduled_events import ScheduledEvents

if TYPE_CHECKING:
    from notbefore.client.asynchronous import AsyncScheduledEvents

__all__ = [
    "AsyncScheduledEvents",
    "Change",
    "ChangeKind",
    "Clock",
    "Document",
    "EndpointError",
    "EventView",
    "Patience",
    "ScheduledEvents",
    "discover_endpoint",
    "same_vm",
]


def __getattr__(name: str) -> Any:
    if name != "AsyncScheduledEvents":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from notbefore.client.asynchronous import AsyncScheduledEvents  # noqa: PLC0415  asyncio is for whoever asks

    return AsyncScheduledEvents
