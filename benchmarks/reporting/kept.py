"""What a run leaves behind in a folder: NAME.json of each script (NAME.txt, where that has no tables), and run.json.

Rule 1: run.json says of each script when and how it ran, or why it did not; the page is made from these files alone.
Rule 2: figures of an older run stay, with their date, only when a run is asked for certain scripts by name.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

RUN = "run.json"


@dataclass(frozen=True, slots=True)
class Ran:
    """One script, once. `left_out` says what it needs that is not here; `failed` what went wrong."""

    command: str
    at: str
    seconds: float
    quick: bool
    left_out: str = ""
    failed: str = ""


@dataclass(slots=True)
class Kept:
    folder: Path
    surroundings: dict[str, str] = field(default_factory=dict)
    ran: dict[str, Ran] = field(default_factory=dict)

    @classmethod
    def at(cls, folder: Path) -> "Kept":
        """What is there; nothing, where nothing is."""
        if not (folder / RUN).exists():
            return cls(folder)
        told = json.loads((folder / RUN).read_text())
        return cls(folder, told["surroundings"], {name: Ran(**one) for name, one in told["ran"].items()})

    def forget(self, name: str) -> None:
        for ending in ("json", "txt"):
            (self.folder / f"{name}.{ending}").unlink(missing_ok=True)

    def json_of(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def note(self, name: str, ran: Ran, printed: str) -> None:
        self.ran[name] = ran
        if name in self.found() and "tables" not in self.found()[name]:
            (self.folder / f"{name}.txt").write_text(printed)
        told = {"surroundings": self.surroundings, "ran": {name: asdict(one) for name, one in self.ran.items()}}
        (self.folder / RUN).write_text(json.dumps(told, indent=1) + "\n")

    def found(self, *, whole: bool = False) -> Mapping[str, Mapping[str, Any]]:
        """By script, what it found; only of those that came to their end, or even of whole runs alone."""
        ended = {name: one for name, one in self.ran.items() if not one.failed and not one.left_out}
        names = [name for name, one in ended.items() if not (whole and one.quick)]
        return {name: json.loads(self.json_of(name).read_text()) for name in names if self.json_of(name).exists()}

    def printed(self, name: str) -> str:
        file = self.folder / f"{name}.txt"
        return file.read_text() if file.exists() else ""
