"""Whether a scope listens: somebody in it asked within a day (SPEC §2.5)."""

from collections.abc import Mapping

from notbefore.core.draft import Draft
from notbefore.core.kinds import Listening
from notbefore.core.model import Scope, name_key, with_asked
from notbefore.core.times import HOUR_MS, Moment

LISTENS_FOR_MS = 24 * HOUR_MS


def listens(scope: Scope, now: Moment) -> bool:
    """Judged when an event would become visible; without listeners there is nobody to give notice to."""
    if scope.settings.listening is not Listening.AUTO:
        return scope.settings.listening is Listening.ALWAYS
    return has_asked_lately(scope, now)


def has_asked_lately(scope: Scope, now: Moment) -> bool:
    return any(now.wall_ms - at_ms <= LISTENS_FOR_MS for at_ms in scope.asked_ms.values())


def hear(draft: Draft, asked_ms: Mapping[str, int]) -> None:
    """Note that VMs asked; the first to ask enables the service for its scope [seed]."""
    was_listening = has_asked_lately(draft.scope, draft.now)
    draft.scope = with_asked(draft.scope, {name_key(vm): at_ms for vm, at_ms in asked_ms.items()})
    if not was_listening and has_asked_lately(draft.scope, draft.now):
        draft.tell("enabled", f"{draft.request.by} asked for scheduled events: the scope listens from now on")


def why_no_notice(scope: Scope) -> str:
    if scope.settings.listening is Listening.NEVER:
        return "nobody listens: the scope is set to listening = never, so the impact starts without notice"
    return "nobody listens: no VM of the scope asked within 24 hours, so the impact starts without notice"
