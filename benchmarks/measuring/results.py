"""What a benchmark found: facts, tables for people, samples for programs; printed, and written as JSON when asked for.

Rule 1: one shape for all: {"name", "facts": {str: str}, "tables": [{"title", "head", "rows"}], "samples": [{...}]}.
Rule 2: a cell is text, as a person reads it; whoever computes with figures takes the samples.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from measuring.table import Table, aligned


@dataclass(frozen=True, slots=True)
class Results:
    name: str
    facts: Mapping[str, str]
    tables: Sequence[Table]
    samples: Sequence[Mapping[str, Any]] = field(default_factory=tuple)

    def text(self) -> str:
        facts = "\n".join(f"{name}: {fact}" for name, fact in self.facts.items())
        blocks = [f"{table.title}\n{aligned([table.head, *table.rows])}" for table in self.tables]
        return "\n\n".join([facts, *blocks])

    def tell(self, file: Path | None) -> None:
        """Printed for whoever waits; and to the file, when there is one."""
        print(self.text(), flush=True)
        if file is not None:
            file.write_text(json.dumps(asdict(self), indent=1) + "\n")


def take_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write facts, tables and samples there")
