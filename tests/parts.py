"""Real parts that some tests need: system programs and kernel features. `make parts` installs the programs.

With NOTBEFORE_REQUIRE_PARTS=1 a missing part is a failure, so that nothing is skipped in silence.
"""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest


def _program(name):
    return None if shutil.which(name) else f"the program {name} is not installed (make parts)"


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


def _runs(program):
    """A shim may stand where no program is."""
    return subprocess.run([program, "-c", ""], capture_output=True, check=False).returncode == 0


PARTS = {
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
}


@cache
def _reason(name):
    return PARTS[name]()


def missing_part(name):
    reason = _reason(name)
    if reason is None:
        return
    if os.environ.get("NOTBEFORE_REQUIRE_PARTS") == "1":
        pytest.fail(f"part {name} is required: {reason}")
    pytest.skip(f"part {name}: {reason}")
