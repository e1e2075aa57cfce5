"""What both clients are made of: where to ask, as whom, how patiently, and what to say.

Rule 1: an endpoint that is given, or set as NOTBEFORE_ENDPOINT, is checked at once; else it is discovered at the first
question.
Rule 2: what speaks HTTP is imported when there is somebody to ask: the standard library's half of it is the dear part.
Used by: scheduled_events.py and asynchronous.py, which add nothing but their way of waiting.
"""

import os
from typing import TYPE_CHECKING

from notbefore.client.clock import Clock, SystemClock
from notbefore.client.conversation import Conversation
from notbefore.client.discovery import discover_endpoint
from notbefore.client.endpoint import checked_endpoint
from notbefore.client.identity import configured_name
from notbefore.client.retries import Patience
from notbefore.wire.api_versions import NEWEST

if TYPE_CHECKING:
    from notbefore.client.transport import Lines

VARIABLE = "NOTBEFORE_ENDPOINT"


class Caller:
    """Made from `endpoint` (NOTBEFORE_ENDPOINT when left out, else discovered) and

    `source_address`: from which of the VM's addresses to ask. `vm`: the VM's name, for where the endpoint does not
    tell it. `patience` and `clock`: how long to wait, and on what; the defaults are right.
    """

    def __init__(
        self,
        endpoint: str | None = None,
        api_version: str = NEWEST,
        source_address: str | None = None,
        *,
        vm: str | None = None,
        patience: Patience | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._api_version = api_version
        self._source = source_address
        self._vm = configured_name(vm)
        self._patience = patience or Patience()
        self._clock = clock or SystemClock()
        endpoint = os.environ.get(VARIABLE) or None if endpoint is None else endpoint
        self._ready: tuple[Conversation, Lines] | None = self._set_up(endpoint) if endpoint is not None else None

    def _set_up(self, url: str) -> tuple[Conversation, "Lines"]:
        from notbefore.client.transport import Lines  # noqa: PLC0415  rule 2

        endpoint = checked_endpoint(url, self._source)
        talk = Conversation(endpoint, self._api_version, self._patience, self._vm)
        return talk, Lines(endpoint, self._clock, self._patience.connect_s)

    def _discovered(self) -> tuple[Conversation, "Lines"]:
        return self._set_up(discover_endpoint(self._api_version, source_address=self._source))
