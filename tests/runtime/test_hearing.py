"""Hearing at size (SPEC §2.5): one commit enables a scope, however many ask first; and hourly saves are spread."""

import asyncio

from nodes import MachineClock, running_node

from notbefore.core.kinds import Listening
from notbefore.core.times import HOUR_MS
from notbefore.ports import HistoryQuery
from notbefore.runtime.addresses import VmRef
from notbefore.runtime.hearing import SAVES_PER_S

NOON_MS = 1_800_000_000_000


class StandingClock(MachineClock):
    """Real time too stands still but for the test."""

    real_now_s = 1000.0

    def steady_s(self):
        return self.real_now_s


async def told_of_enabling(node):
    records = await node.node.store.history(HistoryQuery(limit=1000))
    return [change.what for stored in records for change in stored.record.changes if change.what == "enabled"]


async def test_of_many_who_ask_first_at_once_one_is_committed(tmp_path):
    """SPEC §2.5: the first *asked* of a scope is committed before its answer; the others know of it when they are heard."""
    async with running_node(tmp_path, clock=StandingClock("boot", NOON_MS)) as one:
        vms = [f"vm-{n}" for n in range(20)]
        await one.declare(*vms, listening=Listening.AUTO)
        declared = one.node.snapshot.view("s")

        await asyncio.gather(*(one.node.hearing.enable(VmRef("s", vm), declared) for vm in vms))

        enabled = one.node.snapshot.view("s")
        assert enabled.version == declared.version + 1
        assert await told_of_enabling(one) == ["enabled"]
        assert set(enabled.scope.asked_ms) | set(one.node.asked.unsaved("s")) == set(vms)


async def test_so_many_scopes_a_second_begin_to_save_and_the_others_when_they_ask_again(tmp_path):
    """A fleet that began to ask in the same minute is not saved in the same second of every hour."""
    clock = StandingClock("boot", NOON_MS)
    async with running_node(tmp_path, clock=clock) as one:
        names = [f"s{n}" for n in range(SAVES_PER_S + 20)]
        await asyncio.gather(*(one.declare("vm", scope=name, listening=Listening.AUTO) for name in names))
        heard = [(VmRef(name, "vm"), name) for name in names]
        await asyncio.gather(*(one.node.hearing.enable(ref, one.node.snapshot.view(name)) for ref, name in heard))
        clock.goes_on(2 * HOUR_MS / 1000)

        def all_ask():
            for ref, name in heard:
                one.node.hearing.heard(ref, one.node.snapshot.view(name), clock.wall_ms)

        def saved():
            return [name for name in names if one.node.snapshot.view(name).newest_asked_ms == clock.wall_ms]

        async def until_saved(count):
            while len(saved()) < count:
                await asyncio.sleep(0)

        all_ask()
        all_ask()
        await until_saved(SAVES_PER_S)
        assert len(saved()) == SAVES_PER_S
        clock.real_now_s += 1
        all_ask()
        await until_saved(len(names))

        assert saved() == names
