"""Test your shutdown logic: a real server in your test's process, with a clock you turn (DESIGN §7).

Rule 1: with pytest it is the fixture `scheduled_events`; with unittest `ScheduledEventsTestCase`; anywhere `Emulator`.
Rule 2: importing this costs nothing: everybody's pytest does it who has notbefore installed. The server is imported
when somebody asks for one.
Rule 3: an emulator shares nothing with another one: no port, no file, no environment variable.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from notbefore.testing.case import ScheduledEventsTestCase
    from notbefore.testing.emulator import Emulator
    from notbefore.testing.event import ScheduledEvent
    from notbefore.testing.faults import OrderedFault
    from notbefore.testing.requests_heard import Request
    from notbefore.testing.vm import EmulatedVm

__all__ = ["EmulatedVm", "Emulator", "OrderedFault", "Request", "ScheduledEvent", "ScheduledEventsTestCase"]

_HOMES = {
    "EmulatedVm": "vm",
    "Emulator": "emulator",
    "OrderedFault": "faults",
    "Request": "requests_heard",
    "ScheduledEvent": "event",
    "ScheduledEventsTestCase": "case",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
