"""RESULTS.md: when and where, what must be shown, every table, the plots; made from what a run has left behind."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from measuring.table import Table
from reporting.kept import Kept, Ran
from reporting.must_show import must_show
from reporting.plan import SCRIPTS

QUICK = "**A quick run: it shows that everything runs. Its figures mean nothing.**"
READ = (
    "A cell is the median [least..most] of the rounds. CPU is the server's own, user and system, from /proc. Servers "
    "took turns in each round, and ratios are of one round. "
    "[How the figures are taken](../docs/reference/benchmarks.md)."
)


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture beside the page: results/NAME.png and results/NAME.svg."""

    name: str
    title: str


def page(kept: Kept, plots: Sequence[Plot], no_plots: str) -> str:
    found = kept.found()
    blocks = ["# Results of `make bench`", READ]
    blocks += [QUICK] if any(ran.quick for ran in kept.ran.values()) else []
    blocks += [
        in_markdown(must_show(kept.found(whole=True))),
        *left_out(kept, no_plots),
        *(shown(plot) for plot in plots),
    ]
    blocks += [in_markdown(Table("Where it ran", ("", ""), list(kept.surroundings.items())))]
    for script in SCRIPTS:
        if script.name in kept.ran and script.name in found:
            blocks += [f"## {script.about}", how(kept.ran[script.name])]
            blocks += section(found[script.name], kept.printed(script.name))
    return "\n\n".join(blocks) + "\n"


def left_out(kept: Kept, no_plots: str) -> Iterator[str]:
    lines = [f"- {name}: {ran.left_out}" for name, ran in kept.ran.items() if ran.left_out]
    lines += [f"- {name} **failed**: `{ran.failed.splitlines()[0]}`" for name, ran in kept.ran.items() if ran.failed]
    for name, told in kept.found().items():
        facts = told.get("facts", {})
        lines += [f"- {name}: {key.partition(': ')[2]} {facts[key]}" for key in facts if key.startswith("left out: ")]
    lines += [f"- {no_plots}"] if no_plots else []
    if lines:
        yield "\n".join(["## Left out", "", *lines])


def how(ran: Ran) -> str:
    return f"`{ran.command}`, {ran.at}, {ran.seconds:.0f} s."


def section(told: Mapping[str, Any], printed: str) -> Iterator[str]:
    if "tables" not in told:
        yield f"```text\n{printed.strip()}\n```"
        return
    for table in told["tables"]:
        yield in_markdown(Table(table["title"], table["head"], table["rows"]), "###")
    facts = {name: fact for name, fact in told.get("facts", {}).items() if not name.startswith("left out: ")}
    yield "\n".join(f"- {name}: {fact}" for name, fact in facts.items())


def in_markdown(table: Table, depth: str = "##") -> str:
    width = max([len(table.head), *(len(row) for row in table.rows)])
    lines = [line_of(table.head, width), "|" + "---|" * width, *(line_of(row, width) for row in table.rows)]
    return f"{depth} {table.title}\n\n" + "\n".join(lines)


def line_of(cells: Sequence[str], width: int) -> str:
    padded = [*cells, *[""] * (width - len(cells))]
    return "| " + " | ".join(cell.replace("|", "\\|").strip() for cell in padded) + " |"


def shown(plot: Plot) -> str:
    return f"![{plot.title}](results/{plot.name}.png)\n\n*{plot.title}* ([SVG](results/{plot.name}.svg))"
