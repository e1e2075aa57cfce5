"""What a route needs of whoever asks: a role, and, of a token limited to scopes, that the thing is in one of them.

Rule 1: every route says `dependencies=[needs(Role.…)]`; a test walks the app and finds those that do not.
Rule 2: for a limited token the things of other scopes do not exist: the answer is the same, byte for byte, whether
they do. It is given here, before the route looks at anything.
Rule 3: what belongs to no scope is `fleet_wide`, and closed to limited tokens.
"""

from dataclasses import dataclass
from typing import Annotated, Any, cast

from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer

from notbefore.control.plane import ControlPlane, plane_of
from notbefore.core.errors import Forbidden, Unauthorized, UnknownEvent, UnknownScope
from notbefore.core.model import Actor, ActorKind, name_key
from notbefore.core.tokens import Role, Token
from notbefore.event_loop import give_way
from notbefore.ports import HistoryQuery

__all__ = ["FLEET_WIDE", "By", "Caller", "Needs", "Role", "caller_of", "needs"]

FLEET_WIDE = "fleet-wide"
# For OpenAPI alone: the gate has looked already.
bearer = HTTPBearer(
    scheme_name="bearer",
    auto_error=False,
    description="A token of `notbefore token create`, or the server's admin token. Beside it stands the role it takes.",
)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, by which token."""

    token: Token

    @property
    def actor(self) -> Actor:
        return Actor(ActorKind.OPERATOR, self.token.name)

    @property
    def scopes(self) -> tuple[str, ...] | None:
        """The scopes it is limited to, if it is; for a HistoryQuery as it is."""
        return self.token.scopes

    def sees(self, scope: str) -> bool:
        """Whether a scope of this name may be shown to it. The empty name stands for no scope."""
        return self.token.scopes is None or name_key(scope) in map(name_key, self.token.scopes)


def caller_of(request: Request) -> Caller:
    caller = getattr(request.state, "caller", None)
    if caller is None:
        raise Unauthorized("The control API needs a valid token.")
    return cast(Caller, caller)


By = Annotated[Caller, Depends(caller_of)]


@dataclass(frozen=True, slots=True)
class Needs:
    """The dependency itself; the path's `scope` and `event_id` say what is asked for."""

    role: Role
    fleet_wide: bool = False

    async def __call__(self, request: Request, _: Annotated[Any, Depends(bearer)]) -> None:
        give_way()
        caller = caller_of(request)
        self._refuse_role(caller)
        if caller.scopes is None:
            return
        if self.fleet_wide:
            raise limited(caller, "This concerns the whole fleet")
        plane = await plane_of(request)
        if (scope := request.path_params.get("scope")) is not None and not caller.sees(scope):
            # A scope that is not there is declared by PUT; so for it "there is none" would be no answer.
            raise limited(caller, "This scope is not for it") if request.method == "PUT" else UnknownScope(scope)
        if (event_id := request.path_params.get("event_id")) is not None and not await sees_event(
            plane, caller, event_id
        ):
            raise UnknownEvent(event_id)

    def _refuse_role(self, caller: Caller) -> None:
        if not caller.token.role.includes(self.role):
            raise Forbidden(
                f"This needs a token with role {self.role}; '{caller.token.name}' is a token for {caller.token.role}s.",
                f"Ask an admin for one: `notbefore token create NAME --role {self.role}`.",
                {"needed": self.role, "role": caller.token.role},
            )


def needs(role: Role, *, fleet_wide: bool = False) -> Any:
    """The role stands in the OpenAPI document as what the bearer's token has to have."""
    return Security(Needs(role, fleet_wide), scopes=[role.value, *([FLEET_WIDE] if fleet_wide else [])])


def limited(caller: Caller, why: str) -> Forbidden:
    names = ", ".join(caller.scopes or ())
    return Forbidden(
        f"{why}, and the token '{caller.token.name}' is limited to {names}.",
        "Ask somebody with a token for the whole fleet.",
        {"scopes": list(caller.scopes or ())},
    )


async def sees_event(plane: ControlPlane, caller: Caller, event_id: str) -> bool:
    """Whether it is an event, live or ended, of a scope that the caller sees."""
    found = plane.node.snapshot.event(event_id)
    if found and caller.sees(found[0].name):
        return True
    # Also when it is live elsewhere: what is hidden and what is not there take the same way.
    query = HistoryQuery(event_id=event_id, scopes=caller.scopes, newest=True, limit=1)
    return bool(await plane.node.store.history(query))
