"""The control API as one app: routes, the token before them, one shape of error, a limit on bodies."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from fastapi import FastAPI, Response
from fastapi.responses import JSONResponse
from starlette.routing import BaseRoute

from notbefore import __version__
from notbefore.control import (
    clock,
    errors,
    events,
    explain,
    faults,
    history,
    hosts,
    openapi,
    operations,
    rollouts,
    scopes,
    stream,
    tokens,
)
from notbefore.control.auth import Gate
from notbefore.control.in_step import InStep
from notbefore.control.metrics import routes as metrics
from notbefore.control.metrics.requests_seen import RequestsSeen, note_refusal
from notbefore.control.plane import ControlPlane, Plane
from notbefore.control.protocol import ControlProtocol
from notbefore.control.router import name_of, open_router
from notbefore.event_loop import give_way
from notbefore.sockets import QuietServer, config_for
from notbefore.tls import Certificate

BODY_MAX_BYTES = 1024 * 1024


def control_app(plane: ControlPlane) -> FastAPI:
    app = openapi.ControlApi(
        title="notbefore control API",
        description=openapi.ABOUT,
        version=__version__,
        openapi_tags=openapi.TAGS,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=name_of,
    )
    app.state.plane = plane
    errors.install(app)
    # From the inside out: who asks is known before a body is read.
    app.add_middleware(BodyLimit)
    app.add_middleware(InStep, plane=plane)
    app.add_middleware(Gate, plane=plane)
    app.router.routes.extend(routes())
    return app


@cache
def routes() -> Sequence[BaseRoute]:
    """Made once in a process, since FastAPI looks at every route anew for each app; nothing of a server is in them."""
    parts = (scopes, hosts, operations, rollouts, events, explain, history, stream, clock, faults, tokens, metrics)
    return tuple(route for router in (*(part.router for part in parts), health) for route in router.routes)


health = open_router("health")


@health.get("/healthz", summary="The process answers", responses=openapi.healthy({200: "ok"}))
async def healthz() -> dict[str, str]:
    return {"status": "ok"}


@health.get(
    "/readyz",
    summary="Every listener is bound and the snapshot is loaded",
    responses=openapi.healthy({200: "ready", 503: "starting"}),
)
async def readyz(plane: Plane) -> Response:
    """Also says when the store is away: GETs are still served from memory then."""
    if not plane.is_ready():
        return JSONResponse({"status": "starting"}, 503)
    if plane.node.snapshot.store_away:
        return JSONResponse({"status": "store away"}, 503)
    return JSONResponse({"status": "ready"})


class BodyLimit:
    """Cuts a body off before anything reads it whole."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = bytearray()
        more = True
        while more and len(body) <= BODY_MAX_BYTES:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        if len(body) > BODY_MAX_BYTES:
            sentence = f"The body may have at most {BODY_MAX_BYTES} bytes."
            note_refusal(scope, "body_too_large")
            await errors.error_response(413, "body_too_large", sentence)(scope, receive, send)
            return
        parts = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def replay() -> Any:
            return parts.pop() if parts else await receive()

        give_way()
        await self._app(scope, replay, send)


def control_server(plane: ControlPlane, certificate: Certificate | None = None) -> QuietServer:
    seen = RequestsSeen(control_app(plane), plane.metrics.control, plane.node.clock)
    return QuietServer(config_for(seen, ControlProtocol, certificate))
