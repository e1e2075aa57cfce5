"""The benchmarks run. What they measure is for people to read: no time is asserted here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CASES = ("keep-alive", "close", "fresh", "not-modified", "unique-header")


def metadata_get(*words, **env):
    script = [sys.executable, "benchmarks/metadata_get.py", *words]
    return subprocess.run(
        script, cwd=ROOT, env={**os.environ, **env}, capture_output=True, text=True, timeout=60, check=False
    )


def test_the_cost_of_importing_the_client_is_measured():
    """Each case in the table, over the bare interpreter."""
    script = [sys.executable, "benchmarks/client_import.py", "--rounds", "1"]
    ran = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)

    assert [line[:23] for line in ran.stdout.splitlines()[3:5]] == [
        "bare interpreter       ",
        "import notbefore.client",
    ]


@pytest.mark.part("wrk")
def test_one_short_round_measures_every_case_without_an_error():
    """Every case is answered rightly before and after, and stands in the table with its figures."""
    ran = metadata_get("--only", "notbefore", "--rounds", "1", "--seconds", "0.3")

    assert ran.returncode == 0, ran.stderr
    table = ran.stdout.partition("CPU microseconds per GET")[2].partition("requests per second")[0]
    assert [line.split()[0] for line in table.splitlines()[2:] if line] == list(CASES)
    assert "none of them with an error" in ran.stdout


@pytest.mark.part("wrk")
def test_a_server_that_allows_faults_is_measured_beside_one_that_does_not():
    """Issue: with no fault set the GET path is untouched (benchmark)."""
    ran = metadata_get("--only", "notbefore", "allow-faults", "close", "--rounds", "1", "--seconds", "0.3")

    assert ran.returncode == 0, ran.stderr
    table = ran.stdout.partition("CPU microseconds per GET")[2]
    assert "notbefore" in table
    assert "allow-faults" in table


def test_a_missing_program_is_named_with_the_way_to_install_it():
    """A clear sentence and exit 1, nothing started."""
    ran = metadata_get("--only", "notbefore", PATH="")

    assert ran.returncode == 1
    assert ran.stderr == "metadata_get: needs wrk. Install with `make parts` (as root).\n"


def test_the_agent_at_rest_is_measured_beside_bare_loops():
    """Everybody is answered and finds its rhythm; each case stands in the table with its figures."""
    script = [sys.executable, "benchmarks/agent_idle.py", "--seconds", "1", "--rounds", "1"]
    ran = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)

    assert ran.returncode == 0, ran.stderr
    rows = [line.split()[0] for line in ran.stdout.splitlines()[-7:]]
    assert rows == ["urllib", "http.client", "agent,", "agent,", "agent", "agent", "the"]


def test_a_few_changes_are_heard_of_by_all_who_wait():
    """Every answer is checked by the benchmark itself; a row for each number of those who wait."""
    script = [sys.executable, "benchmarks/long_poll.py", "--changes", "4", "--held", "1", "20"]
    ran = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)

    assert ran.returncode == 0, ran.stderr
    assert [line.split()[0] for line in ran.stdout.splitlines()[-3:]] == ["held", "1", "20"]


def test_the_clock_is_turned_and_its_order_holds():
    """The benchmark of the emulator's clock refuses a run in which anything happened out of order, or not at its time."""
    script = [sys.executable, "benchmarks/clock_turns.py", "--rounds", "1"]
    ran = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)

    assert ran.returncode == 0, ran.stderr
    assert [line.split()[0] for line in ran.stdout.splitlines()[1:]] == ["15", "1,000", "1,000"]
