"""The pages on scenarios: what they show can be read and played, and every row is a line that is understood."""

import re

import pytest
from pages import DOCS, FENCE, reference, rows_by_name, text_of

from notbefore.scenarios.emulator import Stage
from notbefore.scenarios.library import names
from notbefore.scenarios.playing import play
from notbefore.scenarios.reading import FILE_MAX_BYTES, LINES_MAX, TEXT_MAX, VMS_MAX, read_scenario

PAGE = reference("scenarios.md")
[EXAMPLE] = [block for language, block in FENCE.findall(PAGE) if language == "scenario"]
HEAD, _, _ = EXAMPLE.partition("\nat ")


def lines_under(heading):
    return list(rows_by_name(PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]))


def test_the_example_meets_its_expectations():
    outcome = play(read_scenario("the page", EXAMPLE), Stage(), lambda _: None, serve=lambda _: None)

    assert outcome.not_met == []


@pytest.mark.parametrize("line", lines_under("What it is, and the fleet"))
def test_every_row_of_the_fleet_is_a_line_that_is_read(line):
    head = re.sub(rf"^{line.partition(':')[0]}: .*$", "", HEAD, flags=re.MULTILINE) if ": " in line else HEAD

    assert read_scenario("the page", f"{head}\n{line}\nat 0s web-0 asks")


@pytest.mark.parametrize("line", [*lines_under("Steps"), *lines_under("Expectations")])
def test_every_row_of_steps_and_expectations_is_a_line_that_is_read(line):
    scenario = read_scenario("the page", f"{HEAD}\nat 0s operator restarts web-0, as reboot\n{line}")

    assert scenario.lines[-1].text == line


def test_the_limits_on_the_page_are_the_programs():
    assert (
        f"{LINES_MAX:,} lines of up to {TEXT_MAX:,} characters, {FILE_MAX_BYTES // 1024} KiB and {VMS_MAX} VMs" in PAGE
    )


def test_every_built_in_scenario_is_on_the_page():
    page = text_of(DOCS / "how-to" / "play-scenarios.md")

    assert set(re.findall(r"`([a-z]+(?:-[a-z]+)+)`", "".join(re.findall(r"^\| `.*? \|", page, re.MULTILINE)))) == set(
        names()
    )
