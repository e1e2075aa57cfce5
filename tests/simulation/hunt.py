"""Run in a process of its own on a faulty copy of the program: seeds until a law is broken."""

import json
import sys

from notbefore.simulation.world import World


def main(first_seed: int, seeds_max: int, hours: int, nodes_max: int) -> None:
    """Fleets of every size by turns: what several machines hide from each other, one alone shows, and the other way."""
    for tried in range(1, seeds_max + 1):
        violation = World(first_seed + tried - 1, hours, nodes_max - (tried - 1) % nodes_max).run().violation
        if violation:
            say(tried, violation.law, violation.sentence)
            return
    say(seeds_max, None, "nothing found")


def say(seeds: int, law: str | None, sentence: str) -> None:
    sys.stdout.write(json.dumps({"seeds": seeds, "law": law, "sentence": sentence}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
