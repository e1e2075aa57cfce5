"""The client for programs inside a VM: `from notbefore.client import ScheduledEvents`.

Standard library only, and nothing of the server: it ships into VMs.
"""

from notbefore.client.scheduled_events import Document, EndpointError, EventView, ScheduledEvents

__all__ = ["Document", "EndpointError", "EventView", "ScheduledEvents"]
