"""Who has which address: the table that tells VMs from each other, for a million of them in one dictionary.

Rule 1: a VM holds an address by claiming it and until it releases it; releasing what it does not hold is nothing.
Rule 2: mostly one VM claims an address, and is its owner: one entry, and no list of one. Size is what counts here.
Rule 3: an address that several claim identifies nobody (SPEC §5), whoever of them came first.
Called by: snapshot.py.
"""

from collections.abc import Callable
from typing import NamedTuple


class VmRef(NamedTuple):
    """Which VM: its scope's key and its own."""

    scope: str
    vm: str


class Addresses:
    def __init__(self) -> None:
        self._owner: dict[str, VmRef] = {}
        self._contested: dict[str, tuple[VmRef, ...]] = {}
        # The one VM that an address identifies: a dictionary's look-up, because every question begins with it.
        self.owner_of: Callable[[str], VmRef | None] = self._owner.get

    def __len__(self) -> int:
        return len(self._owner) + len(self._contested)

    def owners_of(self, address: str) -> tuple[VmRef, ...]:
        owner = self._owner.get(address)
        return self._contested.get(address, ()) if owner is None else (owner,)

    def claim(self, address: str, vm: VmRef) -> int:
        """How many VMs claim it now."""
        if address not in self._contested and self._owner.setdefault(address, vm) is vm:
            return 1
        claimed = (*self.owners_of(address), vm)
        self._set(address, claimed)
        return len(claimed)

    def release(self, address: str, vm: VmRef) -> None:
        self._set(address, tuple(owner for owner in self.owners_of(address) if owner != vm))

    def _set(self, address: str, claims: tuple[VmRef, ...]) -> None:
        self._owner.pop(address, None)
        self._contested.pop(address, None)
        if len(claims) == 1:
            self._owner[address] = claims[0]
        elif claims:
            self._contested[address] = claims
