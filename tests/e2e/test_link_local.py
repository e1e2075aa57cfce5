"""The seeds to the letter: their curl lines and their Python sample on 169.254.169.254, in network namespaces."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from namespaces import host_with
from served import PROGRAM, ServerProcess

from parts import python27

pytestmark = [pytest.mark.part("netns"), pytest.mark.part("ip"), pytest.mark.part("curl")]

VMS = ("FrontEnd_IN_0", "BackEnd_IN_0", "FrontEnd_IN_1")
SAMPLES = Path(__file__).parent / "samples"
BASE = ["EventId", "EventStatus", "EventType", "ResourceType", "Resources", "NotBefore"]
VERSIONS = {
    "2017-03-01": BASE,
    "2017-08-01": BASE,
    "2017-11-01": BASE,
    "2019-01-01": BASE,
    "2019-04-01": [*BASE, "Description"],
    "2019-08-01": [*BASE, "Description", "EventSource"],
    "2020-07-01": [*BASE, "Description", "EventSource", "DurationInSeconds"],
}


@pytest.fixture(scope="module")
def host():
    with host_with(*VMS) as up:
        yield up


@pytest.fixture
def server(host, tmp_path):
    """The service on the hypervisor, the seeds' cloud service declared through its own CLI."""
    inside = host.inside()
    env = {"NOTBEFORE_METADATA_RATE_LIMIT_PER_S": "0"}
    served = ServerProcess(
        tmp_path / "state",
        "--clock",
        "manual",
        inside=inside,
        metadata="169.254.169.254:80",
        control="127.0.0.1:8255",
        env=env,
    )
    fleet = tmp_path / "fleet.toml"
    fleet.write_text(
        '[scopes.web]\nkind = "cloud-service"\n'
        + "".join(
            f'[[scopes.web.vms]]\nname = "{name}"\nupdate_domain = {name[-1]}\naddresses = ["{address}"]\nspot = true\n'
            for name, address in host.vms.items()
        )
    )
    with served:
        served.cli = lambda *words: (
            subprocess.run(
                [*inside, PROGRAM, "--state", str(tmp_path / "state"), *words],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        served.cli("apply", str(fleet))
        yield served


def events_of(served):
    return json.loads(served.cli("events", "--json"))


def test_the_seeds_curl_lines_work_to_the_letter(host, server):
    """Seeds, "Query for events" and "Starting an event": both lines as printed, the EventId filled in."""
    ask = "curl -H Metadata:true http://169.254.169.254/metadata/scheduledevents?api-version=2017-03-01"
    approve = (
        """curl -H Metadata:true -X POST -d '{"DocumentIncarnation":"5", "StartRequests": [{"EventId": "%s"}]}' """
        "http://169.254.169.254/metadata/scheduledevents?api-version=2017-03-01"
    )
    assert json.loads(host.shell_in("FrontEnd_IN_0", ask).stdout) == {"DocumentIncarnation": 1, "Events": []}

    server.cli("maintain", "Reboot", "--scope", "web", "--update-domain", "0")
    (event,) = json.loads(host.shell_in("FrontEnd_IN_1", ask).stdout)["Events"]
    assert event["Resources"] == ["FrontEnd_IN_0", "BackEnd_IN_0"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", event["NotBefore"])

    assert host.shell_in("BackEnd_IN_0", approve % event["EventId"].lower()).stdout == ""
    (started,) = json.loads(host.shell_in("FrontEnd_IN_0", ask).stdout)["Events"]
    assert (started["EventStatus"], started["NotBefore"]) == ("Started", "")

    server.cli("clock", "advance", "30s")
    assert json.loads(host.shell_in("FrontEnd_IN_0", ask).stdout)["Events"] == []


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_shows_its_fields_on_the_real_address(host, server, version):
    """Issue: in a namespace, each of the seven versions shows exactly the fields, types and date format of SPEC §2.2."""
    url = f'curl -s -H Metadata:true "http://169.254.169.254/metadata/scheduledevents?api-version={version}"'
    host.shell_in("FrontEnd_IN_0", url)
    for operation in ("restart", "redeploy", "freeze", "evict", "terminate"):
        server.cli(operation, "FrontEnd_IN_0")

    events = json.loads(host.shell_in("FrontEnd_IN_1", url).stdout)["Events"]

    known = {"Reboot", "Redeploy", "Freeze"}
    known |= {"Preempt"} if version >= "2017-11-01" else set()
    known |= {"Terminate"} if version >= "2019-01-01" else set()
    assert {event["EventType"] for event in events} == known
    assert {tuple(event) for event in events} == {tuple(VERSIONS[version])}
    dates = (
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ" if version == "2017-03-01" else r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT"
    )
    assert all(re.fullmatch(dates, event["NotBefore"]) for event in events)


def test_a_vm_that_takes_anothers_address_is_not_taken_for_it(host, server):
    """SPEC §5: identity is the source address; the hypervisor's reverse path check makes it unforgeable."""
    stolen = host.vms["BackEnd_IN_0"]
    vm = host.namespace_of("FrontEnd_IN_0")
    subprocess.run(["ip", "-n", vm, "addr", "add", f"{stolen}/32", "dev", "eth0"], check=True)
    try:
        line = f"curl -s -m 1 --interface {stolen} -H Metadata:true http://169.254.169.254/metadata/scheduledevents?api-version=2020-07-01"
        tried = subprocess.run([*host.inside("FrontEnd_IN_0"), "bash", "-c", line], capture_output=True, check=False)
    finally:
        subprocess.run(["ip", "-n", vm, "addr", "del", f"{stolen}/32", "dev", "eth0"], check=True)

    assert tried.returncode != 0
    assert tried.stdout == b""


def test_ask_uses_the_link_local_address_by_itself(host, server):
    """DESIGN §4: `notbefore ask`: as a VM, what does the endpoint say."""
    said = host.run_in("FrontEnd_IN_0", PROGRAM, "ask").stdout

    assert "No events are scheduled." in said


PYTHONS = [pytest.param(sys.executable, "scheduled_events_py3.py", id="ported to 3")]
if python27():
    PYTHONS.append(pytest.param(python27(), "scheduled_events_py2.py", id="2.7 as written"))


@pytest.mark.parametrize(("python", "sample"), PYTHONS)
def test_the_seeds_python_sample_tells_its_own_host(host, server, python, sample):
    """Seeds, "Python sample" (its `eventype` typo mended): prints the event of the host it runs on, and only that."""
    host.run_in("FrontEnd_IN_0", python, str(SAMPLES / sample))
    server.cli("restart", "FrontEnd_IN_0")
    not_before = events_of(server)[0]["not_before"]

    concerned = host.run_in("FrontEnd_IN_0", python, str(SAMPLES / sample)).stdout
    other = host.run_in("FrontEnd_IN_1", python, str(SAMPLES / sample)).stdout

    assert concerned == f"+ Scheduled Event. This host is scheduled for Reboot not before {not_before}\n"
    assert other == ""
