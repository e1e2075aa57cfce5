"""Who has which address, and which scopes are on which host: the tables against the plain word of all VMs (SPEC §5)."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from notbefore.clock import SystemClock
from notbefore.core.model import Scope, Vm, name_key
from notbefore.ports import Stored
from notbefore.runtime.addresses import Addresses, VmRef
from notbefore.runtime.snapshot import Snapshot

ADDRESSES = tuple(f"10.0.0.{n}" for n in range(6))
HOSTS = ("", "h1", "H1", "h2")
SCOPES = ("one", "Two", "three")
A, B = VmRef("s", "a"), VmRef("s", "b")

names = st.sampled_from(("a", "B", "c", "d"))
vms = st.builds(
    Vm,
    names,
    host=st.sampled_from(HOSTS),
    addresses=st.lists(st.sampled_from(ADDRESSES), max_size=2, unique=True).map(tuple),
)
declared = st.lists(vms, max_size=4, unique_by=lambda vm: name_key(vm.name)).map(tuple)
# A scope and the VMs it has from now on; none at all: it is removed.
changes = st.lists(st.tuples(st.sampled_from(SCOPES), st.none() | declared), max_size=30)


class StoreNobodyAsks:
    """States are applied by hand here."""


def snapshot_after(made):
    snapshot = Snapshot(StoreNobodyAsks(), SystemClock())
    there = {}
    for version, (name, given_vms) in enumerate(made, start=1):
        there[name] = given_vms or ()
        scope = Scope(name=name, vms=there[name], removed=given_vms is None)
        snapshot.apply(Stored(scope, version, version))
    return snapshot, there


@given(changes)
def test_an_address_has_exactly_the_owners_that_claim_it(made):
    """SPEC §5: the source address counts when it is registered to exactly one VM; claimed by two it identifies nobody.

    Whatever was put, moved, taken away and claimed twice before.
    """
    snapshot, there = snapshot_after(made)

    for address in ADDRESSES:
        claims = [
            VmRef(name_key(scope), name_key(vm.name))
            for scope, scope_vms in there.items()
            for vm in scope_vms
            if address in vm.addresses
        ]
        assert sorted(snapshot.owners_of(address)) == sorted(claims)
        assert snapshot.owner_of(address) == (claims[0] if len(claims) == 1 else None)


@given(changes)
def test_a_host_has_exactly_the_scopes_that_name_it(made):
    """A host is known when a VM names it; names compare in any letter case."""
    snapshot, there = snapshot_after(made)

    for host in ("h1", "h2"):
        on_it = Counter(
            name_key(name) for name, scope_vms in there.items() for vm in scope_vms if name_key(vm.host) == host
        )
        assert snapshot.on_hosts.vms_by_scope(host) == on_it
        assert list(snapshot.scopes_on(host.upper())) == sorted(on_it)
        assert snapshot.on_hosts.counts.get(host, 0) == on_it.total()


@given(changes)
def test_what_is_shared_is_equal_to_what_was_given(made):
    """A scope compares by its content, wherever its parts are held."""
    snapshot, there = snapshot_after(made)

    assert {view.scope.name: view.scope.vms for name in there if (view := snapshot.known(name_key(name)))} == there


def test_whoever_releases_an_address_leaves_it_to_the_others():
    """SPEC §5: an address claimed by two VMs identifies nobody, and again one VM when the other is gone."""
    addresses = Addresses()
    assert addresses.claim("10.0.0.1", A) == 1
    assert addresses.claim("10.0.0.1", B) == 2
    assert addresses.owners_of("10.0.0.1") == (A, B)

    addresses.release("10.0.0.1", A)
    assert addresses.owners_of("10.0.0.1") == (B,)
    addresses.release("10.0.0.1", A)
    addresses.release("10.0.0.1", B)

    assert addresses.owners_of("10.0.0.1") == ()
    assert len(addresses) == 0
