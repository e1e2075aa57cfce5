"""Stores of scopes that have one VM and one event each, scheduled yesterday: what there is to approve, or falls due.

Rule 1: made as the product makes them, each scope by its own requests (fleet.py writes them).
Rule 2: each VM has an address of its own, spread over 127.0.0.0/8.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

from measuring.fleet import OPERATOR, address_of, stored

from notbefore.core.kinds import Kind, Listening
from notbefore.core.model import ScopeSettings, Vm
from notbefore.core.requests import DeclareScope, OperateVm, Request
from notbefore.core.times import HOUR_MS

VM = "vm-0"
A_DAY_MS = 24 * HOUR_MS


def make(path: Path, count: int, now_ms: int, not_before_ms: Callable[[int], int], duration_s: int) -> None:
    """So many scopes; the event of the scope at a place may start at `not_before_ms(place)`."""
    stored(
        path, count, (one_scope(place, not_before_ms(place), duration_s) for place in range(count)), now_ms - A_DAY_MS
    )


def one_scope(place: int, not_before_ms: int, duration_s: int) -> Iterator[Request]:
    name = scope_name(place)
    yield DeclareScope(
        scope=name,
        request_id=str(UUID(int=place * 2 + 1)),
        by=OPERATOR,
        kind=Kind.STANDALONE,
        settings=ScopeSettings(listening=Listening.ALWAYS),
        vms=(Vm(VM, addresses=(address_of(place),)),),
    )
    yield OperateVm(
        scope=name,
        request_id=restart_id(place),
        by=OPERATOR,
        operation="restart",
        vm=VM,
        not_before_ms=not_before_ms,
        duration_s=duration_s,
    )


def restart_id(place: int) -> str:
    return str(UUID(int=place * 2 + 2))


def event_id(place: int) -> str:
    """Named after the request that made it (decision 2)."""
    return OperateVm(
        scope=scope_name(place), request_id=restart_id(place), by=OPERATOR, operation="restart", vm=VM
    ).nth_event_id(0)


def scope_name(place: int) -> str:
    return f"single-{place:06d}"
