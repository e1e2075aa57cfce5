"""What is written about the metrics, against a real scrape: the reference page, the alert rules, the dashboard."""

import json
import re
from pathlib import Path

import pytest
from a_days_work import Scrape, day_settings, do_a_days_work, page_of

from lab import open_lab

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs/reference/metrics.md"
MONITOR = ROOT / "docs/how-to/monitor.md"
RULES = ROOT / "deploy/prometheus/notbefore.rules.yml"
DASHBOARD = ROOT / "deploy/grafana/notbefore.json"

NAME = r"(?:notbefore|process|python)_\w+"
SELECTED = re.compile(rf"({NAME})(?:\{{([^}}]*)\}})?")
MATCHER = re.compile(r'(\w+)\s*(=~|=)\s*"([^"]*)"')
# What Prometheus adds to every sample it scrapes, and its own series.
OF_PROMETHEUS = {"instance", "job"}


@pytest.fixture(scope="module")
def worked(tmp_path_factory):
    with open_lab(day_settings(tmp_path_factory.mktemp("pages") / "state")) as lab:
        do_a_days_work(lab)
        yield lab


@pytest.fixture(scope="module")
def scrape(worked):
    return Scrape(worked)


# -- the reference


def rows():
    """Cells of each metric's row, by its name."""
    lines = [line for line in REFERENCE.read_text().splitlines() if line.startswith("| `")]
    return {cells[1].strip(" `"): cells for cells in (line.split("|") for line in lines)}


def families(worked):
    """Name and type of every family, as the page declares them."""
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", page_of(worked), re.MULTILINE))


def test_every_metric_has_its_row_and_every_row_its_metric(worked):
    """With the type it really has."""
    assert {name: cells[2].strip() for name, cells in rows().items()} == families(worked)


def test_a_row_names_the_labels_its_metric_has(scrape):
    for name, cells in rows().items():
        said = set(re.findall(r"`(\w+)`", cells[3]))
        has = {
            label
            for (sample, labels), _ in scrape.samples.items()
            for label, _ in labels
            if sample in {name, f"{name}_count"}
        }
        assert said == has, name


# -- expressions


def check_expression(expression, scrape):
    """Every metric it names is scraped, with every label and, where it is spelled out, the value it asks for."""
    assert expression.count("(") == expression.count(")")
    selected = SELECTED.findall(expression)
    for name, matchers in selected:
        assert name in scrape.names(), name
        labels = {pair for (sample, of), _ in scrape.samples.items() if sample == name for pair in of}
        for label, operator, value in MATCHER.findall(matchers):
            if label in OF_PROMETHEUS:
                continue
            assert label in {one for one, _ in labels}, f"{name} has no label {label}"
            if operator == "=":
                assert (label, value) in labels, f"{name} never has {label}={value}"
    for label in re.findall(r"by \(([^)]*)\)", expression):
        assert set(re.split(r",\s*", label)) <= {one for one, _ in scrape.labels()} | OF_PROMETHEUS
    return selected


def alerts():
    """The rules, by the names of their alerts: the few shapes of YAML that the file has."""
    found = {}
    for block in re.split(r"^ {6}- alert: ", RULES.read_text(), flags=re.MULTILINE)[1:]:
        name, *lines = block.rstrip().splitlines()
        fields = (re.fullmatch(r" {8,10}(\w+):(?: (.+))?", line) for line in lines if line.strip())
        found[name] = {field[1]: field[2] for field in fields}
    return found


@pytest.mark.parametrize("name", alerts())
def test_an_alert_asks_for_metrics_there_are_and_says_what_to_do(name, scrape):
    """Issue: alert rules in deploy/."""
    alert = alerts()[name]

    assert check_expression(alert["expr"], scrape) or alert["expr"].startswith("up{")
    assert alert["severity"] in {"warning", "critical"}
    assert re.fullmatch(r'".+"', alert["summary"])
    assert re.fullmatch(r'"[^"]+\."', alert["runbook"])
    assert f"### {name}\n" in MONITOR.read_text()


def test_every_alert_of_the_page_is_a_rule():
    assert set(re.findall(r"^### (Notbefore\w+)$", MONITOR.read_text(), re.MULTILINE)) == set(alerts())


# -- the dashboard


def panels():
    return [one for one in json.loads(DASHBOARD.read_text())["panels"] if one["type"] != "row"]


@pytest.mark.parametrize("panel", panels(), ids=lambda one: one["title"])
def test_a_panel_asks_for_metrics_there_are(panel, scrape):
    """Issue: a Grafana dashboard JSON in deploy/."""
    assert panel["description"].endswith(".")
    for target in panel["targets"]:
        assert check_expression(target["expr"].replace("$__rate_interval", "5m"), scrape)


def test_panels_have_ids_of_their_own_and_do_not_overlap():
    everything = json.loads(DASHBOARD.read_text())["panels"]
    cells = [
        (x, y)
        for one in everything
        for x in range(one["gridPos"]["x"], one["gridPos"]["x"] + one["gridPos"]["w"])
        for y in range(one["gridPos"]["y"], one["gridPos"]["y"] + one["gridPos"]["h"])
    ]

    assert len({one["id"] for one in everything}) == len(everything)
    assert len(cells) == len(set(cells))
    assert all(x < 24 for x, _ in cells)


def test_every_metric_of_ours_is_on_the_dashboard(scrape):
    """What is measured is shown."""
    shown = " ".join(target["expr"] for panel in panels() for target in panel["targets"])
    ours = {name for name in rows() if name.startswith("notbefore_")}

    assert {name for name in ours if name not in shown} == set()
