"""The control API as one app: routes, the token before them, one shape of error, a limit on bodies."""

from typing import Any

from fastapi import Depends, FastAPI, Response
from fastapi.responses import JSONResponse

from notbefore import __version__
from notbefore.control import clock, errors, events, history, scopes
from notbefore.control.auth import require_token
from notbefore.control.plane import ControlPlane, Plane
from notbefore.sockets import QuietServer, config_for
from notbefore.tls import Certificate

BODY_MAX_BYTES = 1024 * 1024


def control_app(plane: ControlPlane) -> FastAPI:
    app = FastAPI(title="notbefore control API", version=__version__, redoc_url=None, redirect_slashes=False)
    app.state.plane = plane
    errors.install(app)
    for routes in (scopes.router, events.router, history.router, clock.router):
        app.include_router(routes, dependencies=[Depends(require_token)])
    app.get("/healthz", tags=["health"], summary="The process answers")(healthz)
    app.get("/readyz", tags=["health"], summary="Every listener is bound and the snapshot is loaded")(readyz)
    return app


async def healthz() -> dict[str, str]:
    return {"status": "ok"}


async def readyz(plane: Plane) -> Response:
    """Also says when the store is away: GETs are still served from memory then."""
    if not plane.is_ready():
        return JSONResponse({"status": "starting"}, 503)
    if plane.node.snapshot.store_away:
        return JSONResponse({"status": "store away"}, 503)
    return JSONResponse({"status": "ready"})


class BodyLimit:
    """Cuts a body off before anything reads it whole."""

    def __init__(self, app: FastAPI) -> None:
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
            await errors.error_response(413, "body_too_large", sentence)(scope, receive, send)
            return
        parts = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def replay() -> Any:
            return parts.pop() if parts else await receive()

        await self._app(scope, replay, send)


def control_server(plane: ControlPlane, certificate: Certificate | None = None) -> QuietServer:
    return QuietServer(config_for(BodyLimit(control_app(plane)), certificate=certificate))
