"""The beginning of host maintenance: what is asked for has to leave every scope its notice (SPEC §3.1, §3.4)."""

from collections.abc import Mapping

from notbefore.core.errors import Invalid, LimitReached, TooEarly
from notbefore.core.kinds import VmState
from notbefore.core.model import Scope, is_on, name_key
from notbefore.core.operation import Operation, ScopedVm, Waiting, in_vms
from notbefore.core.operation_steps import Stepped, common_not_before_ms, told
from notbefore.core.times import Moment, iso, rounded_up_to_second
from notbefore.core.values import replace

VMS_PER_OPERATION_MAX = 2000


def maintenance_begun(wished: Operation, scopes: Mapping[str, Scope], now: Moment) -> Stepped:
    stepped = begun(wished, scopes)
    if wished.not_before_ms is None:
        return stepped
    asked_ms = rounded_up_to_second(wished.not_before_ms)
    concerned = {name_key(one.of.scope) for one in stepped.operation.waiting}
    earliest_ms = common_not_before_ms(wished.type, [scopes[key] for key in concerned], now)
    if asked_ms < earliest_ms:
        raise TooEarly(
            f"A {wished.type} of host '{wished.host}' may not start before {iso(earliest_ms)}: "
            "the scopes with VMs on it get that much notice.",
            "Ask for that time or a later one, or for none.",
            {"earliest": iso(earliest_ms), "asked": iso(asked_ms)},
        )
    return replace(stepped, operation=replace(stepped.operation, not_before_ms=asked_ms))


def begun(wished: Operation, scopes: Mapping[str, Scope]) -> Stepped:
    """Host maintenance over every running VM that is on the host now."""
    waiting = tuple(
        Waiting(ScopedVm(scope.name, vm.name))
        for _, scope in sorted(scopes.items())
        for vm in scope.vms
        if is_on(vm, wished.host) and vm.state is VmState.RUNNING
    )
    if not waiting:
        raise Invalid(
            f"There is no running VM on host '{wished.host}' to maintain.",
            "`notbefore hosts` shows what is where.",
            {"host": wished.host},
        )
    if len(waiting) > VMS_PER_OPERATION_MAX:
        raise LimitReached(
            f"An operation takes at most {VMS_PER_OPERATION_MAX} VMs, and {len(waiting)} are on host '{wished.host}'.",
            "Maintain its scopes one by one.",
            {"host": wished.host, "limit": VMS_PER_OPERATION_MAX},
        )
    operation = replace(wished, waiting=waiting)
    why = f"{wished.type} of host {wished.host} asked for by {wished.made_by}: {in_vms(len(waiting))}"
    return Stepped(operation, (replace(told("operation begun", why, operation), by=wished.made_by),))
