"""Refusals as HTTP: one table from code to status, one shape for every error (DESIGN §5)."""

import json
import logging
from collections.abc import Mapping
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.routing import compile_path

from notbefore.control.metrics.requests_seen import note_refusal
from notbefore.core.errors import Invalid, Refusal

STATUS_OF_CODE: Mapping[str, int] = {
    "invalid": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "too_many_attempts": 429,
    "not_allowed": 409,
    "unknown_scope": 404,
    "unknown_vm": 404,
    "unknown_event": 404,
    "unknown_token": 404,
    "unknown_fault": 404,
    "not_found": 404,
    "method_not_allowed": 405,
    "wrong_status": 409,
    "already_scheduled": 409,
    "limit_reached": 409,
    "too_early": 409,
    "hindered": 409,
    "unknown_operation": 404,
    "unknown_rollout": 404,
    "live_event": 409,
    "vm_deallocated": 409,
    "not_spot": 409,
    "unknown_host": 404,
    "host_in_use": 409,
    "address_taken": 409,
    "stale_attempt": 409,
    "scope_too_large": 413,
    "body_too_large": 413,
    "internal": 500,
    "store_unavailable": 503,
    "sink_unavailable": 503,
    "too_many_streams": 503,
}
CODE_OF_STATUS = {404: "not_found", 405: "method_not_allowed", 413: "body_too_large"}

log = logging.getLogger("notbefore.control")


def error_response(status: int, code: str, message: str, hint: str = "", facts: object = None) -> Response:
    body = {"error": {"code": code, "message": message, "hint": hint, "facts": facts or {}}}
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}  # noqa: PLR2004  as RFC 9110 asks
    # In ASCII: what was wrong may be a string that no encoding takes.
    return Response(json.dumps(body), status, headers, "application/json")


async def refused(request: Request, refusal: Exception) -> Response:
    assert isinstance(refusal, Refusal)
    note_refusal(request.scope, refusal.code)
    status = STATUS_OF_CODE.get(refusal.code, 400)
    return error_response(status, refusal.code, refusal.message, refusal.hint, dict(refusal.facts))


async def malformed(request: Request, wrong: Exception) -> Response:
    assert isinstance(wrong, RequestValidationError)
    found = wrong.errors()[0]
    field = ".".join(str(part) for part in found["loc"][1:])
    if found["type"] == "extra_forbidden":
        message = f"Unknown field '{field}'."
    elif found["type"] == "json_invalid":
        message = "The body is not JSON."
    else:
        message = f"{field or 'body'}: {found['msg']}."
    return await refused(request, Invalid(message, "GET /docs shows what each request takes.", {"field": field}))


async def http_error(request: Request, wrong: Exception) -> Response:
    assert isinstance(wrong, HTTPException)
    code = CODE_OF_STATUS.get(wrong.status_code, "invalid")
    note_refusal(request.scope, code)
    response = error_response(wrong.status_code, code, f"{wrong.detail}.", "GET /docs lists what there is.")
    response.headers.update(wrong.headers or {})
    if wrong.status_code == HTTPStatus.METHOD_NOT_ALLOWED and (allowed := methods_of_path(request)):
        response.headers["Allow"] = ", ".join(allowed)
    return response


def methods_of_path(request: Request) -> list[str]:
    """All that may be asked of this path: the router itself names those of the first route that matches."""
    paths = request.app.openapi()["paths"]
    matching = [methods for path, methods in paths.items() if compile_path(path)[0].match(request.url.path)]
    return sorted({method.upper() for methods in matching for method in methods})


async def broke_down(request: Request, error: Exception) -> Response:
    if isinstance(error, RecursionError):
        return await refused(request, Invalid("The body is nested too deeply."))
    note_refusal(request.scope, "internal")
    log.error("the control API broke down", extra={"path": request.url.path}, exc_info=error)
    return error_response(500, "internal", "Something went wrong inside notbefore; the log says what.")


def install(app: FastAPI) -> None:
    app.add_exception_handler(Refusal, refused)
    app.add_exception_handler(RequestValidationError, malformed)
    app.add_exception_handler(HTTPException, http_error)
    app.add_exception_handler(RecursionError, broke_down)
    app.add_exception_handler(Exception, broke_down)
