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

        assert await one.node.hosts.known() == ()
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
