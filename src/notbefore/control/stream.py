"""History as it happens: server-sent events, one per record, resumable by Last-Event-ID (DESIGN §5).

Rule 1: a stream reads the store after the last revision it sent. Whoever committed, nothing is lost and nothing comes
twice; a bell only says when to look.
Rule 2: nothing is buffered: a reader that does not take what is sent within a time limit is cut off, and resumes; the
first thing it then hears is why.
Rule 3: so many streams and no more; each ends when its token does, when its reader goes, and when the server stops.
"""

import asyncio
import logging
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import Header, Request
from fastapi.responses import Response
from pydantic import JsonValue

from notbefore.control import examples
from notbefore.control.history import revision_retired_through
from notbefore.control.history_search import found_after
from notbefore.control.openapi import answered_as
from notbefore.control.parameters import REVISION_MAX, OfEvent, OfOperation, OfRollout, OfScope, OfVm, Revision, What
from notbefore.control.parameters import By as DoneBy
from notbefore.control.plane import ControlPlane, Plane
from notbefore.control.roles import By, Caller, Role, needs
from notbefore.control.router import router_under
from notbefore.control.shapes import json_line, shown_record
from notbefore.control.streams import ABORT, Reader, Streams
from notbefore.core.errors import Invalid, StoreUnavailable
from notbefore.core.history import Sought
from notbefore.ports import HistoryQuery

RECORDS_PER_READ = 50
RETRY_MS = 1000
EVENTS = "text/event-stream"
DIGITS: dict[str, JsonValue] = {"pattern": "^[0-9]*$"}
# With the revision that was looked up to: who follows something rare resumes from there.
HEARTBEAT = b": still here\n"

log = logging.getLogger("notbefore.control")
router = router_under("/v1/stream", "history")


@dataclass(frozen=True, slots=True)
class Followed:
    """What one stream shows, and from where."""

    query: HistoryQuery
    sought: Sought
    first: bytes
    reader: Reader


@router.get(
    "",
    summary="History as it happens, as server-sent events",
    response_class=Response,
    responses=answered_as(EVENTS, "Server-sent events, until somebody leaves", examples.STREAM, "too_many_streams"),
    dependencies=[needs(Role.VIEWER)],
)
async def follow_history(
    plane: Plane,
    caller: By,
    request: Request,
    scope: OfScope = None,
    event: OfEvent = None,
    vm: OfVm = None,
    by: DoneBy = None,
    what: What = None,
    operation: OfOperation = None,
    rollout: OfRollout = None,
    after: Revision = None,
    last_event_id: Annotated[
        str | None,
        Header(max_length=20, description="The last id that came; goes before `after`.", json_schema_extra=DIGITS),
    ] = None,
) -> Response:
    """Each event `history` has one record as its data, as /v1/history shows it, and its revision as its id. It begins
    after `Last-Event-ID`, else after `after`, else now. `retired` and `rewound` say that history does not reach back,
    or not forward, to where that is; `cut-off`, why the reader was sent away the last time.
    """
    plane.streams.refuse_when_full()
    wanted = revision_of(last_event_id) if last_event_id else after
    begin, said = await beginning(plane, wanted)
    query = HistoryQuery(scope=scope, scopes=caller.scopes, event_id=event, after=begin, limit=RECORDS_PER_READ)
    # An id without data: who is cut off before the first record resumes from here as well.
    sought = Sought(event, vm, by, what, operation, rollout)
    reader = (caller.token.key, request.client.host if request.client else "", repr((scope, event, sought)))
    first = f"retry: {RETRY_MS}\nid: {begin}\n\n{why_cut_off(plane, reader, wanted)}{said}"
    return EventStream(plane, caller, Followed(query, sought, first.encode(), reader))


def why_cut_off(plane: ControlPlane, reader: Reader, wanted: int | None) -> str:
    """For a reader that resumes; who begins anew has nothing to be told about."""
    reason = plane.streams.reason_for(reader) if wanted is not None else ""
    return f"event: cut-off\ndata: {json_line({'reason': reason})}\n\n" if reason else ""


async def beginning(plane: ControlPlane, wanted: int | None) -> tuple[int, str]:
    """The revision to begin after; and a word to whoever resumes from where history no longer is."""
    records = await plane.node.store.history(HistoryQuery(limit=1, newest=True))
    through = await revision_retired_through(plane)
    newest = max(records[-1].revision if records else 0, through)
    if wanted is None:
        return newest, ""
    if wanted > newest:
        # Revisions only rise, unless the store was put back to what it was before.
        return newest, f'event: rewound\ndata: {{"newest":{newest}}}\n\n'
    if wanted < through:
        return wanted, f'event: retired\ndata: {{"retired_through":{through}}}\n\n'
    return wanted, ""


def revision_of(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) > REVISION_MAX:
        raise Invalid(
            f"Last-Event-ID is a revision, not {text!r}.", "Send the last id that came.", {"header": "Last-Event-ID"}
        )
    return int(text)


class EventStream(Response):
    media_type = EVENTS

    def __init__(self, plane: ControlPlane, caller: Caller, followed: Followed) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._plane = plane
        self._caller = caller
        self._followed = followed

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        with self._plane.streams.joined() as bell:
            sending = asyncio.create_task(self._send_all(send, bell, scope.get("extensions", {}).get(ABORT)))
            leaving = asyncio.create_task(until_gone(receive))
            try:
                await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
                if sending.done():
                    sending.result()
            finally:
                sending.cancel()
                leaving.cancel()
                await asyncio.gather(sending, leaving, return_exceptions=True)

    async def _send_all(self, send: Any, bell: asyncio.Event, abort: Any) -> None:
        try:
            await self._send(send, {"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await self._send(send, body(self._followed.first))
            await self._follow(send, bell)
            await self._send(send, body(b"", more=False))
        except TimeoutError:
            log.warning("a reader of the stream was too slow and is cut off", extra={"token": self._caller.token.name})
            reason = (
                f"You took nothing for {self._plane.streams.limits.send_max_s:g} s; this goes on after your last id."
            )
            self._plane.streams.cut(self._followed.reader, reason)
            if abort:
                abort()

    async def _follow(self, send: Any, bell: asyncio.Event) -> None:
        """Until the server stops, or the token is no longer worth anything."""
        query = self._followed.query
        while not self._plane.streams.closed and self._plane.tokens.is_valid(self._caller.token):
            bell.clear()
            query, events, more = await self._events_after(query)
            for event in events:
                await self._send(send, body(event))
            if not more and not await rung(bell, self._plane.streams.limits.heartbeat_s):
                await self._send(send, body(b"%sid: %d\n\n" % (HEARTBEAT, query.after)))

    async def _events_after(self, query: HistoryQuery) -> tuple[HistoryQuery, list[bytes], bool]:
        """While the store is away there is nothing to send; the bell rings when it is back."""
        try:
            found = await found_after(self._plane.node.store, query, self._followed.sought.fits)
        except StoreUnavailable:
            return query, [], False
        events = [
            f"id: {stored.revision}\nevent: history\ndata: {json_line(shown_record(stored))}\n\n".encode()
            for stored in found.records
        ]
        return replace(query, after=found.next), events, found.more

    async def _send(self, send: Any, message: dict[str, Any]) -> None:
        """The server's own send waits while the reader takes nothing, and this no longer than so."""
        async with asyncio.timeout(self._plane.streams.limits.send_max_s):
            await send(message)


def body(content: bytes, *, more: bool = True) -> dict[str, Any]:
    return {"type": "http.response.body", "body": content, "more_body": more}


async def until_gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def rung(bell: asyncio.Event, within_s: float) -> bool:
    try:
        async with asyncio.timeout(within_s):
            await bell.wait()
    except TimeoutError:
        return False
    return True


__all__ = ["Streams", "router"]
