"""A VM's own view: what is about to happen to it, and its word that it may (SPEC §2).

Rule 1: proxies are ignored and redirects not followed: the endpoint is on the VM's own link.
Rule 2: what came is kept as received in `Document.raw`; a field that a version does not know is "" or -1.
Rule 3: whatever goes wrong is one EndpointError with a sentence.
Not here: watching for changes, finding the endpoint.
"""

import http.client
import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import SplitResult, urlencode, urlsplit

from notbefore.core.errors import Refusal
from notbefore.core.times import SECOND_MS
from notbefore.wire.api_versions import NEWEST, PATH
from notbefore.wire.approval import render_start_requests
from notbefore.wire.times import parse_iso

DEFAULT_ENDPOINT = "http://169.254.169.254"
CONNECT_MAX_S = 5.0
# The first request of a VM enables the service, which may take two minutes [real].
ANSWER_MAX_S = 130.0
DOCUMENT_MAX_BYTES = 4 * 1024 * 1024

HINTS: Mapping[int, str] = {
    403: "The endpoint knows a VM by the address it asks from; ask from the VM itself.",
    429: "Ask less often: five times a second is the usual limit.",
}


class EndpointError(Refusal):
    """The endpoint could not be asked, or refused; the message says which and why."""

    code = "endpoint"


@dataclass(frozen=True, slots=True)
class EventView:
    """One event as the endpoint shows it. `not_before` is None once it has started."""

    id: str
    status: str
    type: str
    resources: tuple[str, ...]
    not_before: datetime | None
    description: str = ""
    source: str = ""
    duration_s: int = -1


@dataclass(frozen=True, slots=True)
class Document:
    incarnation: int
    events: tuple[EventView, ...]
    raw: str


class ScheduledEvents:
    """The metadata endpoint, asked as a VM asks it; `source_address` says from which of its addresses."""

    def __init__(
        self,
        endpoint: str = DEFAULT_ENDPOINT,
        api_version: str = NEWEST,
        source_address: str | None = None,
        timeout_s: float = ANSWER_MAX_S,
    ) -> None:
        self._endpoint = endpoint
        self._url = _checked_url(endpoint)
        self._target = f"{self._url.path.rstrip('/')}{PATH}?{urlencode({'api-version': api_version})}"
        self._source = (source_address, 0) if source_address else None
        self._timeout_s = timeout_s

    def document(self) -> Document:
        """The events scheduled for the VM's scope, now."""
        raw = self._answer("GET")
        try:
            return _parsed(raw)
        except (ValueError, KeyError, TypeError, RecursionError):
            raise EndpointError(f"{self._endpoint} answered with something that is no document of events.") from None

    def approve(self, *event_ids: str) -> None:
        """Say that these events may start. All or nothing: one unknown id, and none is approved."""
        if event_ids:
            self._answer("POST", render_start_requests(event_ids))

    def _answer(self, method: str, body: bytes | None = None) -> bytes:
        try:
            status, answer = self._exchange(method, body)
        except (OSError, UnicodeError) as error:
            reason = (getattr(error, "strerror", None) or str(error)).lower()
            raise EndpointError(
                f"Nothing answers at {self._endpoint} ({reason}).", facts={"endpoint": self._endpoint}
            ) from None
        except http.client.HTTPException:
            raise EndpointError(f"What answers at {self._endpoint} does not speak HTTP as it should.") from None
        if status == http.client.OK:
            return answer
        raise EndpointError(
            f"{self._endpoint} answered {status}: {_error_text(answer)}", HINTS.get(status, ""), {"status": status}
        )

    def _exchange(self, method: str, body: bytes | None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(
            str(self._url.hostname), self._url.port, timeout=CONNECT_MAX_S, source_address=self._source
        )
        with closing(connection):
            connection.connect()
            connection.sock.settimeout(self._timeout_s)
            connection.request(method, self._target, body, {"Metadata": "true", "Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read(DOCUMENT_MAX_BYTES)


def _checked_url(endpoint: str) -> SplitResult:
    try:
        url = urlsplit(endpoint)
        usable = url.scheme == "http" and url.hostname and url.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise EndpointError(f"{endpoint!r} is not an endpoint.", f"Write http://ADDRESS:PORT, or {DEFAULT_ENDPOINT}.")
    return url


def _parsed(raw: bytes) -> Document:
    text = raw.decode()
    document = json.loads(text)
    return Document(int(document["DocumentIncarnation"]), tuple(map(_event_view, document["Events"])), text)


def _event_view(event: Mapping[str, Any]) -> EventView:
    return EventView(
        id=str(event["EventId"]),
        status=str(event["EventStatus"]),
        type=str(event["EventType"]),
        resources=tuple(map(str, event["Resources"])),
        not_before=_moment(event["NotBefore"]),
        description=str(event.get("Description", "")),
        source=str(event.get("EventSource", "")),
        duration_s=int(event.get("DurationInSeconds", -1)),
    )


def _moment(text: str) -> datetime | None:
    """ISO 8601 in 2017-03-01 [seed], RFC 1123 from then on [real], empty once started [real]."""
    if not text:
        return None
    try:
        return datetime.fromtimestamp(parse_iso(text) / SECOND_MS, UTC)
    except ValueError:
        return parsedate_to_datetime(text)


def _error_text(answer: bytes) -> str:
    try:
        return str(json.loads(answer)["error"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return "it gave no reason."
