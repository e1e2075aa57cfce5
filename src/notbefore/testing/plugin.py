"""The pytest plugin: the fixture `scheduled_events`, and the story of every event beside a failing test.

Rule 1: it is imported in every run of everybody who has notbefore installed, so it imports nothing but pytest: the
server comes with the first test that asks for the fixture.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from notbefore.testing.emulator import Emulator

MARK = "scheduled_events"
SECTION = "scheduled events"
_OPENED: "pytest.StashKey[Emulator]" = pytest.StashKey()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARK}(**options): options of notbefore.testing.Emulator for this test")


@pytest.fixture
def scheduled_events(request: pytest.FixtureRequest) -> "Iterator[Emulator]":
    """A real notbefore server in this process, on free ports, with a clock to turn. See notbefore.testing.Emulator."""
    from notbefore.testing.emulator import Emulator  # noqa: PLC0415  rule 1

    options: dict[str, Any] = {}
    for mark in reversed(list(request.node.iter_markers(MARK))):
        options |= mark.kwargs
    with Emulator(**options) as emulator:
        request.node.stash[_OPENED] = emulator
        yield emulator


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    report = (yield).get_result()
    emulator = item.stash.get(_OPENED, None)
    if report.failed and emulator is not None and emulator.is_open:
        report.sections.append((SECTION, emulator.story()))
