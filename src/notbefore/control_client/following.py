"""Following history: the records of GET /v1/stream as they come, across lost connections and restarts.

Rule 1: each time it resumes after the last revision that came, so nothing is missed and nothing comes twice.
Rule 2: the first connection must succeed; after that a server that is away is waited for. A refusal ends it.
Rule 3: a server that is silent for longer than its heartbeats allow counts as gone.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Event as Pause

from notbefore.control_client.control_api import ControlApi, Json, NoServer, Query, v1
from notbefore.core.errors import StoreUnavailable, TooManyStreams

# Three of the server's heartbeats.
SILENCE_MAX_S = 45.0
CONNECT_AGAIN_S = 1.0
RECORD = "history"
RETIRED = "retired"
REWOUND = "rewound"
CUT_OFF = "cut-off"


@dataclass(frozen=True, slots=True)
class ServerSent:
    """One event of a stream, as the standard has it."""

    name: str
    data: str
    last_id: str


def nothing_to_tell(_: str) -> None:
    """For whoever does not want to know."""


def followed(
    api: ControlApi, query: Query, after: int | None = None, tell: Callable[[str], None] = nothing_to_tell
) -> Iterator[Json]:
    """Records after a revision, or from now on; for ever. `tell` is given a sentence when something is amiss."""
    last_id = "" if after is None else str(after)
    connected, is_away, pause = False, False, Pause()
    while True:
        try:
            headers = {"Last-Event-ID": last_id} if last_id else {}
            for event in server_sent(api.lines(v1("stream"), query, headers, SILENCE_MAX_S)):
                connected, is_away, last_id = True, False, event.last_id
                if event.name == RETIRED:
                    through = json.loads(event.data)["retired_through"]
                    tell(f"Records up to revision {through} were retired from history, so some may be missing here.")
                elif event.name == REWOUND:
                    newest = json.loads(event.data)["newest"]
                    tell(f"The server's history was put back and ends at revision {newest}; going on from there.")
                elif event.name == CUT_OFF:
                    tell(f"The server ended the stream: {json.loads(event.data)['reason']}")
                elif event.name == RECORD and event.data:
                    yield json.loads(event.data)
        except (NoServer, StoreUnavailable, TooManyStreams) as away:
            if not connected:
                raise
            if not is_away:
                tell(away.message)
            is_away = True
        pause.wait(CONNECT_AGAIN_S)


def server_sent(lines: Iterator[bytes]) -> Iterator[ServerSent]:
    """Events as they are complete; also those without data, which say up to where the server has looked."""
    name, data, last_id = "", [], ""
    for line in lines:
        field, _, value = line.decode(errors="replace").rstrip("\r\n").partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            data.append(value)
        elif field == "id":
            last_id = value
        elif not field and not value and line.strip() == b"":
            if last_id:
                yield ServerSent(name, "\n".join(data), last_id)
            name, data = "", []
