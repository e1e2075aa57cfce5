"""The life of one event, as a table.

Rule 1: every legal status change is a row of TRANSITIONS; nothing else changes a status.
Rule 2: forward only. An absent row is illegal and changes nothing.
Not here: when a row applies (settle.py, approval.py), who may see an event (visibility.py).
"""

from collections.abc import Mapping
from enum import StrEnum

from notbefore.core.errors import WrongStatus
from notbefore.core.kinds import Status


class Happening(StrEnum):
    """What can happen to an event's status, as history words it."""

    QUEUED = "queued"
    SCHEDULED = "scheduled"
    APPROVED = "started: approved"
    DUE = "started: notice ended"
    AUTO_APPROVED = "started: auto-approved"
    NOT_LISTENED = "started: nobody listens"
    NO_NOTICE = "started: no notice"
    FINISHED = "completed"
    DECLARED_COMPLETE = "completed: operator's word"
    VM_GONE = "completed: no VM left"
    GIVEN_UP = "failed"
    CANCELLED = "cancelled"


AT_ONCE = (Happening.AUTO_APPROVED, Happening.NOT_LISTENED, Happening.NO_NOTICE)

TRANSITIONS: Mapping[tuple[Status | None, Happening], Status] = {
    (None, Happening.QUEUED): Status.QUEUED,
    (None, Happening.SCHEDULED): Status.SCHEDULED,
    **{(None, at_once): Status.STARTED for at_once in AT_ONCE},
    (Status.QUEUED, Happening.SCHEDULED): Status.SCHEDULED,
    # Only planned maintenance queues, and that is never without notice by its nature.
    (Status.QUEUED, Happening.AUTO_APPROVED): Status.STARTED,
    (Status.QUEUED, Happening.NOT_LISTENED): Status.STARTED,
    (Status.QUEUED, Happening.CANCELLED): Status.CANCELLED,
    (Status.SCHEDULED, Happening.APPROVED): Status.STARTED,
    (Status.SCHEDULED, Happening.DUE): Status.STARTED,
    (Status.SCHEDULED, Happening.CANCELLED): Status.CANCELLED,
    (Status.STARTED, Happening.FINISHED): Status.COMPLETED,
    (Status.STARTED, Happening.DECLARED_COMPLETE): Status.COMPLETED,
    (Status.STARTED, Happening.VM_GONE): Status.COMPLETED,
    (Status.STARTED, Happening.GIVEN_UP): Status.FAILED,
}


def status_after(status: Status | None, happening: Happening, event_id: str) -> Status:
    """The status that follows, or a refusal that names the status in the way."""
    following = TRANSITIONS.get((status, happening))
    if following is None:
        raise WrongStatus(event_id, status, happening)
    return following
