"""`notify`: one line to people, by whatever apprise reaches them with.

Rule 1: apprise is an extra: without it the step fails, and says what to install.
Rule 2: an apprise URL is a secret: it stands in no sentence, and the libraries' own logs, which would tell it, are off.
Rule 3: apprise has its own time limits; a run that is over leaves it behind.
"""

import logging
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from notbefore.agent.steps.aside import done_aside
from notbefore.agent.steps.attempt import Attempt, Trouble, Until
from notbefore.agent.steps.secret_file import secret_line
from notbefore.agent.steps.step import Errand, Phase, Result, WrongSetting
from notbefore.agent.steps.table import Table
from notbefore.agent.steps.wording import line_of

TELLTALES = ("apprise", "urllib3", "requests", "requests_oauthlib", "oauthlib", "markdown", "MARKDOWN")
MISSING = "apprise is not installed: pip install 'notbefore[notify]'"


class NotifyStep(Attempt):
    kind = "notify"

    def __init__(self, url: str, *, undo: bool) -> None:
        self._url = url
        self._undo = undo

    def problems(self) -> list[str]:
        try:
            self._way()
        except Trouble as trouble:
            return [str(trouble)]
        return []

    def has_undo(self) -> bool:
        return self._undo

    def attempt(self, errand: Errand, until: Until) -> Result:
        line = line_of(errand)
        if not done_aside(lambda: bool(self._way().notify(body=line)), until, lambda: None):
            raise Trouble("apprise could not deliver it")
        return Result(True, "apprise has delivered it")

    def shown(self, phase: Phase) -> str:  # noqa: ARG002  the same for each
        return f"tell people by apprise ({self._url.partition(':')[0]})"

    def _way(self) -> Any:
        if find_spec("apprise") is None:
            raise Trouble(MISSING)
        for telltale in TELLTALES:
            logging.getLogger(telltale).setLevel(logging.CRITICAL + 1)
        way = import_module("apprise").Apprise()
        if not way.add(self._url):
            raise Trouble("apprise cannot read its URL; its documentation lists those it knows")
        return way


def made(table: Table) -> NotifyStep:
    if table.has("url") == table.has("url_file"):
        raise WrongSetting("url", "there is one of url and url_file")
    url = secret_line("url_file", table.path("url_file")) if table.has("url_file") else table.text("url")
    if "://" not in url:
        raise WrongSetting("url_file" if table.has("url_file") else "url", "it is a URL that apprise knows")
    return NotifyStep(url, undo=table.flag("undo", default=True))
