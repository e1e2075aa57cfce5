"""The seeds' C# and PowerShell samples do what their text says; the Python one is in test_link_local.py.

C# is mended in three places: `GetDocument` is `GetScheduledEvents`, the keyword `event` is escaped, the POST has its header.
PowerShell runs nowhere here: what it sends is written out below, as Windows PowerShell 5.1 sends it, and sent.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from namespaces import host_with
from served import PROGRAM, ServerProcess

from parts import NEWTONSOFT_JSON

SAMPLES = Path(__file__).parent / "samples"
ME = "FrontEnd_IN_0"

# -- C#


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    place = tmp_path_factory.mktemp("compiled")
    program = place / "Sample.exe"
    words = ["mcs", f"-r:{NEWTONSOFT_JSON}", f"-out:{program}", SAMPLES / "ScheduledEventsSample.cs"]
    subprocess.run(words, check=True, timeout=120)
    shutil.copy(NEWTONSOFT_JSON, place)
    return program


@pytest.mark.part("netns")
@pytest.mark.part("ip")
@pytest.mark.part("mono")
def test_the_csharp_sample_approves_each_outstanding_event(compiled, tmp_path):
    """Seeds: "queries the metadata service for scheduled events and approves each outstanding event"."""
    with host_with(ME) as host:
        server = ServerProcess(
            tmp_path / "state",
            *("--clock", "manual"),
            inside=host.inside(),
            metadata="169.254.169.254:80",
            control="127.0.0.1:8255",
        )
        fleet = tmp_path / "fleet.toml"
        vm = f'name = "{ME}"\naddresses = ["{host.vms[ME]}"]\n'
        fleet.write_text(f'[scopes.web]\n[scopes.web.settings]\nlistening = "always"\n[[scopes.web.vms]]\n{vm}')

        def cli(*words):
            command = [*host.inside(), PROGRAM, "--state", str(tmp_path / "state"), *words]
            return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout

        with server:
            cli("apply", str(fleet))
            cli("restart", ME)
            cli("freeze", ME)
            said = approved_by(compiled, host)
            events = json.loads(cli("events", "--json"))

    sent = json.loads(re.search(r"Approving events with json: (.*)", said)[1])
    assert [request["EventId"] for request in sent["StartRequests"]] == [event["id"] for event in events]
    assert isinstance(sent["DocumentIncarnation"], str)
    assert {event["status"] for event in events} == {"Started"}


def approved_by(program, host):
    """Press Enter once, and read until it is done."""
    words = [*host.inside(ME), "mono", program]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        running.stdin.write("\n")
        running.stdin.flush()
        said = ""
        for line in running.stdout:
            said += line
            if line.startswith("Complete."):
                break
        running.kill()
    return said


def test_the_csharp_sample_is_mended_in_three_places_only():
    """Everything else is the seeds' own."""
    text = (SAMPLES / "ScheduledEventsSample.cs").read_text()

    assert "GetDocument" not in text
    assert text.count("@event") == 2
    assert text.count('Headers.Add("Metadata", "true")') == 2


# -- PowerShell

AGENT = "Mozilla/5.0 (Windows NT; Windows NT 10.0; en-US) WindowsPowerShell/5.1.17763.1852"
HEADERS = {"Metadata": "true", "User-Agent": AGENT}
POSTED = {"Content-Type": "application/x-www-form-urlencoded", "Expect": "100-continue"}


def to_json(event_id, incarnation):
    """ConvertTo-Json of the sample's hashtable: a list of one, a number, in lines with Windows' ends."""
    request = f'{{\r\n                              "EventId":  "{event_id}"\r\n                          }}'
    return f'{{\r\n    "DocumentIncarnation":  {incarnation},\r\n    "StartRequests":  [\r\n                          {request}\r\n                      ]\r\n}}'


def test_what_the_powershell_sample_sends_approves_each_event(demo):
    """One by one, with one incarnation for all [seed]."""
    for vm in (ME, "BackEnd_IN_0"):
        demo.made("demo", vm, "restart")
    document = demo.ask(version="2017-03-01", headers=HEADERS).json

    for event in document["Events"]:
        body = to_json(event["EventId"], document["DocumentIncarnation"])
        reply = demo.ask(version="2017-03-01", method="POST", body=body, headers={**HEADERS, **POSTED})
        assert (reply.status, reply.body) == (200, b"")

    assert {event["EventStatus"] for event in demo.document(version="2017-03-01")["Events"]} == {"Started"}


def test_the_powershell_sample_sends_what_is_sent_here():
    """Two calls: a GET and a POST, both with the header, on the address of the seeds."""
    text = (SAMPLES / "scheduled_events.ps1").read_text()
    calls = re.findall(r"Invoke-RestMethod (.*)", text)

    assert calls == [
        '-Headers @{"Metadata"="true"} -URI $uri -Method get',
        '-Uri $uri -Headers @{"Metadata"="true"} -Method POST -Body $approvalString',
    ]
    assert '@{"StartRequests" = $startRequests; "DocumentIncarnation" = $docIncarnation}' in text


# -- our own, in PowerShell

WATCH = (Path(__file__).parents[2] / "examples" / "watch.ps1").read_text()
CALL = re.compile(
    r'Invoke-RestMethod -Method (?P<method>\w+) -Uri (?P<uri>"[^"]+"|\$\w+) -Headers \$headers'
    r'(?P<typed> -ContentType "application/json" -Body \$approval)? -TimeoutSec \$limit -MaximumRedirection 0'
)


def resolved(text):
    """A string of the sample with its variables filled in."""
    variables = dict(re.findall(r'^\$(\w+) = "([^"]*)"', WATCH, re.MULTILINE))
    while found := re.search(r"\$(\w+)", text):
        text = text.replace(found[0], variables[found[1]])
    return text.strip('"')


def test_every_call_of_our_powershell_sample_is_answered(demo):
    """PowerShell reviewed against its HTTP: each call taken apart and sent to a real server as it stands."""
    calls = list(CALL.finditer(WATCH))
    assert len(calls) == WATCH.count("Invoke-RestMethod") == 3
    assert '$headers = @{ Metadata = "true" }' in WATCH
    assert "$approval = @{ StartRequests = @(@{ EventId = $id }) } | ConvertTo-Json -Compress" in WATCH
    event = demo.made("demo", ME, "restart")

    for call in calls:
        address, _, target = resolved(call["uri"]).removeprefix("http://").partition("/")
        assert address == "169.254.169.254"
        body = json.dumps({"StartRequests": [{"EventId": event["id"]}]}) if call["typed"] else None
        path, _, query = f"/{target}".partition("?")
        reply = demo.ask(method=call["method"].upper(), path=path, query=query, body=body, headers={"Metadata": "true"})
        assert reply.status == 200, reply
        if "instance" in path:
            assert reply.json["compute"]["name"] == ME
    assert demo.event(event["id"])["status"] == "Started"
