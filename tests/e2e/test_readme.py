"""The README is executed: a newcomer's lines, as printed, on the default ports, in a network namespace of their own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from served import ServerProcess

pytestmark = [pytest.mark.part("netns"), pytest.mark.part("ip"), pytest.mark.part("curl")]

ROOT = Path(__file__).parents[2]


def blocks(text):
    """The shell lines of the section "Try it", block by block."""
    section = text.partition("## Try it")[2].partition("\n## ")[0]
    return re.findall(r"```sh\n(.*?)```", section, re.DOTALL)


@pytest.fixture
def namespace():
    name = f"nb{os.getpid()}-readme"
    subprocess.run(["ip", "netns", "add", name], check=True)
    subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
    yield ["ip", "netns", "exec", name]
    subprocess.run(["ip", "netns", "del", name], check=True)


def test_the_lines_of_try_it_work_as_printed(tmp_path, namespace):
    """Issue: the README's curl, restart, approve lines then work as printed."""
    serve, ask, restart, approve, manual = blocks((ROOT / "README.md").read_text())
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    env.pop("NOTBEFORE_STATE", None)

    def run(block):
        # Where the tests run, the program may stand in another environment than .venv.
        lines = block.replace(".venv/bin/", str(Path(sys.executable).parent) + "/")
        return subprocess.run(
            [*namespace, "bash", "-euo", "pipefail", "-c", lines], env=env, capture_output=True, text=True, check=True
        ).stdout

    assert serve == "make run\n"
    assert "serve --demo --clock manual" in manual
    server = ServerProcess(
        tmp_path / "notbefore", "--demo", inside=namespace, metadata="127.0.0.1:8254", control="127.0.0.1:8255"
    )
    with server:
        assert run(ask) == '{"DocumentIncarnation":1,"Events":[]}'
        assert "Scheduled" in run(restart)
        approved = run(approve)

    assert approved.count("Scheduled") == 1
    assert "Started" in approved
    assert "approved by vm FrontEnd_IN_0" in approved
