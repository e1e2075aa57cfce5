"""People: one readable line for each change that matters, by whatever apprise can reach them with.

Rule 1: apprise is an extra; without it a target for people is refused with what to install.
Rule 2: an apprise URL is a secret: it stands in no error, and the libraries' own log is switched off, because it
would tell it.
Rule 3: apprise says that it failed, not why; so a failure counts as a refusal, and old news is given up in the end.
Implements: ports.Notifier.
"""

import logging
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from notbefore.core.errors import Invalid, NotAllowed
from notbefore.core.history import Change, HistoryRecord
from notbefore.core.news import Gap, News
from notbefore.core.times import iso
from notbefore.notifiers.errand import Errands
from notbefore.ports import NotTold

# What matters to people, unless they ask for something else.
WORDS = ("scheduled", "started", "completed", "failed", "cancelled")
LINE_MAX = 500
# They tell URLs, in part or whole.
TELLTALES = ("apprise", "urllib3", "requests", "requests_oauthlib", "oauthlib", "markdown", "MARKDOWN")


class PeopleNotifier:
    def __init__(self, name: str, url: str, timeout_s: float) -> None:
        self._way = way_to(name, url)
        self._errands = Errands[bool](f"people {name}", timeout_s, lambda: None)

    async def tell(self, news: News | Gap) -> None:
        if not await self._errands.run(lambda: bool(self._way.notify(body=line_of(news)))):
            raise NotTold("apprise could not deliver it", refused=True)

    def close(self) -> None:
        """Its own time limits end what is under way."""


def way_to(name: str, url: str) -> Any:
    """Refused when there is no apprise, or when it does not know such a URL."""
    if find_spec("apprise") is None:
        raise NotAllowed(
            f"The target '{name}' needs apprise, which is not installed.",
            "Install it: pip install 'notbefore[notify]'.",
            {"target": name, "package": "apprise"},
        )
    for telltale in TELLTALES:
        logging.getLogger(telltale).setLevel(logging.CRITICAL + 1)
    apprise = import_module("apprise")
    way = apprise.Apprise()
    if not way.add(url):
        raise Invalid(
            f"apprise cannot read the URL of the target '{name}'.",
            "Its documentation lists the URLs it knows.",
            {"target": name},
        )
    return way


def line_of(news: News | Gap) -> str:
    if isinstance(news, Gap):
        return f"notbefore: history up to revision {news.through} was retired before you were told of it."
    line = told_event(news.record, news.change) if news.change.event else told_else(news.record, news.change)
    return line if len(line) <= LINE_MAX else f"{line[: LINE_MAX - 1]}…"


def told_event(record: HistoryRecord, change: Change) -> str:
    event = change.event
    assert event is not None
    word = change.what.partition(":")[0]
    when = f", not before {iso(event.not_before_ms)}" if word == "scheduled" and event.not_before_ms else ""
    return f"{record.scope}: {event.type} of {', '.join(event.vms)} {word}{when} ({change.why})"


def told_else(record: HistoryRecord, change: Change) -> str:
    return f"{record.scope or 'fleet'}: {change.what} ({change.why})"
