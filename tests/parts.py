"""Real parts that some tests need: system programs and kernel features. `make parts` installs the programs.

With NOTBEFORE_REQUIRE_PARTS=1 a missing part is a failure, so that nothing is skipped in silence.
"""

import os
import shutil
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

NEWTONSOFT_JSON = Path("/usr/lib/cli/Newtonsoft.Json-5.0/Newtonsoft.Json.dll")
SYSTEMD = Path("/lib/systemd/systemd")
AZURE_EVENTS = Path("/usr/lib/ocf/resource.d/heartbeat/azure-events-az")


def _program(name):
    return None if shutil.which(name) else f"the program {name} is not installed (make parts)"


def _file(path):
    return None if path.exists() else f"{path} is not installed (make parts)"


def _netns():
    if os.geteuid() != 0:
        return "network namespaces need root"
    tried = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False)
    return None if tried.returncode == 0 else "the kernel gives no network namespace"


def _root_mount():
    if os.geteuid() != 0:
        return "mounting a file system needs root"
    tried = subprocess.run(
        ["unshare", "--mount", "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "/mnt"],
        capture_output=True,
        check=False,
    )
    return None if tried.returncode == 0 else "the kernel lets nobody here mount a file system"


def python27():
    """Python 2.7 for the seeds' own sample, wherever it is."""
    root = os.environ.get("PYENV_ROOT") or str(Path.home() / ".pyenv")
    found = [shutil.which("python2.7"), *map(str, sorted(Path(root).glob("versions/2.7*/bin/python2.7")))]
    return next((one for one in found if one and _runs(one)), None)


def postgresql_programs():
    """Where the newest PostgreSQL has its programs; None where there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda one: int(one.parts[-3]))
    return found[-1].parent if found else None


def _postgresql():
    if postgresql_programs() is None:
        return "PostgreSQL is not installed (make parts)"
    return _program("psql") or (_program("runuser") if os.geteuid() == 0 else None)


def pythons(version):
    """A Python of this version, wherever it is; a part like any other."""
    root = os.environ.get("PYENV_ROOT") or str(Path.home() / ".pyenv")
    beside = Path(sys.base_prefix).parent.glob(f"{version}.*/bin/python")
    found = [*map(str, sorted(Path(root).glob(f"versions/{version}.*/bin/python"))), *map(str, sorted(beside))]
    found.append(shutil.which(f"python{version}"))
    python = next((one for one in found if one and _runs(one)), None)
    if python is None:
        _is_missing(f"python{version}", f"there is no Python {version}, neither here nor in pyenv")
    return python


def _runs(program):
    """A shim may stand where no program is."""
    return subprocess.run([program, "-c", ""], capture_output=True, check=False).returncode == 0


def _newtonsoft_json():
    return None if NEWTONSOFT_JSON.exists() else f"{NEWTONSOFT_JSON} is not installed (make parts)"


def _ordinary_user():
    if ordinary_words() is None:
        return "no Python here that an ordinary user may run (make parts)"
    tried = subprocess.run([*ordinary_prefix(), "unshare", "--user", "--net", "true"], capture_output=True, check=False)
    return None if tried.returncode == 0 else "the kernel gives ordinary users no namespaces"


def ordinary_prefix():
    """The words before a command that is to run as an ordinary user."""
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []


@cache
def ordinary_words():
    """The program as an ordinary user may run it: the Python of these tests may lie where only root can go."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    paths = [str(Path(__file__).parent.parent / "src"), *(one for one in sys.path if one.endswith("site-packages"))]
    env = ["env", "HOME=/tmp", "PYTHONDONTWRITEBYTECODE=1", f"PYTHONPATH={':'.join(paths)}"]
    for python in (sys.executable, shutil.which(version, path="/usr/bin:/usr/local/bin")):
        words = [*ordinary_prefix(), *env, python or "", "-c", "from notbefore.cli.main import main; main()"]
        if python and subprocess.run([*words, "--version"], capture_output=True, check=False).returncode == 0:
            return words
    return None


def _system_python():
    """For what runs where homes cannot be seen: the Python of these tests may lie in one."""
    code = "import sys; sys.exit(sys.version_info < (3, 11))"
    tried = subprocess.run(["/usr/bin/env", "-i", "PATH=/usr/bin:/bin", "python3", "-c", code], check=False)
    return None if tried.returncode == 0 else "the system has no Python 3.11 or newer in /usr/bin (make parts)"


def _compiled():
    if find_spec("notbefore._system_calls"):
        return None
    return "the system calls were not compiled: a C compiler and Python's headers (make parts), then make clean dev"


PARTS = {
    "compiled": _compiled,
    "system-python": _system_python,
    "ordinary-user": _ordinary_user,
    "azure-events-az": lambda: None if AZURE_EVENTS.exists() else "resource-agents is not installed (make parts)",
    "netns": _netns,
    "root-mount": _root_mount,
    "curl": lambda: _program("curl"),
    "ip": lambda: _program("ip"),
    "strace": lambda: _program("strace"),
    "openssl": lambda: _program("openssl"),
    "groff": lambda: _program("groff"),
    "systemd-analyze": lambda: _program("systemd-analyze"),
    "systemd-socket-activate": lambda: _program("systemd-socket-activate"),
    "wrk": lambda: _program("wrk"),
    "dnsmasq": lambda: _program("dnsmasq"),
    "haproxy": lambda: _program("haproxy"),
    "nginx": lambda: _program("nginx") or _program("pgrep"),
    "postgresql": _postgresql,
    "systemd-manager": lambda: _root_mount() or _program("systemctl") or _file(SYSTEMD),
    "jq": lambda: _program("jq"),
    "go": lambda: _program("go"),
    "node": lambda: _program("node"),
    "mono": lambda: _program("mcs") or _program("mono") or _newtonsoft_json(),
}


@cache
def _reason(name):
    return PARTS[name]()


def missing_part(name):
    reason = _reason(name)
    if reason is not None:
        _is_missing(name, reason)


def _is_missing(name, reason):
    if os.environ.get("NOTBEFORE_REQUIRE_PARTS") == "1":
        pytest.fail(f"part {name} is required: {reason}")
    pytest.skip(f"part {name}: {reason}")
