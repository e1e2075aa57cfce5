"""The pages on notbefore.testing: every example marked so runs as printed, and every name has its row."""

import dataclasses
import re

import pytest
from pages import DOCS, reference, text_of

from notbefore.core.kinds import EventType
from notbefore.testing import EmulatedVm, Emulator, OrderedFault, Request, ScheduledEvent
from notbefore.testing.event import CONDITIONS

pytest_plugins = ("pytester",)

PAGE = text_of(DOCS / "how-to" / "test-your-agent.md")
EXAMPLES = re.findall(r"<!-- executed -->\n```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_examples_on_the_page_pass(pytester):
    """As printed, each in a file of its own."""
    pytester.makepyfile(**{f"test_example_{number}": example for number, example in enumerate(EXAMPLES)})

    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:asyncio", "--strict-markers")

    result.assert_outcomes(passed=len(re.findall(r"^ *def test_", "".join(EXAMPLES), re.MULTILINE)))
    assert len(EXAMPLES) == PAGE.count("<!-- executed -->") == 6


def names_of(kind):
    fields = [one.name for one in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else []
    return {name for one in kind.__mro__[:-1] for name in (*vars(one), *fields) if not name.startswith("_")}


def section_of(page, name):
    return page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize(
    "kind", [Emulator, EmulatedVm, ScheduledEvent, OrderedFault, Request], ids=lambda one: one.__name__
)
def test_every_name_has_its_row(kind):
    cells = re.findall(r"^\| (`[^|]+) \|", section_of(reference("testing.md"), kind.__name__), re.MULTILINE)
    told = {name for cell in cells for name in re.findall(r"`(\w+)", cell)}

    assert names_of(kind) - told == set()


def test_every_word_and_type_is_named():
    assert all(f"`{word}`" in reference("testing.md") for word in CONDITIONS)
    assert all(event_type in PAGE for event_type in EventType)
