"""Who has which address: the table that tells VMs from each other, for a million of them in one dictionary.

Rule 1: a VM holds an address by claiming it and until it releases it; releasing what it does not hold is nothing.
Rule 2: mostly one VM claims an address, and then the entry is that VM and no list of one: size is what counts here.
Rule 3: an address that several claim identifies nobody (SPEC §5), whoever of them came first.
Called by: snapshot.py.
"""

from typing import NamedTuple


class VmRef(NamedTuple):
    """Which VM: its scope's key and its own."""

    scope: str
    vm: str


class Addresses:
    def __init__(self) -> None:
        self._claims: dict[str, VmRef | tuple[VmRef, ...]] = {}

    def __len__(self) -> int:
        return len(self._claims)

    def owner_of(self, address: str) -> VmRef | None:
        """The one VM that it identifies: a dictionary's look-up and no more, because every question begins with it."""
        found = self._claims.get(address)
        return found if isinstance(found, VmRef) else None

    def owners_of(self, address: str) -> tuple[VmRef, ...]:
        found = self._claims.get(address)
        if found is None:
            return ()
        return (found,) if isinstance(found, VmRef) else found

    def claim(self, address: str, vm: VmRef) -> int:
        """How many VMs claim it now."""
        before = self._claims.setdefault(address, vm)
        if before is vm:
            return 1
        claimed = (*self.owners_of(address), vm)
        self._claims[address] = claimed
        return len(claimed)

    def release(self, address: str, vm: VmRef) -> None:
        left = tuple(owner for owner in self.owners_of(address) if owner != vm)
        if not left:
            self._claims.pop(address, None)
        else:
            self._claims[address] = left[0] if len(left) == 1 else left
