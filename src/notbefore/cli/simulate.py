"""simulate: days of a fleet in seconds, on simulated machines. Needs no server and touches nothing."""

import os
from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from notbefore.cli.exits import WrongUsage, complain
from notbefore.cli.printable import show_lines
from notbefore.core.errors import Refusal

if TYPE_CHECKING:
    from notbefore.simulation.world import Outcome

Seed = Annotated[int, typer.Option(help="Which run: the same seed is the same run, byte for byte.")]
Seeds = Annotated[int, typer.Option(metavar="COUNT", min=1, help="How many seeds, from --seed upwards.")]
Hours = Annotated[float, typer.Option(min=0.1, max=1000, help="Simulated hours per seed, before the quiet end.")]
Nodes = Annotated[int, typer.Option(min=1, max=3, help="Server machines on one store.")]
Jobs = Annotated[int, typer.Option(min=0, help="Processes to run seeds in; 0: one per processor.")]
ShowCoverage = Annotated[bool, typer.Option("--coverage", help="Print what the runs reached, and what they did not.")]
ShowStory = Annotated[bool, typer.Option("--story", help="Print every step of the run (one seed).")]
Keep = Annotated[
    str | None, typer.Option(metavar="N,N-N", help="Only these acts of the seed's plan: how a failure is replayed.")
]

PROGRESS_EVERY_S = 2.0


def simulate(
    *,
    seed: Seed = 1,
    seeds: Seeds = 1,
    hours: Hours = 24.0,
    nodes: Nodes = 3,
    jobs: Jobs = 0,
    coverage: ShowCoverage = False,
    story: ShowStory = False,
    keep: Keep = None,
) -> None:
    """Run a fleet's day in a second or two, with everything going wrong that can, and check every promise at each step.

    The real service runs on simulated clocks, store, executors and network: machines crash, clocks are stepped, writes
    are lost, VMs approve what they should not. The first broken promise ends a run with exit code 1, the story cut down
    to what matters, and the line that replays it.

    Example: `notbefore simulate --seed 7 --hours 24 --nodes 3`
    """
    if (story or keep) and seeds != 1:
        raise WrongUsage("--story and --keep are for one seed; leave --seeds out.")
    if story or keep:
        one_run(seed, hours, nodes, kept_acts(keep), whole_story=story)
        return
    outcomes = many_runs(range(seed, seed + seeds), hours, nodes, jobs or os.cpu_count() or 1)
    if coverage:
        show_coverage(outcomes)
    for outcome in outcomes:
        if outcome.violation:
            explain(outcome, hours, nodes)


def kept_acts(keep: str | None) -> list[int] | None:
    """`3,8-12`: numbers and ranges of acts."""
    if not keep:
        return None
    kept: list[int] = []
    for part in keep.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise WrongUsage(f"--keep takes numbers and ranges such as 3,8-12, not {keep!r}.")
        kept += range(int(first), int(last if dash else first) + 1)
    return kept


def as_ranges(numbers: list[int]) -> str:
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][-1] == number - 1:
            ranges[-1].append(number)
        else:
            ranges.append([number])
    return ",".join(f"{one[0]}-{one[-1]}" if len(one) > 1 else str(one[0]) for one in ranges)


def one_run(seed: int, hours: float, nodes: int, kept: list[int] | None, *, whole_story: bool) -> None:
    from notbefore.simulation.plan import planned  # noqa: PLC0415  only when called: client commands start fast
    from notbefore.simulation.world import World  # noqa: PLC0415

    plan = planned(seed, hours, nodes)
    for number in kept or ():
        if not 0 <= number < len(plan.acts):
            raise WrongUsage(f"Seed {seed} plans no act {number}: it has 0 to {len(plan.acts) - 1}.")
    world = World(seed, hours, nodes, plan if kept is None else plan.keeping(kept))
    outcome = world.run()
    if whole_story or outcome.violation is None:
        show_lines(line.text for line in world.story.lines)
    else:
        show_lines(world.story.of_scope(outcome.violation.scope))
    if outcome.violation:
        raise Refusal(f"Seed {seed} breaks {outcome.violation}")
    print(f"seed {seed}: no promise broken, {outcome.steps} steps, digest {outcome.digest}")


def many_runs(seeds: range, hours: float, nodes: int, jobs: int) -> "list[Outcome]":
    from notbefore.clock import RealTime  # noqa: PLC0415
    from notbefore.simulation.seeds import digest_of, outcomes_of  # noqa: PLC0415

    time = RealTime()
    began_s = said_s = time.steady_s()
    done: list[Outcome] = []
    for outcome in outcomes_of(seeds, hours, nodes, min(jobs, len(seeds))):
        done.append(outcome)
        if outcome.violation:
            return done
        if time.steady_s() - said_s >= PROGRESS_EVERY_S:
            said_s = time.steady_s()
            complain(f"{len(done)} of {len(seeds)} seeds, no promise broken so far")
    took_s = time.steady_s() - began_s
    simulated_h = sum(outcome.simulated_hours for outcome in done)
    steps = sum(outcome.steps for outcome in done)
    machines = "1 machine" if nodes == 1 else f"{nodes} machines"
    print(
        f"{counted(len(seeds))} of {hours:g} hours on {machines}: no promise broken in {steps} steps,"
        f" digest {digest_of(done)}"
    )
    complain(f"{simulated_h:.0f} simulated hours in {took_s:.1f} s: {simulated_h / took_s:.0f} hours a second")
    return done


def counted(seeds: int) -> str:
    return "1 seed" if seeds == 1 else f"{seeds} seeds"


def show_coverage(outcomes: "list[Outcome]") -> None:
    from notbefore.simulation.coverage import EXPLAINED, rows  # noqa: PLC0415

    reached: Counter[str] = Counter()
    for outcome in outcomes:
        reached.update(outcome.reached)
    show_lines(f"{reached[row]:>9}  {row}{f'  ({EXPLAINED[row]})' if row in EXPLAINED else ''}" for row in rows())


def explain(outcome: "Outcome", hours: float, nodes: int) -> None:
    """The story of a broken promise, with as few acts as it needs, and how to see it again."""
    from notbefore.simulation.plan import planned  # noqa: PLC0415
    from notbefore.simulation.shrink import Shrinking  # noqa: PLC0415
    from notbefore.simulation.world import World  # noqa: PLC0415

    violation = outcome.violation
    assert violation is not None
    complain(f"Seed {outcome.seed} breaks {violation}")
    complain("Cutting the story down ...")
    kept = Shrinking(outcome.seed, hours, nodes, violation).fewest(lambda left: complain(f"  {left} acts left"))
    world = World(outcome.seed, hours, nodes, planned(outcome.seed, hours, nodes).keeping(kept))
    smaller = world.run().violation or violation
    show_lines(world.story.of_scope(smaller.scope))
    acts = as_ranges(kept)
    raise Refusal(
        f"Seed {outcome.seed} breaks {smaller}",
        f"`notbefore simulate --seed {outcome.seed} --hours {hours:g} --nodes {nodes} --keep {acts}` shows it again.",
    )
