"""Declared hosts as documents of the store: idempotent, safe with two writers, judged by what is there."""

import asyncio

import pytest
from nodes import OPERATOR, FaultyStore, running_node

from notbefore.core.errors import HostInUse, LimitReached, StoreUnavailable, UnknownHost
from notbefore.core.hosts import Host
from notbefore.core.model import Vm
from notbefore.ports import HistoryQuery
from notbefore.runtime.hosts import Hosts
from notbefore.stores.sqlite.store import SqliteStore


async def told(node):
    records = await node.node.store.history(HistoryQuery())
    return [change.what for stored in records for change in stored.record.changes]


@pytest.mark.parametrize("fault", ["conflict", "lost", "unknown but there"])
async def test_a_write_of_whatever_outcome_ends_with_the_host_declared_once(tmp_path, fault):
    """DESIGN §2: a write whose outcome is unknown is re-read and judged, never blindly retried."""
    store = FaultyStore(await SqliteStore.open(tmp_path / "notbefore.db", "one"))
    async with running_node(tmp_path, store=store) as one:
        store.faults = [fault]
        await one.node.hosts.declare(Host("h1"), OPERATOR)

        assert [known.host for known in await one.node.hosts.known()] == [Host("h1")]
        assert await told(one) == ["host declared"]


@pytest.mark.parametrize("fault", ["conflict", "lost", "unknown but there"])
async def test_a_removal_of_whatever_outcome_ends_with_the_host_gone(tmp_path, fault):
    """The same for a removal."""
    store = FaultyStore(await SqliteStore.open(tmp_path / "notbefore.db", "one"))
    async with running_node(tmp_path, store=store) as one:
        await one.node.hosts.declare(Host("h1"), OPERATOR)
        store.faults = [fault]
        await one.node.hosts.remove("H1", OPERATOR)

        assert list(await one.node.hosts.known()) == []
        assert await told(one) == ["host declared", "host removed"]
        with pytest.raises(UnknownHost):
            await one.node.hosts.remove("h1", OPERATOR)


async def test_two_nodes_may_declare_hosts_at_once(tmp_path):
    """DESIGN §2: two servers on one store are safe without locks."""
    async with running_node(tmp_path) as one, running_node(tmp_path) as two:
        await asyncio.gather(
            *(node.node.hosts.declare(Host(f"h{n}"), OPERATOR) for n in range(5) for node in (one, two))
        )

        assert [known.host.name for known in await two.node.hosts.known()] == [f"h{n}" for n in range(5)]
        assert await told(one) == ["host declared"] * 5


async def test_a_store_that_is_away_refuses_and_a_redeploy_goes_by_what_vms_tell(tmp_path):
    """Nothing was promised; the simulated move needs no store."""
    store = FaultyStore(await SqliteStore.open(tmp_path / "notbefore.db", "one"))
    async with running_node(tmp_path, store=store) as one:
        await one.declare(Vm("a", host="h1"), Vm("b", host="h2"))
        await one.node.hosts.declare(Host("h0"), OPERATOR)
        assert await one.node.hosts.another_for(Vm("a", host="h1")) == "h0"
        with pytest.raises(HostInUse):
            await one.node.hosts.remove("h1", OPERATOR)

        store.away = True

        with pytest.raises(StoreUnavailable):
            await one.node.hosts.declare(Host("h3"), OPERATOR)
        assert await one.node.hosts.another_for(Vm("a", host="h1")) == "h2"


async def test_so_many_hosts_may_be_declared_and_no_more(tmp_path):
    """A named limit on everything."""
    async with running_node(tmp_path) as one:
        few = Hosts(one.node.store, one.node.snapshot, one.clock, one.node.ids, hosts_max=1)
        await few.declare(Host("h1"), OPERATOR)
        with pytest.raises(LimitReached):
            await few.declare(Host("h2"), OPERATOR)
        assert await few.declare(Host("H1"), OPERATOR) is False


async def test_a_host_is_listed_as_its_first_vm_spells_it_with_its_vms_by_scope(tmp_path):
    """A host is known when it is declared, or when a VM names it; names compare in any letter case."""
    async with running_node(tmp_path) as one:
        await one.node.hosts.declare(Host("h0"), OPERATOR)
        await one.declare(Vm("a", host="h1"), Vm("b", host="H1"), scope="Two")
        await one.declare(Vm("c", host="H1"), Vm("d", host="h2"), scope="One")

        listed = [(known.host.name, known.declared, known.vms) for known in await one.node.hosts.known()]

        assert listed == [("h0", True, {}), ("H1", False, {"One": 1, "Two": 2}), ("h2", False, {"One": 1})]
        assert (await one.node.hosts.one("h1")).vms == {"One": ["c"], "Two": ["a", "b"]}


async def test_a_redeploy_goes_to_the_emptiest_host_of_all_as_things_are_now(tmp_path):
    """SPEC §2.3: Redeploy moves to another host."""
    async with running_node(tmp_path) as one:
        await one.declare(Vm("a", host="h1"), Vm("b", host="h2"), Vm("c", host="h2"), Vm("d", host="h3"))
        assert await one.node.hosts.another_for(Vm("a", host="h1")) == "h3"

        await one.declare(Vm("a", host="h1"), Vm("b", host="h3"), Vm("c", host="h2"), Vm("d", host="h3"))

        assert await one.node.hosts.another_for(Vm("a", host="h1")) == "h2"
        assert await one.node.hosts.another_for(Vm("c", host="h2")) == "h1"
