"""Who sees what, and whether a change is one that a VM could see.

Rule 1: a VM sees the Scheduled and Started events of its own scope, all of them, and nothing else (S8).
Rule 2: the incarnation rises exactly when this picture changes, whichever api-version shows it (S3).
Not here: how the picture is written for each api-version (wire/document.py).
"""

from notbefore.core.kinds import MAINTENANCE_TYPES, Status
from notbefore.core.model import Event, Scope

VISIBLE = (Status.SCHEDULED, Status.STARTED)


def is_visible(event: Event) -> bool:
    return event.status in VISIBLE and not event.hidden


def visible_events(scope: Scope) -> tuple[Event, ...]:
    return tuple(event for event in scope.events if is_visible(event))


def picture(scope: Scope) -> object:
    """Everything that any api-version could show of a scope, for comparison only."""
    shown = [
        (
            event.id,
            event.status,
            event.type,
            event.vms,
            event.not_before_ms if event.status is Status.SCHEDULED else None,
            event.description,
            event.source,
            event.duration_s,
        )
        for event in visible_events(scope)
    ]
    # The underscore changes the names that 2017-03-01 shows, and that version knows the maintenance types only.
    has_such_names = any(event.type in MAINTENANCE_TYPES for event in visible_events(scope))
    return has_such_names and scope.settings.legacy_underscore, shown
