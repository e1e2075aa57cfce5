"""docs/how-to/agent-install.md and the alert rules it names: what they tell people to type and look at exists."""

import re
import subprocess
import tomllib
import xml.dom.minidom
from pathlib import Path

import pytest
from test_agent_unit import INSTALLED, UNIT
from test_systemd_units import EXPOSURE_MAX, lines_of

from notbefore.agent.picture import METRICS, Counts, Picture, metrics
from notbefore.agent.reading import settings_in
from notbefore.agent.starting import SHOWN_EVERY_S

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/agent-install.md").read_text()
RULES = (ROOT / "deploy/prometheus/notbefore-agent.rules.yml").read_text()
ALERTS = re.findall(r"alert: (\w+)", RULES)


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_every_file_of_the_project_that_the_page_names_exists():
    """Paths are as seen from the top of the project."""
    named = set(re.findall(r"\b(?:deploy|scripts|benchmarks)/[\w./*-]*\w", PAGE))

    assert len(named) > 4
    assert all(list(ROOT.glob(name)) for name in named), named


@pytest.mark.parametrize("block", blocks("sh"))
def test_its_commands_are_valid_shell(block):
    """Read by a shell that does not run them."""
    subprocess.run(["sh", "-n", "-c", block], check=True)


@pytest.mark.parametrize("block", blocks("toml"))
def test_its_settings_are_taken(block, tmp_path):
    config = tmp_path / "agent.toml"
    config.write_text(block)

    assert tomllib.loads(block)
    assert settings_in(config).status.listen.endswith(":9254")


def test_its_windows_service_is_xml_that_runs_the_agent_and_is_marked_as_not_run():
    """Reviewed, not run: that is said, and what can be read is."""
    [block] = blocks("xml")
    arguments = xml.dom.minidom.parseString(block).getElementsByTagName("arguments")[0].firstChild.data

    assert arguments == r'-I "%BASE%\notbefore-agent.pyz" run --config "%BASE%\agent.toml"'
    assert "Reviewed, not run" in PAGE.partition("## On Windows")[2]


def test_it_says_what_the_unit_says():
    """Where the program stands, how little is exposed, and what every loosened line is called in the unit."""
    assert INSTALLED in PAGE
    assert lines_of(UNIT, "ExecStart")[0].startswith(INSTALLED)
    assert f"at most {EXPOSURE_MAX} " in PAGE
    loosened = set(re.findall(r"`(\w+)=\w*~?`", PAGE.partition("| step | lines")[2].partition("A step that fails")[0]))
    assert {"NoNewPrivileges", "MemoryDenyWriteExecute", "ProtectProc"} <= loosened
    assert loosened - {"User", "SupplementaryGroups"} <= set(re.findall(r"^(\w+)=", UNIT.read_text(), re.MULTILINE))


def test_it_says_how_old_what_is_shown_may_be():
    assert f"every {SHOWN_EVERY_S:g} seconds" in PAGE


# -- the alerts


def test_every_alert_has_its_row_and_every_row_its_alert():
    assert re.findall(r"^\| (NotbeforeAgent\w+) \|", PAGE, re.MULTILINE) == ALERTS


def test_an_alert_asks_for_metrics_and_labels_that_are_there_from_the_start():
    """A counter that appears with its first failure would not be seen to increase."""
    page = metrics(Picture("web-1", "", "", (), 1.0, Counts()))
    selected = re.findall(r"(notbefore_agent_\w+)(\{[^}]*\})?", "".join(re.findall(r"expr: (.*)", RULES)))

    assert len(selected) > 5
    for name, labels in selected:
        assert name in METRICS
        assert re.search(rf"^{name}{labels and '.*' + re.escape(labels.strip('{}'))}.* \d", page, re.MULTILINE)


def test_the_metrics_of_a_fresh_agent_are_the_text_that_prometheus_reads():
    """Format 0.0.4: every line is a comment, or a name with perhaps labels and a number; nothing twice."""
    page = metrics(Picture('a"b\\c\nd', "", "", (), 1.0, Counts()))
    samples = [line for line in page.splitlines() if not line.startswith("#")]

    assert page.endswith("\n")
    assert all(re.fullmatch(r'\w+(\{(\w+="([^"\\\n]|\\.)*",?)+\})? [0-9.e+-]+', line) for line in samples)
    assert len({line.rpartition(" ")[0] for line in samples}) == len(samples)
    assert re.findall(r"^# TYPE (\S+)", page, re.MULTILINE) == list(METRICS)
