"""A client of the field with the address written into it, unmodified: Debian's azure-events-az in the sandbox."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from served import PROGRAM

from parts import AZURE_EVENTS

CLUSTER = Path(__file__).parent / "cluster"
COMMANDS = ("crm_attribute", "crm_node", "crm_simulate", "crm_resource")

pytestmark = [
    pytest.mark.part("azure-events-az"),
    pytest.mark.part("netns"),
    pytest.mark.part("ip"),
]


@pytest.fixture
def cluster(tmp_path):
    """A cluster of two nodes, made of stand-ins, on the PATH."""
    commands, kept = tmp_path / "bin", tmp_path / "kept"
    commands.mkdir()
    kept.mkdir()
    for name in COMMANDS:
        (commands / name).write_bytes((CLUSTER / "crm_stand_in.py").read_bytes())
        (commands / name).chmod(0o755)
    env = {"PATH": f"{commands}:{os.environ['PATH']}", "CRM_DIR": str(kept), "OCF_ROOT": "/usr/lib/ocf"}
    return {**os.environ, **env}


def test_a_pacemaker_node_leaves_and_comes_back_with_one_post(cluster):
    """Issue: from AVAILABLE through STOPPING and IN_EVENT with one POST, and back; the agent as Debian ships it."""
    story = [sys.executable, str(CLUSTER / "maintenance_story.py"), str(AZURE_EVENTS), PROGRAM]
    ran = subprocess.run(
        [PROGRAM, "sandbox", "--clock", "manual", "--", *story],
        env=cluster, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip

    assert ran.returncode == 0, ran.stderr
    before, stopping, in_event, events, afterwards, history, posts = parts_of(ran.stdout)
    assert (before, stopping, in_event, afterwards) == ("AVAILABLE", "STOPPING", "IN_EVENT", "AVAILABLE")
    assert [event["status"] for event in events] == ["Started"]
    changes = [change for record in history for change in record["changes"]]
    assert [change["by"] for change in changes if change["what"] == "approved"] == ["vm web-0"]
    assert sum(float(line.split()[-1]) for line in posts) == 1
    log = (Path(cluster["CRM_DIR"]) / "log").read_text()
    assert log.index("#health-azure=-1000000") < log.index("IN_EVENT") < log.index("#health-azure=0")


def parts_of(text):
    """Words and JSON values, one after the other."""
    decoder, found, rest = json.JSONDecoder(), [], text.strip()
    while rest:
        if rest[0] in "[{":
            value, end = decoder.raw_decode(rest)
        else:
            value, end = rest.split()[0], len(rest.split()[0])
        found.append(value)
        rest = rest[end:].strip()
    return found
