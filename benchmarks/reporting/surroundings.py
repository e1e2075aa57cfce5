"""Where the figures were taken: the machine, its disk, and the versions of everything that took part."""

import os
import platform
import re
import sqlite3
import subprocess
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median

from measuring.cpu import machine
from measuring.load import stopwatch_s
from peers.processes import program

from notbefore.system_calls import COMPILED

PACKAGES = ("notbefore", "uvicorn", "uvloop", "httptools", "msgspec", "fastapi", "Flask", "Werkzeug", "matplotlib")
PROGRAMS = {"nginx": "-v", "go": "version", "wrk": "-v"}
FSYNCS = 50
BLOCK = b"\0" * 4096
NOT_THERE = "not there"


def surroundings() -> dict[str, str]:
    return {
        **{name: fact for name, fact in machine().items() if name != "load average"},
        "memory": memory(),
        "disk": disk(Path(tempfile.gettempdir())),
        "sqlite": sqlite3.sqlite_version,
        "libc": " ".join(platform.libc_ver()),
        **{package: package_version(package) for package in PACKAGES},
        "notbefore's system calls": "compiled" if COMPILED else "of the standard library",
        **{name: program_version(name, flag) for name, flag in PROGRAMS.items()},
        "load average before": " ".join(f"{load:.1f}" for load in os.getloadavg()),
    }


def memory() -> str:
    kib = re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())
    return f"{int(kib[1]) / 1024**2:.1f} GiB" if kib else "?"


def disk(folder: Path) -> str:
    """Where the stores are: its file system, and how long it takes until a block is on it."""
    mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    _, kind = max((len(point), kind) for point, kind in mounts if folder.is_relative_to(point))
    return f"{kind}, fsync of 4 KiB {fsync_ms(folder):.2f} ms in the median"


def fsync_ms(folder: Path) -> float:
    taken = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(FSYNCS):
            file.write(BLOCK)
            file.flush()
            began_s = stopwatch_s()
            os.fsync(file.fileno())
            taken.append((stopwatch_s() - began_s) * 1000)
    return median(taken)


def package_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return NOT_THERE


def program_version(name: str, flag: str) -> str:
    found = program(name)
    if not found:
        return NOT_THERE
    ran = subprocess.run([found, flag], capture_output=True, text=True, check=False)
    number = re.search(r"\d+\.\d[\w.]*", ran.stdout + ran.stderr)
    return number[0] if number else "?"
