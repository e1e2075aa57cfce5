"""The figures as a person reads them: medians with their spread, and ratios of what ran side by side."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

NOTHING = "-"


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Sample:
    """One server under one load, once."""

    case: str
    server: str
    round: int
    requests: int
    seconds: float
    cpu_s: float
    others_s: float

    @property
    def cpu_us_per_request(self) -> float:
        return self.cpu_s * 1e6 / self.requests

    @property
    def requests_per_s(self) -> float:
        return self.requests / self.seconds


def tables(
    samples: Sequence[Sample],
    cases: Sequence[str],
    servers: Sequence[str],
    first: str,
    where: str = "the server's core",
) -> list[Table]:
    """Of cases put to the same servers: what they cost, by how much the first differs, how many there were."""
    peers = [server for server in servers if server != first and first in servers]
    count = max(sample.round for sample in samples) + 1
    cost = [[case, *(spread(cpu_us(of(samples, case, server)), 1) for server in servers)] for case in cases]
    beside = [[case, *(spread(ratios(samples, case, first, peer), 2) for peer in peers)] for case in cases]
    rate = [[case, *(throughput(of(samples, case, server)) for server in servers)] for case in cases]
    made = [Table(f"CPU microseconds per GET, median [min..max] of {count}", ("case", *servers), cost)]
    if peers:
        title = f"CPU per GET of {first}, divided by the other's of the same round"
        made.append(Table(title, ("case", *(f"/ {peer}" for peer in peers)), beside))
    title = (
        f"Requests per second on {where} (the server's share of a core; the rest: waiting for the load, or other work)"
    )
    return [*made, Table(title, ("case", *servers), rate)]


def of(samples: Iterable[Sample], case: str, server: str) -> list[Sample]:
    return [sample for sample in samples if (sample.case, sample.server) == (case, server)]


def cpu_us(samples: Iterable[Sample]) -> list[float]:
    return [sample.cpu_us_per_request for sample in samples]


def ratios(samples: Sequence[Sample], case: str, first: str, peer: str) -> list[float]:
    """What a busy neighbour costs, it costs both halves of a pair."""
    pairs = zip(cpu_us(of(samples, case, first)), cpu_us(of(samples, case, peer)), strict=False)
    return [ours / theirs for ours, theirs in pairs if theirs]


def throughput(samples: Sequence[Sample]) -> str:
    if not samples:
        return NOTHING
    share = median(sample.cpu_s / sample.seconds for sample in samples)
    return f"{spread([sample.requests_per_s for sample in samples], 0)} ({share:.0%})"


def spread(figures: Sequence[float], digits: int) -> str:
    if not figures:
        return NOTHING
    low, middle, high = (f"{figure:,.{digits}f}" for figure in (min(figures), median(figures), max(figures)))
    return f"{middle} [{low}..{high}]"


def quantile(ordered: Sequence[float], share: float) -> float:
    """Of figures in order: the one that this share of them does not exceed."""
    return ordered[min(len(ordered) - 1, max(0, math.ceil(share * len(ordered)) - 1))]


def hundredths(figures: Sequence[float]) -> tuple[float, ...]:
    """By how much each hundredth of them is not exceeded, from the least to the most: enough for any share of these."""
    ordered = sorted(figures)
    return tuple(round(quantile(ordered, share / 100), 3) for share in range(101))


def aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
