"""Random attacks on a real server process, with an honest VM beside them: 1,500 by default, 20,000 with NOTBEFORE_PROOF=1.

The seed is in every failure; NOTBEFORE_HOSTILE_SEED=… runs that one alone.
"""

import asyncio
import os
from collections import Counter
from itertools import pairwise

from answers_read import told
from attacked import DEMO_VMS, STRANGERS, Attacked, fault_in
from mutations import attack, seeds

PROOF = os.environ.get("NOTBEFORE_PROOF") == "1"
ATTACKS = 20_000 if PROOF else 1_500
GROWTH_MAX = 1.05 if PROOF else 1.15
WAVES = 2
AT_ONCE = 120
LOG_MAX_BYTES = 10_000
PATIENCE = {"head_timeout_s": 0.6, "body_timeout_s": 0.6, "idle_timeout_s": 0.6}


async def wave(server, numbered):
    """Carry the attacks out, so many at once; how often each status came."""
    waiting = iter(numbered)
    seen = Counter()

    async def attacker():
        for seed, number in waiting:
            wanted = attack(seed, number, (*DEMO_VMS, *STRANGERS))
            which = f"NOTBEFORE_HOSTILE_SEED={seed} number {number}: {wanted}"
            try:
                answers = await server.suffer(wanted)
            except Exception as error:
                raise AssertionError(f"{error!r} at {which}") from error
            fault = fault_in(answers)
            assert fault is None, f"{fault} at {which}"
            seen.update(answers.statuses or ["none"])

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(attacker())
    return seen


async def honest_vm(server, expected):
    """Asks as long as it is let, and always gets the right document."""
    asked = 0
    try:
        while True:
            assert await server.ask_honestly() == expected
            asked += 1
    except asyncio.CancelledError:
        return asked


async def withstand(server, numbered):
    expected = await server.ask_honestly()
    honest = asyncio.create_task(honest_vm(server, expected))
    try:
        seen = await wave(server, numbered)
    finally:
        honest.cancel()
    asked = await honest
    assert asked > 0
    assert await server.ask_honestly() == expected
    return seen, asked


def test_random_attacks_change_nothing_and_cost_nothing_that_stays(tmp_path):
    """Issue: whatever is sent, the server lives, never answers 5xx, approves nothing that was not validly approved,
    leaves no traceback and no hanging connection, serves the honest VM, and its memory does not grow.
    """
    numbered = [(seed, number) for number in range(ATTACKS // len(seeds())) for seed in seeds()]
    cuts = [len(numbered) * n // WAVES for n in range(WAVES + 1)]
    peaks = []
    with Attacked(tmp_path / "state", **PATIENCE) as server:
        before = server.state_of_events()
        for begin, end in pairwise(cuts):
            seen, asked = asyncio.run(withstand(server, numbered[begin:end]))
            peaks.append(server.peak_kib())
            told(f"{end - begin} attacks: {dict(sorted(seen.items(), key=str))}, {asked} honest, {peaks[-1]} KiB")

        assert server.state_of_events() == before
        assert server.process.poll() is None
    assert "Traceback" not in server.log.read_text()
    assert server.log.stat().st_size < LOG_MAX_BYTES
    assert peaks[-1] <= GROWTH_MAX * peaks[0]
