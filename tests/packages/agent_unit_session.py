"""A program that has a service manager to itself: runs the agent's unit on it and prints what came of it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

UNIT = "notbefore-agent.service"
MANAGER, CONFIG = int(sys.argv[1]), Path("/etc/notbefore-agent/agent.toml")
DROP_INS = Path(os.environ["HOME"]) / f".config/systemd/user/{UNIT}.d"
IMPATIENT = "[Service]\nWatchdogSec=1s\nTimeoutAbortSec=1s\nRestartSec=0\n"


def systemctl(*words):
    return subprocess.run(["systemctl", "--user", *words], check=False, capture_output=True, text=True)


def shown(name):
    return systemctl("show", UNIT, "--property", name, "--value").stdout.strip()


def until(holds):
    while not holds():
        pass


def privileges(pid):
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return {name: lines[name].strip() for name in ("CapEff", "CapBnd", "NoNewPrivs", "Seccomp")}


def story():
    systemctl("start", "work.service")
    yield "start", systemctl("start", UNIT).returncode
    yield "ready", shown("ActiveState")
    until(lambda: "Started, approved" in shown("StatusText"))
    yield "privileges", privileges(shown("MainPID"))
    yield "did", (Path(os.environ["HOME"]) / ".config/notbefore-agent/did").read_text().splitlines()
    yield "work", systemctl("is-active", "work.service").stdout.strip()
    yield "reload", systemctl("reload", UNIT).returncode
    settings = CONFIG.read_text()
    CONFIG.write_text("[agent]\nspeed = 1\n")
    yield "reload of nonsense", systemctl("reload", UNIT).returncode
    yield "after that", shown("ActiveState")
    CONFIG.write_text(settings)
    yield "stop", systemctl("stop", UNIT).returncode
    yield "result", shown("Result")
    yield from standing_still()


def standing_still():
    (DROP_INS / "impatient.conf").write_text(IMPATIENT)
    systemctl("daemon-reload")
    systemctl("start", UNIT)
    first = shown("MainPID")
    os.kill(int(first), signal.SIGSTOP)
    until(lambda: shown("ActiveState") == "active" and shown("MainPID") not in {first, "0"})
    yield "restarts", shown("NRestarts")


if __name__ == "__main__":
    until((Path(os.environ["XDG_RUNTIME_DIR"]) / "systemd/private").exists)
    print(json.dumps(dict(story())))  # noqa: T201  what it is for
    os.kill(MANAGER, signal.SIGKILL)
