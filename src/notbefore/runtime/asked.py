"""What the VMs' questions tell: when each asked last, until a commit takes it along.

Not here: when to commit (hearing.py), what listening means (core/listening.py).
"""

from collections.abc import Callable, Mapping

from notbefore.core.model import Scope, name_key


class Asked:
    def __init__(self) -> None:
        self._unsaved: dict[str, dict[str, int]] = {}
        # Of a scope that was heard from already: a dictionary's look-up, for whoever is asked all the time.
        self.of_scope: Callable[[str], dict[str, int] | None] = self._unsaved.get

    def note(self, scope_key: str, vm_key: str, at_ms: int) -> None:
        of_scope = self._unsaved.get(scope_key)
        if of_scope is None:
            of_scope = self._unsaved[scope_key] = {}
        of_scope[vm_key] = at_ms

    def unsaved(self, scope_key: str) -> Mapping[str, int]:
        return self._unsaved.get(scope_key, {})

    def forget_saved(self, scope: Scope) -> None:
        """Drop what the committed scope knows, or can never know because the VM is gone."""
        unsaved = self._unsaved.pop(scope.key, None)
        if unsaved:
            known = {name_key(vm.name) for vm in scope.vms}
            newer = {vm: at for vm, at in unsaved.items() if vm in known and at > scope.asked_ms.get(vm, 0)}
            if newer:
                self._unsaved[scope.key] = newer
