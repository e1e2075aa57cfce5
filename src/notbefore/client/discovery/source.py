"""One place that may know the endpoint's address."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """A place by its name, and the addresses it knows; it never raises."""

    name: str
    addresses: Callable[[], Iterable[str]]
