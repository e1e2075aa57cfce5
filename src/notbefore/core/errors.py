"""Why a request was refused: a code, the facts, and a hint what to do next.

Rule 1: a refusal changes nothing.
Rule 2: one class per code; each edge maps codes to its own statuses, and a client maps them back.
Not here: HTTP statuses (metadata/, control/), exit codes (cli/).
"""

from collections.abc import Mapping
from typing import ClassVar

Facts = Mapping[str, object]


class Refusal(Exception):
    """A request that cannot be granted, in a sentence a person can act on."""

    code: ClassVar[str] = "refused"

    def __init__(self, message: str, hint: str = "", facts: Facts | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.facts: Facts = facts or {}


class Invalid(Refusal):
    code = "invalid"


class UnknownScope(Refusal):
    code = "unknown_scope"

    def __init__(self, scope: str) -> None:
        super().__init__(f"There is no scope '{scope}'.", "`notbefore scopes` lists those there are.", {"scope": scope})


class UnknownVm(Refusal):
    code = "unknown_vm"

    def __init__(self, scope: str, vm: str) -> None:
        super().__init__(
            f"Scope '{scope}' has no VM '{vm}'.",
            f"`notbefore vms --scope {scope}` lists those it has.",
            {"scope": scope, "vm": vm},
        )


class UnknownEvent(Refusal):
    code = "unknown_event"

    def __init__(self, event_id: str, kept_days: int = 0) -> None:
        """`kept_days`: how long ended events can still be shown, where that is not for ever."""
        retired = f" What ended more than {kept_days} days ago was retired from history." if kept_days else ""
        super().__init__(
            f"No current event has the id {event_id!r}.",
            f"`notbefore events` lists the current ones, `notbefore history` the rest.{retired}",
            {"event": event_id},
        )


class WrongStatus(Refusal):
    code = "wrong_status"

    def __init__(self, of: str, status: object, wanted: str, noun: str = "event") -> None:
        super().__init__(
            f"{noun.capitalize()} {of} is {status}, so it cannot be {wanted.partition(':')[0]}.",
            f"`notbefore {noun}s` shows where each {noun} stands.",
            {noun: of, "status": str(status)},
        )


class AlreadyScheduled(Refusal):
    code = "already_scheduled"


class LimitReached(Refusal):
    code = "limit_reached"


class TooEarly(Refusal):
    code = "too_early"


class Hindered(Refusal):
    """What a scope says to an operation that comes at the wrong time."""

    code = "hindered"


class UnknownOperation(Refusal):
    code = "unknown_operation"

    def __init__(self, operation: str) -> None:
        super().__init__(
            f"There is no operation {operation!r}.",
            "`notbefore operations` lists those there are.",
            {"operation": operation},
        )


class UnknownRollout(Refusal):
    code = "unknown_rollout"

    def __init__(self, rollout: str) -> None:
        super().__init__(
            f"There is no rollout {rollout!r}.", "`notbefore rollouts` lists those there are.", {"rollout": rollout}
        )


class LiveEvent(Refusal):
    code = "live_event"


class VmDeallocated(Refusal):
    code = "vm_deallocated"


class NotSpot(Refusal):
    """Only a spot VM may be taken away by the platform."""

    code = "not_spot"


class UnknownHost(Refusal):
    code = "unknown_host"

    def __init__(self, host: str) -> None:
        super().__init__(
            f"There is no host '{host}': it is not declared, and no VM is on it.",
            "`notbefore hosts` lists those there are.",
            {"host": host},
        )


class HostInUse(Refusal):
    code = "host_in_use"


class AddressTaken(Refusal):
    code = "address_taken"


class StaleAttempt(Refusal):
    code = "stale_attempt"

    def __init__(self, event_id: str, vm: str, attempt: int) -> None:
        super().__init__(
            f"Attempt {attempt} on {vm} for event {event_id} is no longer the current one.",
            facts={"event": event_id, "vm": vm, "attempt": attempt},
        )


class ScopeTooLarge(Refusal):
    code = "scope_too_large"


class NotAllowed(Refusal):
    code = "not_allowed"


class Unauthorized(Refusal):
    code = "unauthorized"


class Forbidden(Refusal):
    """The token is good, and not for this."""

    code = "forbidden"


class TooManyAttempts(Refusal):
    code = "too_many_attempts"


class UnknownToken(Refusal):
    code = "unknown_token"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"There is no token '{name}'.", "`notbefore token list` lists those there are.", {"token": name}
        )


class UnknownFault(Refusal):
    code = "unknown_fault"

    def __init__(self, fault: str) -> None:
        super().__init__(
            f"There is no fault '{fault}'.", "`notbefore fault list` lists those there are.", {"fault": fault}
        )


class StoreUnavailable(Refusal):
    """The store cannot be written or read just now; nothing was promised."""

    code = "store_unavailable"


class SinkUnavailable(Refusal):
    """History could not be put where it goes before it is deleted; so nothing was deleted."""

    code = "sink_unavailable"


class TooManyStreams(Refusal):
    code = "too_many_streams"


REFUSALS: Mapping[str, type[Refusal]] = {
    cls.code: cls
    for cls in (
        Invalid,
        UnknownScope,
        UnknownVm,
        UnknownEvent,
        WrongStatus,
        AlreadyScheduled,
        LimitReached,
        TooEarly,
        Hindered,
        UnknownOperation,
        UnknownRollout,
        LiveEvent,
        VmDeallocated,
        NotSpot,
        UnknownHost,
        HostInUse,
        AddressTaken,
        StaleAttempt,
        ScopeTooLarge,
        NotAllowed,
        Unauthorized,
        Forbidden,
        TooManyAttempts,
        UnknownToken,
        UnknownFault,
        StoreUnavailable,
        SinkUnavailable,
        TooManyStreams,
    )
}
