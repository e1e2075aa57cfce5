"""The figures as a person reads them: medians with their spread, and ratios of what ran side by side."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

FIRST = "notbefore"
NOTHING = "-"


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


def report(samples: Sequence[Sample], cases: Mapping[str, str], servers: Sequence[str]) -> str:
    peers = [server for server in servers if server != FIRST and FIRST in servers]
    rounds = max(sample.round for sample in samples) + 1
    blocks = [f"CPU microseconds per GET, median [min..max] of {rounds}; ratios are of the same round"]
    head = ["case", *servers, *(f"{FIRST}/{peer}" for peer in peers)]
    rows = [
        [
            case,
            *(spread(cpu_us(of(samples, case, server)), 1) for server in servers),
            *(spread(ratios(samples, case, peer), 2) for peer in peers),
        ]
        for case in cases
    ]
    blocks.append(aligned([head, *rows]))
    blocks.append(
        "\nrequests per second, median [min..max] (the server's share of its core; the rest: waiting, or other work)"
    )
    rows = [[case, *(throughput(of(samples, case, server)) for server in servers)] for case in cases]
    blocks.append(aligned([["case", *servers], *rows]))
    blocks.append("\ncases")
    blocks.append(aligned([[f"  {case}", meaning] for case, meaning in cases.items()]))
    return "\n".join(blocks)


def of(samples: Iterable[Sample], case: str, server: str) -> list[Sample]:
    return [sample for sample in samples if (sample.case, sample.server) == (case, server)]


def cpu_us(samples: Iterable[Sample]) -> list[float]:
    return [sample.cpu_us_per_request for sample in samples]


def ratios(samples: Sequence[Sample], case: str, peer: str) -> list[float]:
    """What a busy neighbour costs, it costs both halves of a pair."""
    pairs = zip(cpu_us(of(samples, case, FIRST)), cpu_us(of(samples, case, peer)), strict=False)
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


def aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
