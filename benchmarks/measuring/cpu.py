"""What a server costs, read from /proc: CPU seconds of a process and its children, memory, who else ran.

Rule 1: CPU is utime + stime of every thread of the process and of every child, living or waited for. The kernel
gives it in ticks (10 ms as a rule), so one sample must last long enough to hold hundreds of them.
Rule 2: servers have one core, the load the other; with a single core they share it, and the report says so.
"""

import os
import platform
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE, LOAD_CORE = CORES[0], CORES[-1]
IDLE_FIELDS = (3, 4)  # idle and iowait of a cpu line in /proc/stat


@contextmanager
def on_core(*cores: int) -> Iterator[None]:
    """This process, and whatever it starts meanwhile, on these cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def family_of(pid: int) -> list[int]:
    """The process and its descendants."""
    found = [pid]
    for parent in found:
        for thread in Path(f"/proc/{parent}/task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):  # a thread may end while it is looked at
                found += [int(child) for child in (thread / "children").read_text().split()]
    return found


def cpu_s(pid: int) -> float:
    ticks = 0
    for member in family_of(pid):
        # The name in parentheses may hold spaces; the numbers begin after it, with the state.
        fields = Path(f"/proc/{member}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(int(field) for field in fields[11:15])
    return ticks / TICKS_PER_S


def peak_rss_mib(pid: int) -> float:
    return status_mib(pid, "VmHWM:")


def rss_mib(pid: int) -> float:
    return status_mib(pid, "VmRSS:")


def status_mib(pid: int, field: str) -> float:
    """Of the process and its descendants; what they share is counted for each."""
    kib = 0
    for member in family_of(pid):
        status = Path(f"/proc/{member}/status").read_text()
        kib += next(int(line.split()[1]) for line in status.splitlines() if line.startswith(field))
    return kib / 1024


def own_cpu_s(pid: int) -> float:
    """Of one process alone, to the nanosecond: the kernel's clock of it, for what is too small for ticks."""
    # Its number, inverted, above three bits that say which clock.
    return time.clock_gettime((~pid << 3) | 2)  # noqa: TID251  a benchmark is about real time


def core_busy_s(core: int) -> float:
    """Seconds the core was not idle, whoever used it (the hypervisor's theft included)."""
    for line in Path("/proc/stat").read_text().splitlines():
        name, *ticks = line.split()
        if name == f"cpu{core}":
            return sum(int(tick) for place, tick in enumerate(ticks[:8]) if place not in IDLE_FIELDS) / TICKS_PER_S
    raise ValueError(f"/proc/stat has no core {core}")


def machine() -> dict[str, str]:
    models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    shared = SERVER_CORE == LOAD_CORE
    return {
        "cpu": models[0].partition(":")[2].strip() if models else platform.machine(),
        "cores": f"{len(CORES)} (server on {SERVER_CORE}, load on {LOAD_CORE}{': SHARED' if shared else ''})",
        "kernel": platform.release(),
        "python": f"{platform.python_version()}, {python_build()}",
        "load average": " ".join(f"{load:.1f}" for load in os.getloadavg()),
    }


def python_build() -> str:
    """Whose: one that was not compiled with a profile of itself costs a few hundredths more."""
    if "deb_system" in sysconfig.get_scheme_names():
        return "Debian's build"
    optimised = "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or "")
    return "an optimised build" if optimised else "a build without --enable-optimizations"
