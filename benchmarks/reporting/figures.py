"""The figures that were asked for, taken from what the scripts found; an empty list where one is not there.

Rule 1: ratios are of the same round, of servers that took turns in it.
Rule 2: a figure of a smaller fleet or crowd than was asked for is no figure.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from measuring.table import quantile

Found = Mapping[str, Mapping[str, Any]]
Samples = Sequence[Mapping[str, Any]]


def samples_of(found: Found, name: str, **wanted: object) -> list[Mapping[str, Any]]:
    samples = found.get(name, {}).get("samples", ())
    return [one for one in samples if all(one.get(key) == value for key, value in wanted.items())]


def cpu_us(found: Found, case: str, server: str) -> dict[int, float]:
    """By round, CPU microseconds per GET."""
    samples = samples_of(found, "metadata_get", case=case, server=server)
    return {one["round"]: one["cpu_s"] * 1e6 / one["requests"] for one in samples}


def cost_ratios(found: Found, case: str, server: str, other: str, other_case: str = "") -> list[float]:
    ours, theirs = cpu_us(found, case, server), cpu_us(found, other_case or case, other)
    return [ours[turn] / theirs[turn] for turn in sorted(ours) if theirs.get(turn)]


def fleet_ratios(found: Found, case: str, vms: int) -> list[float]:
    told = found.get("metadata_get", {}).get("facts", {}).get("VMs of fleet", "0")
    return cost_ratios(found, case, "fleet", "one-vm") if told == f"{vms:,}" else []


def held(found: Found, count: int, field: str) -> list[float]:
    """Of the changes that this many were waiting for."""
    return [one[field] for one in samples_of(found, "long_poll", held=count)]


def held_worst(found: Found, count: int, field: str) -> list[float]:
    """Of each round, since what they cost is measured once more with each change."""
    samples = samples_of(found, "long_poll", held=count)
    turns = sorted({one["round"] for one in samples})
    return [max(one[field] for one in samples if one["round"] == turn) for turn in turns]


def approval_ratios(found: Found) -> list[float]:
    """Of each round: the rate of approvals, of that of bare commits."""
    return [one["approvals_per_s"] / one["bare_per_s"] for one in samples_of(found, "approvals")]


def approvals_p99_ms(found: Found, field: str) -> list[float]:
    """Of each round; `field` says whether of those at once or of those a second."""
    return [quantile(one[field], 0.99) for one in samples_of(found, "approvals")]


def middle(figures: Sequence[float]) -> list[float]:
    return list(figures)


def p99(figures: Sequence[float]) -> list[float]:
    return [quantile(sorted(figures), 0.99)]


# What is told of a fleet of some size: its title, the figure's field, and what is made of it.
GROWTH: Mapping[str, tuple[str, str, Callable[[Sequence[float]], list[float]]]] = {
    "start": ("start to serving, s", "start_s", middle),
    "rss": ("peak memory, MiB", "rss_peak_mib", middle),
    "get": ("CPU per GET, µs", "get_cpu_us", middle),
    "approval": ("approval, ms", "approval_ms", middle),
    "schedule": ("schedule, ms", "schedule_ms", middle),
    "visible": ("a change seen by its VMs, p99 ms", "visible_ms", p99),
}


def fleet_sizes(found: Found) -> list[int]:
    return sorted({one["vms"] for one in fleets(found)})


def fleets(found: Found) -> Samples:
    told = found.get("fleet_size", {})
    return told.get("samples") or told.get("figures") or ()


def fleet(found: Found, vms: int, name: str) -> list[float]:
    """Of fleets of this size."""
    _, field, made = GROWTH[name]
    told = [one[field] for one in fleets(found) if one["vms"] == vms and one.get(field)]
    return [figure for one in told for figure in made(one if isinstance(one, list) else [one])]


def latencies_under_writes(found: Found, server: str, load: str) -> dict[str, list[float]]:
    """Milliseconds of a GET by what the figure is called, one of each round."""
    shares = {"p50": 0.5, "p99": 0.99, "max": 1.0}
    halves = {
        when: samples_of(found, "get_under_writes", server=server, load=load, is_idle=when == "idle")
        for when in ("idle", "under changes")
    }
    return {
        f"{name}, {when}": [quantile(one["times_ms"], share) for one in half]
        for name, share in shares.items()
        for when, half in halves.items()
        if half
    }


def under_writes(found: Found) -> list[tuple[str, str]]:
    """The servers that were asked, and how."""
    return list(dict.fromkeys((one["server"], one["load"]) for one in samples_of(found, "get_under_writes")))


def p99_under_writes(found: Found, server: str, load: str) -> list[float]:
    times = latencies_under_writes(found, server, load)
    pairs = zip(times.get("p99, idle", ()), times.get("p99, under changes", ()), strict=True)
    return [busy / idle for idle, busy in pairs]


def due_lag_s(found: Found, name: str) -> list[float]:
    """From NotBefore until the last start was seen on disk."""
    return [one["lag_s"][-1] for one in samples_of(found, name)]


def due_early(found: Found, name: str) -> list[float]:
    return [one["early"] for one in samples_of(found, name)]
