"""notbefore-agent.pyz: one file, run where only Python is."""

import hashlib
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from lab import lab_settings, open_lab
from parts import python27, pythons

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts/agent-pyz"
# What may ship into a VM.
ROOMS = {"__init__.py", "agent", "client", "core", "toml_lines.py", "wire"}
IMPORT_ALL = """
import importlib, sys, zipfile
sys.path.insert(0, sys.argv[1])
for name in zipfile.ZipFile(sys.argv[1]).namelist():
    if name != "__main__.py":
        importlib.import_module(name.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
"""
AS_IF_OLD = "import runpy, sys; sys.version_info = (3, 10); runpy.run_path(sys.argv[1], run_name='__main__')"
NOTHING_ELSE = {"PATH": "/nonexistent", "HOME": "/nonexistent"}


@pytest.fixture(scope="module")
def pyz(tmp_path_factory):
    out = tmp_path_factory.mktemp("pyz")
    subprocess.run([sys.executable, SCRIPT, out], check=True)
    return out / "notbefore-agent.pyz"


@pytest.fixture
def run(pyz, tmp_path):
    """The file with a bare interpreter, in an empty directory: no environment, no site-packages, no checkout."""
    (tmp_path / "empty").mkdir()

    def run(*words, python=None, **env):
        return subprocess.run(
            [python or bare_python(), "-I", "-S", pyz, *words],
            cwd=tmp_path / "empty",
            env={**NOTHING_ELSE, **env},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    return run


def bare_python():
    """The interpreter itself, not the one of an environment with the program in it."""
    return getattr(sys, "_base_executable", None) or sys.executable


def test_it_holds_the_agent_and_what_it_stands_on_and_nothing_of_the_server(pyz):
    """The agent's every module; beside them only rooms that ship into VMs, and nothing that is not source."""
    with zipfile.ZipFile(pyz) as archive:
        names = archive.namelist()

    agent = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src/notbefore/agent").rglob("*.py")}
    assert agent <= set(names)
    assert {Path(name).parts[1] for name in names if name != "__main__.py"} == ROOMS
    assert all(name.endswith(".py") for name in names)


def test_everything_in_it_can_be_imported(pyz):
    """Nothing is missed that is found by its name, as kinds of steps are, or imported late."""
    ran = subprocess.run(
        [bare_python(), "-I", "-S", "-c", IMPORT_ALL, pyz],
        capture_output=True,
        text=True,
        check=False,
        env=NOTHING_ELSE,
    )

    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_same_sources_give_the_same_bytes(pyz, tmp_path):
    """Whoever builds, when, where, with whatever Python."""
    other = tmp_path / "elsewhere.pyz"
    env = {**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"}
    subprocess.run([pythons("3.12"), SCRIPT, other], check=True, cwd=tmp_path, env=env, umask=0o077)

    assert digest(other) == digest(pyz)
    assert os.access(other, os.X_OK)


def digest(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_it_says_its_version(run):
    ran = run("--version")

    assert (ran.returncode, ran.stderr) == (0, "")
    assert re.fullmatch(r"notbefore-agent \d+\.\d+\.\d+\n", ran.stdout)


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_its_example_passes_its_check_on_every_python_it_is_for(run, version, tmp_path):
    """`example` and `check` need nothing but the interpreter."""
    with open_lab(
        lab_settings(tmp_path / "server", listeners=[{"address": "127.0.0.1:0", "vm": "fleet/web-1"}])
    ) as lab:
        lab.declare("fleet", "web-1", listening="always")
        python = pythons(version)
        example = run("example", python=python).stdout
        config = tmp_path / "agent.toml"
        config.write_text(example.replace("[agent]", f'[agent]\nstate = "{tmp_path}/state"', 1))

        checked = run("check", "--config", config, python=python, NOTBEFORE_ENDPOINT=lab.server.metadata_urls[0])

    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "ok    this VM is web-1" in checked.stdout


def test_it_begins_by_itself_where_python_is_on_the_path(pyz):
    """Its first line finds Python; its name does not matter."""
    ran = subprocess.run([pyz, "--version"], capture_output=True, text=True, check=True)

    assert ran.stdout.startswith("notbefore-agent ")


OLD = [("3.10", [sys.executable, "-c", AS_IF_OLD])]
if python27():
    OLD.append(("2.7", [python27()]))


@pytest.mark.parametrize(("version", "words"), OLD, ids=[version for version, _ in OLD])
def test_an_older_python_is_told_so(pyz, version, words):
    """A sentence, not the first thing it cannot read."""
    ran = subprocess.run([*words, pyz, "--version"], capture_output=True, text=True, check=False)

    assert ran.returncode == 1
    assert ran.stderr == f"notbefore-agent needs Python 3.11 or newer; this is {version}.\n"
