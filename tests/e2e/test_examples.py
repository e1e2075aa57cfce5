"""The samples in examples/ at work: each in a VM's namespace against a real server on 169.254.169.254."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from namespaces import LINK_LOCAL, host_with
from served import PROGRAM, ServerProcess
from unsteady_server import MINE, SUDDEN

from parts import NEWTONSOFT_JSON, missing_part

pytestmark = [pytest.mark.part("netns"), pytest.mark.part("ip")]

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
LOOKS = 60
ME, OTHER = "FrontEnd_IN_0", "FrontEnd_IN_1"
SAMPLES = ("watch.py", "watch.sh", "Watch.cs", "watch.go", "watch.mjs")


@pytest.fixture(scope="module")
def host():
    with host_with(ME, OTHER) as up:
        yield up


@pytest.fixture
def server(host, tmp_path):
    inside = host.inside()
    served = ServerProcess(
        tmp_path / "state",
        *("--clock", "manual"),
        inside=inside,
        metadata="169.254.169.254:80",
        control="127.0.0.1:8255",
    )
    fleet = tmp_path / "fleet.toml"
    vms = (f'[[scopes.web.vms]]\nname = "{name}"\naddresses = ["{address}"]\n' for name, address in host.vms.items())
    fleet.write_text(
        '[scopes.web]\nkind = "cloud-service"\n[scopes.web.settings]\nlistening = "always"\n' + "".join(vms)
    )

    def cli(*words):
        command = [*inside, PROGRAM, "--state", str(tmp_path / "state"), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout

    with served:
        served.cli = cli
        cli("apply", str(fleet))
        yield served


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """What runs a sample: the words of a command."""
    place = tmp_path_factory.mktemp("built")

    def command(sample):
        if sample == "watch.py":
            return [sys.executable, EXAMPLES / sample]
        if sample == "watch.sh":
            missing_part("curl")
            missing_part("jq")
            return ["bash", EXAMPLES / sample]
        if sample == "watch.mjs":
            missing_part("node")
            return ["node", EXAMPLES / sample]
        return go_program(place) if sample == "watch.go" else mono_program(EXAMPLES / sample, place)

    return command


def go_program(place):
    missing_part("go")
    env = {**os.environ, "GOCACHE": str(place / "gocache"), "GO111MODULE": "off", "GOFLAGS": ""}
    program = place / "watch-go"
    subprocess.run(["go", "build", "-o", program, EXAMPLES / "watch.go"], env=env, check=True, timeout=280)
    return [program]


def mono_program(source, place):
    missing_part("mono")
    program = place / f"{source.stem}.exe"
    subprocess.run(["mcs", f"-r:{NEWTONSOFT_JSON}", f"-out:{program}", source], check=True, timeout=120)
    shutil.copy(NEWTONSOFT_JSON, place)
    return ["mono", program]


def events(server):
    return {event["vms"][0]: event for event in json.loads(server.cli("events", "--json"))}


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_sample_prepares_approves_recovers_and_watches_on(host, server, built, sample):
    """Issue: all six samples run (PowerShell aside) and approve a real event: theirs, and nobody else's. Twice."""
    env = {**os.environ, "http_proxy": "http://127.0.0.1:1", "HTTP_PROXY": "http://127.0.0.1:1"}
    with subprocess.Popen([*host.inside(ME), *built(sample)], env=env, stdout=subprocess.PIPE, text=True) as running:
        try:
            server.cli("restart", OTHER)
            for operation, event_type in (("restart", "Reboot"), ("redeploy", "Redeploy")):
                server.cli(operation, ME)
                event_id = events(server)[ME]["id"]
                line_with(running, rf"preparing: {event_type} of {event_id}, not before \S")
                is_started(server, event_id)
                server.cli("clock", "advance", "2m")
                line_with(running, f"recovering: {event_id} is over")
        finally:
            running.terminate()

    assert events(server)[OTHER]["status"] == "Scheduled"
    assert events(server)[OTHER]["approvals"] == []


def line_with(running, pattern):
    for line in running.stdout:
        if re.search(pattern, line):
            return
    raise AssertionError(f"it ended without saying {pattern}")


def is_started(server, event_id):
    """Wait for the sample's word to arrive."""
    for _ in range(LOOKS):
        if events(server)[ME]["status"] == "Started":
            return
    raise AssertionError(f"{event_id} was not approved")


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_sample_gets_over_a_bad_day(host, built, sample):
    """README of the samples: a failed question changes nothing; an error, a redirect or a wrong answer is not "no events".
    An approval is given once, and again only when it did not get through."""
    words = [sys.executable, HERE / "unsteady_server.py", LINK_LOCAL]
    with subprocess.Popen([*host.inside(), *words], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout.readline() == "serves\n"
            said = said_until([*host.inside(ME), *built(sample)], f"recovering: {SUDDEN}")
        finally:
            server.terminate()
        asked = [line.split()[1:] for line in server.stdout]

    done = [line for line in said if line.startswith(("preparing", "recovering"))]
    assert [line.partition(":")[0] for line in done] == ["preparing", "recovering"] * 2
    assert [event_id in line for line, event_id in zip(done, (MINE, MINE, SUDDEN, SUDDEN), strict=True)] == [True] * 4
    assert [line for line in asked if line[0] == "approval"] == [["approval", "500", MINE], ["approval", "200", MINE]]
    assert "elsewhere" not in {line[0] for line in asked}


def said_until(words, last):
    """What a program says, up to a line that begins so."""
    said = []
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
        try:
            for line in running.stdout:
                said.append(line)
                if line.startswith(last):
                    return said
        finally:
            running.terminate()
    raise AssertionError(f"it ended with {said}")


@pytest.mark.parametrize("sample", [*SAMPLES, "watch.ps1"])
def test_a_sample_is_short(sample):
    """Each under 80 lines."""
    assert len((EXAMPLES / sample).read_text().splitlines()) < 80


def test_every_sample_is_listed():
    """In the page about them."""
    listed = set(re.findall(r"\]\(([Ww]atch\.\w+)\)", (EXAMPLES / "README.md").read_text()))

    assert listed == {*SAMPLES, "watch.ps1"} == {path.name for path in EXAMPLES.glob("[Ww]atch*")}
