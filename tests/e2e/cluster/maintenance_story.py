"""Runs in the sandbox: a cluster node's agent is called as Pacemaker calls it, while its VM is restarted.

Prints the node's state after each call. Words: the agent, and `notbefore`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen

AGENT, *NOTBEFORE = sys.argv[1:]
POSTS = 'notbefore_requests_total{method="POST",plane="metadata"'
STATE = Path(os.environ["CRM_DIR"]) / "web-0.azure-events-az_curNodeState"


def monitor():
    subprocess.run([AGENT, "monitor"], check=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print(STATE.read_text() if STATE.exists() else "AVAILABLE", flush=True)


def notbefore(*words):
    return subprocess.run([*NOTBEFORE, *words], check=True, capture_output=True, text=True).stdout


monitor()
notbefore("restart", "web-0")
monitor()
monitor()
print(notbefore("events", "--json"))
notbefore("clock", "advance", "30s")
monitor()
print(notbefore("history", "--json"))
asking = Request(f"{os.environ['NOTBEFORE_URL']}/metrics")
asking.add_header("Authorization", f"Bearer {os.environ['NOTBEFORE_TOKEN']}")
lines = urlopen(asking).read().decode().splitlines()
print(json.dumps([line for line in lines if line.startswith(POSTS)]))
