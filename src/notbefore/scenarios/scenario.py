"""A scenario as read: its fleet, how long things take, and what happens and is expected when.

Rule 1: everything that is named in it is there: reading.py sees to that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from notbefore.core.model import name_key
from notbefore.scenarios.expectations import Expectation
from notbefore.scenarios.steps import Step


@dataclass(frozen=True, slots=True)
class FleetVm:
    name: str
    update_domain: int = 0
    fault_domain: int | None = None
    host: str = ""
    spot: bool = False

    def declaration(self) -> dict[str, Any]:
        body = {"name": self.name, "update_domain": self.update_domain, "host": self.host, "spot": self.spot}
        return body if self.fault_domain is None else {**body, "fault_domain": self.fault_domain}


@dataclass(slots=True)
class FleetScope:
    """Filled while the file is read. `line` is where it begins: what the server has against it is said of there."""

    name: str
    line: int
    kind: str
    settings: dict[str, Any] = field(default_factory=lambda: {"listening": "always"})
    vms: list[FleetVm] = field(default_factory=list)

    def declaration(self) -> dict[str, Any]:
        return {"kind": self.kind, "settings": self.settings, "vms": [vm.declaration() for vm in self.vms]}


@dataclass(frozen=True, slots=True)
class Line:
    """Something that happens or is expected, so long after the start."""

    at_s: int
    number: int
    text: str
    says: Step | Expectation


@dataclass(frozen=True, slots=True)
class Scenario:
    """`source` is the file, or the name of a built-in one."""

    source: str
    title: str
    about: str
    scopes: Sequence[FleetScope]
    hosts: Sequence[str]
    duration_s: Mapping[str, int]
    checks_s: Mapping[str, int]
    lines: Sequence[Line]

    @property
    def vms(self) -> list[tuple[str, FleetVm]]:
        """Each with its scope, in the order of the file."""
        return [(scope.name, vm) for scope in self.scopes for vm in scope.vms]

    def scope_of(self, vm: str) -> str:
        return next(scope for scope, one in self.vms if name_key(one.name) == name_key(vm))

    def moments(self) -> list[tuple[int, list[Line]]]:
        """What is said, time by time."""
        return [(at_s, list(lines)) for at_s, lines in groupby(self.lines, lambda line: line.at_s)]
