"""RESULTS.md is computed from what the scripts wrote, and says so where a promise is not met."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROUNDS = range(5)
COSTS_US = {
    ("keep-alive", "notbefore"): 8.0,
    ("keep-alive", "nginx"): 8.0,
    ("keep-alive", "go"): 20.0,
    ("close", "notbefore"): 30.0,
    ("close", "nginx"): 30.0,
    ("close", "go"): 60.0,
    ("fresh", "notbefore"): 60.0,
    ("fresh", "nginx"): 30.0,
    ("fresh", "go"): 60.0,
}


def get_samples():
    return [
        {"case": case, "server": server, "round": turn, "requests": 1000, "seconds": 1.0, "cpu_s": cost / 1000}
        for turn in ROUNDS
        for (case, server), cost in COSTS_US.items()
    ]


def crowd_samples():
    points = [float(point) for point in range(101)]
    return [
        {
            "held": 10_000,
            "round": turn,
            "change": 0,
            "operator_ms": 5.0,
            "heard_ms": points,
            "p99_ms": 300.0,
            "grown_mib": 90.0,
            "idle_percent": 0.5,
            "idle_alone_percent": 0.4,
        }
        for turn in ROUNDS
    ]


def slow_under_writes():
    """Three times as slow as an idle server, however it is asked."""
    return [
        {"server": server, "load": load, "round": turn, "is_idle": is_idle, "times_ms": [0.1 if is_idle else 0.3] * 101}
        for server in ("one process", "two workers")
        for load in ("2,000 GETs a second", "16 GETs at a time")
        for turn in ROUNDS
        for is_idle in (True, False)
    ]


def told(name, samples):
    table = {"title": f"What {name} found", "head": ["case", "µs"], "rows": [["one | two", "1.0"]]}
    return {"name": name, "facts": {"cpu": "one"}, "tables": [table], "samples": samples}


def kept_in(folder, *, quick=False, **of_metadata_get):
    """The folder as a run leaves it."""
    (folder / "results").mkdir(exist_ok=True)
    found = {"metadata_get": told("metadata_get", get_samples()), "long_poll": told("long_poll", crowd_samples())}
    for name, one in found.items():
        (folder / "results" / f"{name}.json").write_text(json.dumps(one))
    ran = {"command": "x", "at": "2026-11-16 12:00 UTC", "seconds": 1.0, "quick": quick, "left_out": "", "failed": ""}
    about = {"metadata_get": {**ran, **of_metadata_get}, "long_poll": ran}
    (folder / "results" / "run.json").write_text(json.dumps({"surroundings": {"kernel": "6"}, "ran": about}))
    return folder


def page_of(folder, code=0):
    argv = [sys.executable, "benchmarks/run.py", "--page", "--out", str(folder)]
    ran = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == code, ran.stderr
    return (folder / "RESULTS.md").read_text()


def verdicts(page):
    rows = page.partition("## Must show")[2].partition("\n## ")[0].splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows if row.startswith("| ")]
    return {row[0].strip(): row[-1] for row in cells[1:]}


def test_a_promise_is_met_when_the_median_is(tmp_path):
    """Honest: not met is printed as not met, and a floor is not the goal."""
    shown = verdicts(page_of(kept_in(tmp_path)))

    assert shown["CPU per GET, keep-alive: of nginx's `return 200`"] == "met"
    assert shown["CPU per GET, keep-alive: of Go's net/http"] == "met"
    assert shown["CPU per GET, close: of nginx's `return 200`"] == "**floor met, goal not met**"
    assert shown["CPU per GET, fresh: of nginx's `return 200`"] == "**not met**"
    assert shown["10,000 parked polls answered, p99"] == "**not met**"
    assert shown["memory they add"] == "met"
    assert shown["approvals at 100/s, p99"] == "not measured"


def test_gets_under_writes_are_promised_of_a_server_that_has_room(tmp_path):
    """At most twice an idle server's p99; a core that is taken whole is told beside it."""
    kept_in(tmp_path)
    found = told("get_under_writes", slow_under_writes())
    (tmp_path / "results" / "get_under_writes.json").write_text(json.dumps(found))
    about = json.loads((tmp_path / "results" / "run.json").read_text())
    about["ran"]["get_under_writes"] = about["ran"]["long_poll"]
    (tmp_path / "results" / "run.json").write_text(json.dumps(about))

    shown = {name: verdict for name, verdict in verdicts(page_of(tmp_path)).items() if name.startswith("GET p99")}

    assert sorted(shown.values()) == ["**not met**", "told", "told", "told"]
    assert (
        shown["GET p99 while 200 changes/s are committed, one process, 2,000 GETs a second: of idle's"] == "**not met**"
    )


def test_a_quick_run_meets_nothing(tmp_path):
    """Its figures mean nothing, so nothing is concluded from them."""
    shown = verdicts(page_of(kept_in(tmp_path, quick=True)))

    assert set(shown.values()) == {"not measured", "by tests"}


@pytest.mark.parametrize(
    ("why", "line", "code"), [("left_out", "metadata_get: needs wrk", 0), ("failed", "needs wrk", 1)]
)
def test_what_did_not_come_to_its_end_is_named_and_not_counted(tmp_path, why, line, code):
    """RESULTS.md says what was left out; only a failure is a failure of the run."""
    page = page_of(kept_in(tmp_path, **{why: "needs wrk"}), code)

    assert line in page.partition("## Left out")[2].partition("\n## ")[0]
    assert verdicts(page)["CPU per GET, keep-alive: of nginx's `return 200`"] == "not measured"
    assert "What long_poll found" in page
    assert "What metadata_get found" not in page


def test_a_table_stays_a_table(tmp_path):
    """A bar within a cell is no end of the cell."""
    assert "| one \\| two | 1.0 |" in page_of(kept_in(tmp_path))


def test_the_same_figures_make_the_same_page_and_plots(tmp_path):
    """Plots are deterministic: no date in them, no random ids."""
    kept_in(tmp_path)
    first, pictures = page_of(tmp_path), read_pictures(tmp_path)

    assert page_of(tmp_path) == first
    assert read_pictures(tmp_path) == pictures
    assert bool(pictures) != ("no plots: needs matplotlib" in first)


def read_pictures(folder):
    return {path.name: path.read_bytes() for path in (folder / "results").iterdir() if path.suffix in {".svg", ".png"}}
