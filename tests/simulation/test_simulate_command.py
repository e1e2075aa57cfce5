"""`notbefore simulate`: seeds, coverage, stories, and what a broken promise looks like on the terminal."""

import os
import re
import shlex
import subprocess
import sys

import pytest
from planted import FAULTS, planted_in

PROGRAM = "from notbefore.cli.main import main; main()"
TWO_DOMAINS = next(fault for fault in FAULTS if fault.name == "two update domains at once")


def simulate(*options, source=None, command="simulate"):
    env = {**os.environ, **({"PYTHONPATH": str(source)} if source else {})}
    line = [sys.executable, "-c", PROGRAM, command, *map(str, options)]
    return subprocess.run(line, env=env, capture_output=True, text=True, check=False)


def test_a_seed_says_its_digest_and_twice_the_same():
    """One seed is one run."""
    first, second = (simulate("--seed", 3, "--hours", 2, "--nodes", 1) for _ in range(2))

    sentence = r"1 seed of 2 hours on 1 machine: no promise broken in \d+ steps, digest [0-9a-f]{16}\n"
    assert re.fullmatch(sentence, first.stdout), first
    assert first.returncode == 0
    assert first.stdout == second.stdout
    assert "hours a second" in first.stderr


def test_several_seeds_are_run_side_by_side_with_the_same_result():
    """The number of processes is no part of a run."""
    one, two = (simulate("--seeds", 4, "--hours", 1, "--jobs", jobs) for jobs in (1, 2))

    assert one.stdout == two.stdout
    assert one.stdout.startswith("4 seeds of 1 hours on 3 machines: no promise broken")


def test_the_story_tells_every_step_and_ends_with_its_digest():
    """A story to read: who did what, when, and why."""
    told = simulate("--seed", 3, "--hours", 2, "--nodes", 2, "--story")
    *lines, end = told.stdout.splitlines()

    assert lines[0].startswith("00:00:00.")
    assert any("commits shop" in line for line in lines)
    assert lines == sorted(lines, key=lambda line: line.split()[0])
    assert re.fullmatch(rf"seed 3: no promise broken, {len(lines)} steps, digest [0-9a-f]{{16}}", end)


def test_coverage_shows_holes_as_zeros():
    """What a run did not reach is named."""
    covered = simulate("--seed", 3, "--hours", 1, "--coverage").stdout

    assert re.search(r"^ +0  pair ", covered, re.MULTILINE)
    assert re.search(r"^ +[1-9]\d*  transition nothing -> scheduled$", covered, re.MULTILINE)
    assert "refusal unauthorized  (" in covered


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--keep", "1,x"), "--keep takes numbers"),
        (("--story", "--seeds", "2"), "for one seed"),
        (("--nodes", "4"), "--nodes"),
        (("--hours", "0"), "--hours"),
        (("--seed", "many"), "--seed"),
        (("--keep", "999999"), "no act 999999"),
    ],
)
def test_wrong_usage_is_explained_in_a_sentence(options, complaint):
    """Exit code 2, one sentence, no traceback."""
    refused = simulate(*options)

    assert refused.returncode == 2
    assert complaint in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not refused.stdout


def test_a_broken_promise_ends_with_its_story_cut_down_and_how_to_replay_it(tmp_path):
    """A failing seed prints a story cut down to what matters, replayable."""
    source = planted_in(TWO_DOMAINS, tmp_path)
    broken = simulate("--seeds", 20, "--hours", 6, "--nodes", 2, source=source)

    assert broken.returncode == 1
    assert "Traceback" not in broken.stderr
    sentence, hint = broken.stderr.splitlines()[-2:]
    replay = shlex.split(re.search(r"`notbefore (.*)`", hint).group(1))
    assert re.match(r"Seed \d+ breaks S5: ", sentence)
    assert len(replay[replay.index("--keep") + 1].split(",")) <= 8, "a handful of acts is enough for this one"
    assert len(broken.stdout.splitlines()) < 600

    again = simulate(*replay[1:], source=source)

    assert again.returncode == 1
    assert again.stderr.splitlines()[0] == sentence
    assert again.stdout == broken.stdout
    assert simulate(*replay[1:]).returncode == 0, "the right program keeps the promise on the same acts"
