"""The benchmarks run. What they measure is for people to read: no time is asserted here."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py") if path.stem not in {"run", "fleet"})


def ran(script, *words, **env):
    argv = [sys.executable, f"benchmarks/{script}.py", *words]
    return subprocess.run(
        argv, cwd=ROOT, env={**os.environ, **env}, capture_output=True, text=True, timeout=600, check=False
    )


def test_every_benchmark_has_its_row_in_the_reference():
    """Each with what it measures."""
    page = (ROOT / "docs/reference/benchmarks.md").read_text()

    assert [name for name in SCRIPTS if f"| `{name}` |" not in page] == []


@pytest.mark.part("wrk")
@pytest.mark.part("nginx")
@pytest.mark.part("go")
def test_a_quick_run_goes_through_every_benchmark_without_an_error(tmp_path):
    """Issue: `make bench` runs all, and writes RESULTS.md with machine, versions, commands, tables and a plot."""
    bench = ran("run", "--quick", "--out", str(tmp_path))

    assert bench.returncode == 0, bench.stderr
    page = (tmp_path / "RESULTS.md").read_text()
    told = json.loads((tmp_path / "results" / "run.json").read_text())
    assert set(SCRIPTS) <= set(told["ran"])
    for name, one in told["ran"].items():
        assert one["left_out"] or one["command"] in page, name
    assert "## Must show" in page
    assert "| kernel |" in page
    assert "A quick run" in page
    assert "(results/cost-of-a-get.png)" in page or "no plots: needs matplotlib" in page
    for file in (tmp_path / "results").glob("*.json"):
        for table in json.loads(file.read_text()).get("tables", ()):
            assert table["title"] in page


@pytest.mark.part("wrk")
def test_every_peer_is_measured_in_every_case_it_can_answer(tmp_path):
    """Issue: peers do no less than the check of header and version; the benchmark refuses one that does not."""
    file = tmp_path / "get.json"
    bench = ran(
        "metadata_get",
        "--only",
        "notbefore",
        "bare-python",
        "asgi",
        "fastapi",
        "--rounds=1",
        "--seconds=0.1",
        f"--json={file}",
    )

    assert bench.returncode == 0, bench.stderr
    told = json.loads(file.read_text())
    pairs = {(sample["case"], sample["server"]) for sample in told["samples"]}
    cases = ("keep-alive", "close", "fresh", "not-modified")
    assert pairs == {
        ("unique-header", "notbefore"),
        *((f"keep-alive-{kept}", server) for kept in (16, 256) for server in ("notbefore", "bare-python")),
        *((case, server) for case in cases for server in ("notbefore", "bare-python", "asgi", "fastapi")),
    }
    assert "none of them with an error" in told["facts"]["requests"]


def test_a_missing_program_is_named_with_the_way_to_install_it():
    """A clear sentence and exit 1, nothing started, where it was asked for by name."""
    bench = ran("metadata_get", "--only", "keep-alive", PATH="")

    assert bench.returncode == 1
    assert bench.stderr == (
        "metadata_get: needs wrk. Install with `make parts` (as root); Python's with `make bench`.\n"
    )


def test_without_a_part_the_others_go_on_and_the_results_say_what_was_left_out(tmp_path):
    """Issue: without a part it says which is missing and goes on with the others."""
    bench = ran("run", "--quick", "--only", "metadata_get", "client_import", "--out", str(tmp_path), PATH="")

    assert bench.returncode == 0, bench.stderr
    page = (tmp_path / "RESULTS.md").read_text()
    left_out = page.partition("## Left out")[2].partition("\n## ")[0]
    assert "- metadata_get: keep-alive needs wrk" in left_out
    assert "- metadata_get: go needs go" in left_out
    assert "| close | " in page
    assert bool(find_spec("flask")) != ("flask-mock needs flask" in left_out)


def test_fleets_of_two_sizes_are_measured_side_by_side(tmp_path):
    """Every VM asks and is answered rightly, changes are made and seen; each figure stands in the table and in the file."""
    script = [sys.executable, "benchmarks/fleet_size.py", "--vms", "60", "200", "--rounds", "1", "--seconds", "0.1"]
    script += ["--changes", "1", "--json", str(tmp_path / "figures.json")]
    ran = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-13].split() == ["60", "VMs", "200", "VMs"]
    figures = json.loads((tmp_path / "figures.json").read_text())["figures"]
    assert [(one["vms"], len(one["visible_ms"])) for one in figures] == [(60, 1), (200, 1)]


def test_a_fleet_is_made_as_the_product_makes_it(tmp_path):
    """As many VMs, the same fleet; no address twice, and none that other things on this machine use."""
    script = [sys.executable, "benchmarks/measuring/fleet.py", str(tmp_path / "notbefore.db"), "--vms", "1010"]
    made = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    again = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    check = [str(Path(sys.executable).with_name("notbefore")), "store", "check", "--state", str(tmp_path)]
    checked = subprocess.run(check, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)

    assert made.returncode == 0, made.stderr
    assert (again.returncode, again.stderr) == (1, f"fleet: {tmp_path}/notbefore.db is there already\n")
    assert checked.returncode == 0, checked.stdout + checked.stderr
