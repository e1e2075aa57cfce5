"""The pages on maintaining hosts and rolling out are executed: every shell block as printed, against a real server."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pages import DOCS, FENCE, text_of
from tutorial_run import steps_of, without_ids_and_times

HOSTS_PAGE = DOCS / "how-to" / "maintain-hosts.md"
ROLL_OUT_PAGE = DOCS / "how-to" / "roll-out.md"


@pytest.fixture
def fleet(lab, tmp_path):
    """The fleet of the first page, applied; and how a shell finds the server."""
    (toml,) = [text for language, text in FENCE.findall(text_of(HOSTS_PAGE)) if language == "toml"]
    (tmp_path / "fleet.toml").write_text(toml)
    env = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "NOTBEFORE_URL": lab.server.control_url,
        "NOTBEFORE_TOKEN": lab.server.token,
    }
    subprocess.run(["notbefore", "apply", tmp_path / "fleet.toml"], env=env, check=True, capture_output=True)
    return env


def ids_now(lab):
    """What the reader has read from the screen before."""
    rollouts = lab.control("GET", "/v1/rollouts").json["rollouts"]
    operations = lab.control("GET", "/v1/operations").json["operations"]
    events = [one for one in lab.control("GET", "/v1/events").json["events"] if one["scope"] == "shop"]
    found = {"ROLLOUT": rollouts, "OPERATION": operations, "SHOPS_EVENT": events}
    return {name: things[0]["id"] for name, things in found.items() if things}


@pytest.mark.parametrize("page", [HOSTS_PAGE, ROLL_OUT_PAGE], ids=lambda page: page.stem)
def test_every_block_of_the_page_works_and_prints_what_the_page_says(lab, fleet, page):
    """Every line as printed, in order; ids and times differ."""
    steps = steps_of(page)
    for step in steps:
        printed = ""
        for line in step.lines.splitlines():
            lab.advance(0)
            env = {**fleet, **ids_now(lab)}
            ran = subprocess.run(["bash", "-euc", line], env=env, capture_output=True, text=True, check=False)
            assert (ran.returncode, ran.stderr) == (0, ""), line
            printed += ran.stdout
        said = without_ids_and_times(printed)
        for line in without_ids_and_times(step.shown).splitlines():
            assert line in said, f"{step.lines}\nprinted\n{printed}"

    assert len(steps) >= 4
