"""The wheel and the sdist, as somebody without the checkout gets them."""

import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from service_manager import ANYWHERE, Manager, asked, document

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"
COMPILED = "notbefore/_system_calls.abi3.so"


@pytest.fixture
def elsewhere(tmp_path):
    """An empty directory to stand in, and an environment that says nothing of the checkout."""
    (tmp_path / "empty").mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NOTBEFORE_", "PYTHON"))}
    return {"cwd": tmp_path / "empty", "env": {**kept, "XDG_STATE_HOME": str(tmp_path / "state")}}


def test_the_wheel_has_every_file_of_the_package(packages):
    """Package data travels with the code: py.typed, named SQL, migrations, whatever a browser is given."""
    [wheel] = packages.glob("*.whl")
    wanted = {
        str(path.relative_to(SOURCES))
        for path in (SOURCES / "notbefore").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so"
    }

    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if not re.match(r"[^/]+\.dist-info/", name)}

    assert {name for name in packed if not name.endswith(".so")} == wanted
    assert "notbefore/py.typed" in packed


@pytest.mark.part("compiled")
def test_one_wheel_has_the_compiled_part_for_every_python(packages, installed, elsewhere):
    """It is built against Python's stable ABI, and it is what the installed program uses."""
    [wheel] = packages.glob("*.whl")
    assert "-cp311-abi3-linux_" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        assert [name for name in archive.namelist() if name.endswith(".so")] == [COMPILED]
    assert system_calls_of(installed / "python", elsewhere) == str(installed.parent)


def test_without_a_compiler_the_program_is_whole_all_the_same(elsewhere, tmp_path):
    """Nothing fails where there is none; the standard library's calls are used."""
    env = {**os.environ, "PYTHON": sys.executable, "CC": "no-compiler-here"}
    subprocess.run([ROOT / "scripts/dist", tmp_path / "dist"], env=env, capture_output=True, check=True)
    [wheel] = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert not [name for name in archive.namelist() if name.endswith(".so")]
        archive.extractall(tmp_path / "site")
    somewhere = {**elsewhere, "env": {**elsewhere["env"], "PYTHONPATH": str(tmp_path / "site")}}
    assert system_calls_of(sys.executable, somewhere) == "None"


def system_calls_of(python, elsewhere):
    """Where the compiled ones of this Python's notbefore lie; "None" where it has none."""
    code = "from notbefore import system_calls as s; print(s.COMPILED and s.COMPILED.__file__)"
    said = subprocess.run([python, "-c", code], **elsewhere, capture_output=True, text=True, check=True).stdout.strip()
    return said if said == "None" else str(next(one for one in Path(said).parents if (one / "bin").is_dir()))


def test_the_sdist_is_the_whole_project(packages):
    """Whoever builds from it can also test it, and install units and man pages."""
    [sdist] = packages.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert {"LICENSE", "README.md", "CHANGELOG.md", "Makefile", "requirements.txt", "tests/conftest.py"} <= names
    assert {"scripts/manpages", "scripts/completions", "deploy/systemd/notbefore.service"} <= names
    assert not [name for name in names if name.startswith(".") or "__pycache__" in name]


def test_the_installed_program_is_not_the_checkout(installed, elsewhere):
    """What these tests run is the wheel."""
    where = subprocess.run(
        [installed / "python", "-c", "import notbefore; print(notbefore.__file__)"],
        **elsewhere,
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert Path(where).is_relative_to(installed.parent)


def test_the_demo_runs_from_an_empty_directory(installed, elsewhere, tmp_path):
    """`notbefore serve --demo` needs nothing but the wheel: no checkout, no settings, no directory of its own."""
    with Manager(f"@notbefore-wheel-{os.getpid()}") as manager:
        service = manager.start("serve", "--demo", *ANYWHERE, program=installed / "notbefore", **elsewhere)
        metadata, control = service.urls()
        assert document(metadata) == (200, {"DocumentIncarnation": 1, "Events": []})
        assert asked(control, "/readyz")[0] == 200
        events = commanded(installed, elsewhere, control, "restart", "FrontEnd_IN_0", "--json")
        assert json.loads(events)[0]["status"] == "Scheduled"
        service.told(signal.SIGTERM)
        assert service.ended()[0] == 0

    assert (tmp_path / "state/notbefore/notbefore.db").exists()
    assert not list(elsewhere["cwd"].iterdir())


def commanded(installed, elsewhere, control, *words):
    env = {**elsewhere["env"], "NOTBEFORE_URL": "http://{}:{}".format(*control)}
    done = subprocess.run(
        [installed / "notbefore", *words], cwd=elsewhere["cwd"], env=env, capture_output=True, text=True, check=True
    )
    return done.stdout
