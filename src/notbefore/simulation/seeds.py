"""Many seeds, on as many processors as wanted; each run in a process of its own, so that no run sees another."""

import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from hashlib import sha256
from multiprocessing import get_context

from notbefore.simulation.world import Outcome, World


def outcome_of(seed: int, hours: float, nodes: int) -> Outcome:
    return World(seed, hours, nodes).run()


def outcomes_of(seeds: Iterable[int], hours: float, nodes: int, jobs: int) -> Iterator[Outcome]:
    """In the order of the seeds, each as soon as it and those before it are known."""
    run = partial(outcome_of, hours=hours, nodes=nodes)
    if jobs == 1:
        yield from map(run, seeds)
        return
    how = "fork" if sys.platform == "linux" else "spawn"
    with ProcessPoolExecutor(jobs, mp_context=get_context(how)) as pool:
        yield from pool.map(run, seeds)


def digest_of(outcomes: Iterable[Outcome]) -> str:
    return sha256("".join(outcome.digest for outcome in outcomes).encode()).hexdigest()[:16]
