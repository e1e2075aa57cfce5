"""The fleet as a rollout sees it: scopes, the operations of its waves, and how long impacts usually take."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from notbefore.core.expected import Expected
from notbefore.core.kinds import VmState
from notbefore.core.model import Scope, is_on, name_key
from notbefore.core.operation import Operation, ScopedVm
from notbefore.core.rollout import Over


@dataclass(frozen=True)
class Fleet:
    """What is seen: scopes by key, operations of this rollout by id, and how long impacts are expected to take."""

    scopes: Mapping[str, Scope]
    operations: Mapping[str, Operation]
    expected: Expected
    # The scopes that have VMs on a host, by key, when somebody keeps that; else all of them are looked through.
    scopes_on: Callable[[str], Mapping[str, Scope]] | None = None

    def vms_of(self, name: str, over: Over) -> tuple[ScopedVm, ...]:
        """The running VMs of a host, or of a scope."""
        if over is Over.HOSTS:
            return tuple(self._on_host(name) if self.scopes_on else self._by_host.get(name_key(name), ()))
        scope = self.scopes.get(name_key(name))
        return tuple(running_vms(scope)) if scope else ()

    def is_there(self, of: ScopedVm, name: str, over: Over) -> bool:
        """Whether it still runs, and where it was."""
        scope = self.scopes.get(name_key(of.scope))
        vm = scope.vm(of.vm) if scope else None
        return vm is not None and vm.state is VmState.RUNNING and (over is Over.SCOPES or is_on(vm, name))

    def _on_host(self, name: str) -> Iterable[ScopedVm]:
        around = self.scopes_on(name) if self.scopes_on else self.scopes
        for _, scope in sorted(around.items()):
            for vm in scope.vms:
                if is_on(vm, name) and vm.state is VmState.RUNNING:
                    yield ScopedVm(scope.name, vm.name)

    @cached_property
    def _by_host(self) -> Mapping[str, list[ScopedVm]]:
        found: dict[str, list[ScopedVm]] = {}
        for scope in sorted(self.scopes.values(), key=lambda one: one.key):
            for vm in scope.vms:
                if vm.host and vm.state is VmState.RUNNING:
                    found.setdefault(name_key(vm.host), []).append(ScopedVm(scope.name, vm.name))
        return found


def running_vms(scope: Scope) -> Iterable[ScopedVm]:
    return (ScopedVm(scope.name, vm.name) for vm in scope.vms if vm.state is VmState.RUNNING)
