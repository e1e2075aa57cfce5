"""The packages, built once for all tests, and the program installed from them outside the checkout."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    """A directory with the sdist and the wheel, by the script behind `make dist`."""
    out = tmp_path_factory.mktemp("dist")
    env = {**os.environ, "PYTHON": sys.executable}
    built = subprocess.run([ROOT / "scripts/dist", out], env=env, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return out


@pytest.fixture(scope="session")
def installed(packages, tmp_path_factory):
    """The bin/ of a fresh environment with the wheel; what it depends on is borrowed from the environment of the tests."""
    venv = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    python = venv / "bin/python"
    [wheel] = packages.glob("*.whl")
    words = ["--python", python, "--disable-pip-version-check", "install", "--quiet", "--no-index", "--no-deps", wheel]
    # What PYTHONPATH names would count as installed already.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([sys.executable, "-m", "pip", *words], env=env, check=True)
    [site] = venv.glob("lib/*/site-packages")
    # A .pth adds the directory, but not the .pth files in it: the checkout itself is not borrowed.
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return venv / "bin"
