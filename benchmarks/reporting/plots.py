"""The pictures of RESULTS.md, as PNG and SVG; whatever the scripts found of each.

Rule 1: readable without colour: bars carry their figure, lines their name and a dash of their own.
Rule 2: the same figures make the same SVG, byte for byte: no date, no random ids.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from reporting import figures
from reporting.figures import Found
from reporting.page import Plot

STYLE = {"svg.hashsalt": "notbefore", "svg.fonttype": "none", "font.size": 9, "axes.spines.top": False}
STYLE |= {"axes.spines.right": False, "figure.constrained_layout.use": True}
DASHES = ("-", "--", ":", "-.", (0, (1, 4)))
MARKS = "os^Dv"
OURS, OTHERS = "#1f4e79", "#b9c4cf"
CASES = ("keep-alive", "close", "fresh", "not-modified")
DPI = 110


def drawn(found: Found, folder: Path) -> list[Plot]:
    """Each plot for which there are figures."""
    made = []
    with mpl.rc_context(STYLE):
        for name, (title, draw) in PLOTS.items():
            figure = draw(found)
            if figure is not None:
                figure.suptitle(title)
                figure.savefig(folder / f"{name}.png", dpi=DPI, metadata={"Software": None})
                figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})
                plt.close(figure)
                made.append(Plot(name, title))
    return made


def cost_of_a_get(found: Found) -> Figure | None:
    servers = list(dict.fromkeys(one["server"] for one in figures.samples_of(found, "metadata_get")))
    cases = [case for case in CASES if figures.samples_of(found, "metadata_get", case=case)]
    if not cases:
        return None
    figure, grid = plt.subplots(len(cases), 1, figsize=(8, 1 + 1.7 * len(cases)), squeeze=False)
    for axes, case in zip(grid.flat, cases, strict=True):
        costs = {server: list(figures.cpu_us(found, case, server).values()) for server in servers}
        bars(axes, {server: cost for server, cost in costs.items() if cost}, "µs")
        axes.set_title(case, loc="left", fontsize=9)
    return figure


def bars(axes: Axes, values: Mapping[str, Sequence[float]], unit: str, digits: int = 1) -> None:
    """Lying, with the median as the bar and its label, and the spread as a whisker."""
    middles = [median(each) for each in values.values()]
    reach = [
        [middle - min(each) for middle, each in zip(middles, values.values(), strict=True)],
        [max(each) - middle for middle, each in zip(middles, values.values(), strict=True)],
    ]
    shades = [OURS if name == "notbefore" else OTHERS for name in values]
    drawn_bars = axes.barh(list(values), middles, color=shades, xerr=reach, ecolor="#555555", capsize=2)
    axes.bar_label(drawn_bars, [f"{middle:.{digits}f} {unit}" for middle in middles], padding=4, fontsize=8)
    axes.invert_yaxis()
    axes.margins(x=0.15)


def heard_in_time(found: Found) -> Figure | None:
    counts = sorted({one["held"] for one in figures.samples_of(found, "long_poll")})
    if not counts:
        return None
    figure, axes = plt.subplots(figsize=(8, 4))
    for place, count in enumerate(counts):
        changes = [one["heard_ms"] for one in figures.samples_of(found, "long_poll", held=count)]
        points = [median(point) for point in zip(*changes, strict=True)]
        shares = list(range(len(points)))
        axes.plot(points, shares, linestyle=DASHES[place % len(DASHES)], color=OURS, label=f"{count:,} held")
        axes.annotate(f"{count:,}", (points[-1], shares[-1]), textcoords="offset points", xytext=(3, 3), fontsize=8)
    on_a_log_scale(axes)
    axes.set_xlabel("ms since before the operator's request (median over the changes)")
    axes.set_ylabel("% have heard")
    axes.legend()
    return figure


def growth(found: Found) -> Figure | None:
    sizes = figures.fleet_sizes(found)
    told = [name for name in figures.GROWTH if any(figures.fleet(found, vms, name) for vms in sizes)]
    if not told:
        return None
    figure, grid = plt.subplots((len(told) + 1) // 2, 2, figsize=(8, 1 + 2.2 * ((len(told) + 1) // 2)), squeeze=False)
    for spare in grid.flat[len(told) :]:
        spare.axis("off")
    for axes, name in zip(grid.flat, told, strict=False):
        middles = {vms: median(each) for vms in sizes if (each := figures.fleet(found, vms, name))}
        axes.plot(list(middles), list(middles.values()), marker="o", color=OURS)
        for vms, middle in middles.items():
            axes.annotate(f"{middle:,.4g}", (vms, middle), textcoords="offset points", xytext=(0, 5), fontsize=8)
        on_a_log_scale(axes)
        axes.margins(x=0.12)
        axes.set_ylim(0, 1.25 * max(middles.values()))
        axes.set_title(figures.GROWTH[name][0], loc="left", fontsize=9)
        axes.set_xlabel("VMs")
    return figure


def under_writes(found: Found) -> Figure | None:
    asked = figures.under_writes(found)
    if not asked:
        return None
    figure, grid = plt.subplots(len(asked), 1, figsize=(8, 1 + 2.2 * len(asked)), squeeze=False)
    for axes, (server, load) in zip(grid.flat, asked, strict=True):
        bars(axes, figures.latencies_under_writes(found, server, load), "ms", 2)
        axes.set_title(f"{server}, {load}", loc="left", fontsize=9)
    return figure


def on_a_log_scale(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda figure, _: f"{figure:,.10g}")
    axes.xaxis.set_minor_formatter(lambda *_: "")


Draw = Callable[[Found], Figure | None]
PLOTS: Mapping[str, tuple[str, Draw]] = {
    "cost-of-a-get": ("CPU per GET, one server core", cost_of_a_get),
    "growth": ("What grows with the number of VMs", growth),
    "long-polls": ("How soon those who wait hear of a change", heard_in_time),
    "under-writes": ("GET latency, idle and while changes are committed", under_writes),
}
