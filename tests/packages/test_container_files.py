"""The container files, read as an engine would read them. They are checked here, not built: that needs an engine."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from service_manager import PROGRAM

from notbefore.settings import Settings

ROOT = Path(__file__).parents[2]
FILES = ROOT / "deploy/container"
STATE = "/var/lib/notbefore"


def instructions():
    """Each instruction with its words, continued lines joined, comments left out."""
    text = re.sub(r"^#.*\n", "", (FILES / "Containerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [tuple(line.split(maxsplit=1)) for line in text.splitlines() if line.strip()]


def last(name):
    return [rest for one, rest in instructions() if one == name][-1]


def services():
    """The services of compose.yaml: each name with its block of lines."""
    body = (FILES / "compose.yaml").read_text().partition("\nservices:\n")[2].partition("\nvolumes:\n")[0]
    parts = re.split(r"^  (\w+):\n", body, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def value_of(block, key):
    """A value that is written on one line, as JSON where it has quotes or brackets."""
    found = re.search(rf"^ +{key}: (.*)$", block, re.MULTILINE)[1]
    return json.loads(found) if found[0] in '["' else found


def test_every_source_that_is_copied_exists_and_reaches_the_build():
    """COPY of something that is not there, or that the ignore file keeps away, fails only on somebody else's machine."""
    copied = [rest.split()[:-1] for one, rest in instructions() if one == "COPY" and not rest.startswith("--from")]
    sent = {
        line[1:] for line in (FILES / "Containerfile.dockerignore").read_text().splitlines() if line.startswith("!")
    }

    names = {name for names in copied for name in names}
    assert all((ROOT / name).exists() for name in names)
    assert names == sent


def test_the_image_is_two_stages_and_keeps_only_the_installed_program():
    """Compilers, sources and pip caches stay behind in the first."""
    bases = [rest for one, rest in instructions() if one == "FROM"]
    second = instructions()[[one for one, _ in instructions()].index("FROM", 1) :]

    assert bases == ["python:3.11-slim AS build", "python:3.11-slim"]
    assert [rest for one, rest in second if one == "COPY"] == ["--from=build /opt/notbefore /opt/notbefore"]


def test_the_container_is_not_root_and_exposes_nothing():
    """Rootless, by number; no EXPOSE, and no listener beyond the container's own loopback."""
    uid, gid = last("USER").split(":")

    assert int(uid) > 0
    assert int(gid) > 0
    assert f"--uid {uid} " in " ".join(rest for one, rest in instructions() if one == "RUN")
    assert "EXPOSE" not in [one for one, _ in instructions()]
    assert "ports:" not in (FILES / "compose.yaml").read_text()
    assert json.loads(last("CMD")) == ["serve"]


def test_state_is_on_a_volume_where_the_server_keeps_it():
    """What must survive the container is outside of it."""
    assert last("VOLUME") == STATE
    assert f"NOTBEFORE_STATE={STATE} " in last("ENV")
    assert value_of(services()["server"], "volumes") == [f"state:{STATE}"]


def test_the_healthcheck_is_healthy_while_the_server_answers_and_only_then(demo):
    """/healthz on the control address that `serve` binds without being told otherwise; here on a lab's."""
    words = json.loads(last("HEALTHCHECK").partition("CMD ")[2])
    asked = f"'http://{Settings().control.address}/healthz'"
    assert words[:2] == ["python", "-c"]
    assert asked in words[2]

    def exit_code(url):
        command = [sys.executable, "-c", words[2].replace(asked, f"'{url}/healthz'")]
        return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode

    assert exit_code(demo.server.control_url) == 0
    assert exit_code("http://127.0.0.1:1") == 1


@pytest.mark.parametrize("service", ["server", "vm"])
def test_the_commands_of_compose_are_ones_the_program_takes(service):
    """Every flag exists."""
    command, *words = value_of(services()[service], "command")
    told = subprocess.run([PROGRAM, command, "--help"], capture_output=True, text=True, check=True).stdout

    assert all(f" {word} " in told for word in words if word.startswith("--"))


def test_the_vm_of_compose_asks_where_the_server_answers():
    """Sharing the server's network, it finds the metadata service on the default address."""
    vm = services()["vm"]
    _, *words = value_of(vm, "command")

    assert value_of(vm, "network_mode") == "service:server"
    assert words[words.index("--endpoint") + 1] == f"http://{Settings().metadata.listeners[0].address}"


def test_compose_builds_the_containerfile_and_takes_every_privilege_away():
    """The paths are seen from the compose file."""
    server = services()["server"]
    context = (FILES / value_of(server, "context")).resolve()

    assert context == ROOT
    assert (context / value_of(server, "dockerfile")) == FILES / "Containerfile"
    for block in services().values():
        assert value_of(block, "cap_drop") == ["ALL"]
        assert value_of(block, "read_only") == "true"
        assert value_of(block, "security_opt") == ["no-new-privileges:true"]


def test_the_build_lines_are_valid_shell():
    """Each RUN, read by a shell that does not run it."""
    for line in [rest for one, rest in instructions() if one == "RUN"]:
        subprocess.run(["sh", "-n", "-c", line], check=True)
        assert shlex.split(line)
