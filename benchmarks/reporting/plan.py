"""Every benchmark there is, in the order they run, with what it is told for a whole run and for a quick one.

Rule 1: a whole run has at least five rounds wherever there are rounds, and takes half an hour or less in all.
Rule 2: a quick run only shows that everything runs; its figures mean nothing.
"""

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Script:
    """One run of a program in benchmarks/; `program` where that has another name."""

    name: str
    about: str
    whole: str
    quick: str
    whole_s: int
    quick_s: int
    program: str = ""

    @property
    def file(self) -> Path:
        return FOLDER / f"{self.program or self.name}.py"

    def words(self, *, quick: bool) -> list[str]:
        return (self.quick if quick else self.whole).split()

    def seconds(self, *, quick: bool) -> int:
        return self.quick_s if quick else self.whole_s


SCRIPTS = (
    Script(
        "metadata_get",
        "What a GET costs, beside other servers, and with a million VMs beside one",
        "--rounds 10 --seconds 1.2",
        "--rounds 1 --seconds 0.1 --vms 200",
        820,
        25,
    ),
    Script(
        "workers",
        "Two workers beside one, on all cores",
        "--rounds 5 --seconds 1.5",
        "--rounds 1 --seconds 0.1",
        45,
        4,
    ),
    Script(
        "fleet_size",
        "What grows with the fleet, and what does not",
        "--rounds 5",
        "--vms 200 --rounds 1 --seconds 0.1 --changes 3",
        280,
        8,
    ),
    Script(
        "get_under_writes",
        "GETs while changes are committed",
        "--rounds 5 --seconds 2.5",
        "--rounds 1 --seconds 0.2",
        170,
        8,
    ),
    Script(
        "approvals",
        "Approvals, each on disk before its 200",
        "--rounds 5 --seconds 6",
        "--rounds 1 --each 5 --seconds 0.5",
        90,
        6,
    ),
    Script(
        "due_events",
        "20,000 events due within a minute",
        "--events 20000 --within 60",
        "--events 40 --within 1",
        95,
        16,
    ),
    Script(
        "due_events_100000",
        "100,000 events due within a minute",
        "--events 100000 --within 60",
        "--events 80 --within 1",
        200,
        16,
        program="due_events",
    ),
    Script(
        "long_poll",
        "Those who wait, up to ten thousand of one scope",
        "--rounds 5 --changes 3",
        "--rounds 1 --changes 2 --idle 0.4 --held 1 50",
        240,
        6,
    ),
    Script("client_watch", "How soon a program in a VM is told", "--changes 10", "--changes 1", 35, 15),
    Script("client_import", "What the client library costs to import", "--rounds 10", "--rounds 1", 10, 1),
    Script("clock_turns", "How fast the emulator's clock turns", "--rounds 6", "--rounds 1", 25, 8),
    Script(
        "agent_idle",
        "What the agent costs a VM at rest",
        "--rounds 5 --seconds 10",
        "--rounds 1 --seconds 0.5",
        70,
        4,
    ),
)
