"""Every request to the control API: counted, and logged when the level says so.

Rule 1: who, method, route, status, duration. The route is the template; no path, query, body or token is ever logged.
Rule 2: reading is told at debug, changing and being refused at info, a server that cannot at warning. Wrong tokens
are told at debug: who tries them must not fill the log (auth has a line of its own).
Rule 3: counted when the answer begins, logged with its last byte (a stream may last for hours between) or when its
reader has gone; so whoever has an answer finds it in the log.
"""

import logging
from collections.abc import MutableMapping
from typing import Any

from notbefore.control.metrics.scrape import ControlRequests
from notbefore.event_loop import give_way
from notbefore.ports import Clock

METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
READING = frozenset(("GET", "HEAD", "OPTIONS"))
OPEN_PAGES = frozenset(("/docs", "/openapi.json"))
OTHER = "other"
# Who tries tokens: 401, and 429 when it is too often.
TRYING = (401, 429)
REFUSED_FROM = 400
BROKEN_FROM = 500
CODE = "refusal_code"

log = logging.getLogger("notbefore.control.requests")

AsgiScope = MutableMapping[str, Any]


def note_refusal(scope: AsgiScope, code: str) -> None:
    """Said where an error becomes an answer; read here when the request has ended."""
    scope.setdefault("state", {})[CODE] = code


class RequestsSeen:
    def __init__(self, app: Any, seen: ControlRequests, clock: Clock) -> None:
        self._app = app
        self._seen = seen
        self._clock = clock

    async def __call__(self, scope: AsgiScope, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began_s = self._clock.steady_s()
        untold: list[int] = []

        def tell_once() -> None:
            if untold:
                tell(scope, untold.pop(), self._clock.steady_s() - began_s)

        async def noted(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                give_way()
                untold.append(message["status"])
                self._count(scope, message["status"])
            elif message["type"] == "http.response.body" and not message.get("more_body"):
                tell_once()
                give_way()
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            tell_once()

    def _count(self, scope: AsgiScope, status: int) -> None:
        self._seen.count(method_of(scope), route_of(scope), status)
        if code := scope.get("state", {}).get(CODE):
            self._seen.refusals[code] += 1


def method_of(scope: AsgiScope) -> str:
    return scope["method"] if scope["method"] in METHODS else OTHER


def route_of(scope: AsgiScope) -> str:
    """The template of the route that matched; never the path, which holds names."""
    if template := getattr(scope.get("route"), "path", None):
        return str(template)
    return scope["path"] if scope["path"] in OPEN_PAGES else OTHER


def level_of(method: str, status: int) -> int:
    if status >= BROKEN_FROM:
        return logging.WARNING
    if method in READING or status in TRYING:
        return logging.DEBUG
    return logging.INFO


def tell(scope: AsgiScope, status: int, seconds: float) -> None:
    state = scope.get("state", {})
    caller = state.get("caller")
    fields = {
        "by": caller.actor.name if caller else "nobody",
        "method": method_of(scope),
        "route": route_of(scope),
        "status": status,
        "duration_ms": round(seconds * 1000, 1),
    }
    if code := state.get(CODE):
        fields["code"] = code
    word = "refused" if status >= REFUSED_FROM else "answered"
    log.log(level_of(scope["method"], status), "control request %s", word, extra=fields)
