"""Tokens: list, create, revoke. For admins of the whole fleet.

Rule 1: a secret leaves the server once, in the answer that creates its token, and nothing keeps that answer.
"""

from typing import Annotated, Any

from fastapi import Path, Response, status
from pydantic import Field, JsonValue, StrictInt, StrictStr

from notbefore.control import answers, examples
from notbefore.control.auth import fresh_secret
from notbefore.control.bodies import Body, Name, one_of, word
from notbefore.control.openapi import answered
from notbefore.control.plane import ControlPlane, Operator, Plane
from notbefore.control.roles import Role, needs
from notbefore.control.router import router_under
from notbefore.control.shapes import Json, time_or_null
from notbefore.core.declare import check_name
from notbefore.core.errors import Invalid
from notbefore.core.model import name_key
from notbefore.core.times import SECOND_MS
from notbefore.core.tokens import LIFE_MAX_S, SCOPES_MAX, SECRET_PREFIX, Token, check_token_name, digest_of

TOKEN_NAME: dict[str, JsonValue] = {"pattern": "^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$"}
TokenName = Annotated[str, Path(description="A token's name, in any letter case; never its secret.", examples=["ci"])]

router = router_under("/v1/tokens", "tokens", needs(Role.ADMIN, fleet_wide=True))


class TokenBody(Body, json_schema_extra={"examples": [examples.TOKEN_BODY]}):
    name: Annotated[
        StrictStr, Field(description="Stands in history beside what is done.", json_schema_extra=TOKEN_NAME)
    ]
    role: Annotated[StrictStr, one_of(Role, "What it may do.")]
    scopes: Annotated[list[Name], Field(min_length=1, max_length=SCOPES_MAX)] | None = Field(
        default=None, description="Limited to these, which need not be there yet; null is the whole fleet."
    )
    expires_in_s: Annotated[StrictInt, Field(ge=1, le=LIFE_MAX_S)] | None = Field(
        default=None, description="By real time; null is without end."
    )


@router.get(
    "",
    summary="Every token but the admin tokens of the servers; never a secret",
    responses=answered({200: "The tokens, by name"}, answers.Tokens, examples.TOKENS),
)
async def list_tokens(plane: Plane) -> dict[str, list[Json]]:
    real_ms = plane.tokens.real_ms()
    return {"tokens": [shown_token(token, real_ms) for token in plane.tokens.all()]}


@router.post(
    "",
    summary="Create a token; the answer alone has its secret",
    status_code=status.HTTP_201_CREATED,
    responses=answered(
        {201: "The token, with its secret"}, answers.NewToken, examples.NEW_TOKEN, "not_allowed", "limit_reached"
    ),
)
async def create_token(body: TokenBody, plane: Plane, by: Operator, response: Response) -> dict[str, Any]:
    refuse_secret(plane, body.name)
    check_token_name(body.name)
    secret, now_ms = fresh_secret(), plane.tokens.real_ms()
    token = Token(
        name=body.name,
        role=word(Role, body.role, "role"),
        digest=digest_of(secret),
        created_at_ms=now_ms,
        created_by=by.name,
        scopes=scopes_in(body.scopes),
        expires_at_ms=None if body.expires_in_s is None else now_ms + body.expires_in_s * SECOND_MS,
    )
    await plane.tokens.create(token, by)
    response.headers["Cache-Control"] = "no-store"
    return {**shown_token(token, now_ms), "secret": secret}


@router.delete(
    "/{name}",
    summary="Revoke a token: refused from now on",
    status_code=status.HTTP_204_NO_CONTENT,
    responses=answered({204: "It opens nothing any more"}, None, None, "unknown_token"),
)
async def revoke_token(name: TokenName, plane: Plane, by: Operator) -> None:
    refuse_secret(plane, name)
    await plane.tokens.revoke(name, by)


def refuse_secret(plane: ControlPlane, name: str) -> None:
    """A secret in a name's place is not said back, told to history or logged."""
    if name.startswith(SECRET_PREFIX) or plane.tokens.match(name):
        raise Invalid(
            "That is a token's secret, or looks like one; a token is named by its name.",
            "`notbefore token list` shows the names. Revoke a token whose secret was seen by others.",
            {"field": "name"},
        )


def scopes_in(given: list[str] | None) -> tuple[str, ...] | None:
    """Each once. They need not exist yet: a token may wait for its scope."""
    if given is None:
        return None
    for name in given:
        check_name("scope", name)
    return tuple({name_key(name): name for name in reversed(given)}.values())[::-1]


def shown_token(token: Token, real_ms: int) -> Json:
    return {
        "name": token.name,
        "role": token.role,
        "scopes": None if token.scopes is None else list(token.scopes),
        "created_at": time_or_null(token.created_at_ms),
        "created_by": token.created_by,
        "expires_at": time_or_null(token.expires_at_ms),
        "expired": token.is_expired(real_ms),
    }
