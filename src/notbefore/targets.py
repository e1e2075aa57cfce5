"""From the settings of `[notify]` to targets that can be told, and from other settings to others.

Rule 1: what cannot work is refused before anything is served or taken: a package that is missing, a URL nobody knows.
Called by: wiring.py, at the start, at a reload and for `serve --check`.
"""

from notbefore.control.cloud_events import cloud_event
from notbefore.core.news import Interest
from notbefore.notifiers.people import WORDS, PeopleNotifier, way_to
from notbefore.notifiers.webhook import Endpoint, WebhookNotifier
from notbefore.ports import Clock
from notbefore.runtime.delivery import Patience, Target
from notbefore.settings import AppriseSettings, NotifySettings, WebhookSettings
from notbefore.settings.notify import secrets_of, url_of


class Targets:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._of: NotifySettings | None = None
        self._made: list[Target] = []

    def made_of(self, notify: NotifySettings) -> list[Target]:
        """The same as before when nothing changed; otherwise the former ones are closed."""
        if notify != self._of:
            former, self._made, self._of = self._made, self._make(notify), notify
            for target in former:
                target.notifier.close()
        return self._made

    def close(self) -> None:
        for target in self._made:
            target.notifier.close()

    def _make(self, notify: NotifySettings) -> list[Target]:
        webhooks = [self._webhook(one, notify) for one in notify.webhook]
        return [*webhooks, *(self._people(one, notify) for one in notify.apprise)]

    def _webhook(self, wanted: WebhookSettings, notify: NotifySettings) -> Target:
        endpoint = Endpoint(wanted.url, secrets_of(wanted), notify.timeout_s)
        notifier = WebhookNotifier(wanted.name, endpoint, lambda news: cloud_event(news, notify.source), self._clock)
        return Target(wanted.name, notifier, Interest(wanted.scopes, wanted.what), patience_of(notify))

    def _people(self, wanted: AppriseSettings, notify: NotifySettings) -> Target:
        notifier = PeopleNotifier(wanted.name, url_of(wanted), notify.timeout_s)
        return Target(wanted.name, notifier, Interest(wanted.scopes, wanted.what or WORDS), patience_of(notify))


def patience_of(notify: NotifySettings) -> Patience:
    return Patience(notify.retry_first_s, notify.retry_max_s)


def refuse_unusable(notify: NotifySettings) -> None:
    for wanted in notify.apprise:
        way_to(wanted.name, url_of(wanted))
