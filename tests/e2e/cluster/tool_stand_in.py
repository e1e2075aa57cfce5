#!/usr/bin/python3
"""Stand-ins for the tools of clusters that cannot run here; called by the name of the tool, on PATH.

TOOLS_DIR holds what they know as JSON (`knows`), and every call in order (`log`). They answer what the scripts of the
how-to pages ask, in the shape the real ones print it, and refuse everything else.
"""

import json
import os
import sys
from pathlib import Path

KEPT = Path(os.environ["TOOLS_DIR"])
WORDS = sys.argv[1:]
MARK = "notbefore-agent/cordoned-for"
ELIGIBILITY = "{{ if .DrainStrategy }}draining{{ else }}{{ .SchedulingEligibility }}{{ end }}"
MESSAGE = '{{ with .LastDrain }}{{ index .Meta "message" }}{{ end }}'


def after(word):
    return WORDS[WORDS.index(word) + 1]


def kubectl(knows):
    match WORDS:
        case ["get", "node", "node-1", "-o", "jsonpath={.spec.unschedulable}"]:
            print("true" if knows["cordoned"] else "", end="")
        case ["get", "node", "node-1", "-o", asked] if asked == f"jsonpath={{.metadata.annotations['{MARK}']}}":
            print(knows["mark"], end="")
        case ["annotate", "--overwrite", "node", "node-1", mark]:
            knows["mark"] = mark.removeprefix(f"{MARK}=")
        case ["annotate", "node", "node-1", mark] if mark == f"{MARK}-":
            knows["mark"] = ""
        case ["cordon", "node-1"] | ["uncordon", "node-1"]:
            knows["cordoned"] = WORDS[0] == "cordon"
        case ["drain", "node-1", "--ignore-daemonsets", "--delete-emptydir-data", *_]:
            return knows["drain"]
        case ["wait", "--for=condition=Ready", "node/node-1", _]:
            pass
        case _:
            return 64
    return 0


def scontrol(knows):
    match WORDS:
        case ["show", "node", "node-1"]:
            print("NodeName=node-1 Arch=x86_64 CoresPerSocket=1 ")
            print(f"   State={knows['state']} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A")
            print(f"   Reason={knows['reason']} [root@2026-11-16T17:00:00]" if knows["reason"] else "")
        case ["update", "NodeName=node-1", "State=DRAIN", reason]:
            knows.update(state="MIXED+DRAIN", reason=reason.removeprefix("Reason="))
        case ["update", "NodeName=node-1", "State=RESUME"]:
            knows.update(state="IDLE", reason="")
        case ["requeue", "Incomplete", job]:
            knows["jobs"].remove(job)
        case _:
            return 64
    return 0


def squeue(knows):
    if WORDS[:2] != ["--noheader", "--nodelist=node-1"]:
        return 64
    print("\n".join(knows["jobs"]))
    return 0


def nomad(knows):
    match WORDS:
        case ["node", "status", "-self", "-t", asked] if asked == ELIGIBILITY:
            print(knows["stands"])
        case ["node", "status", "-self", "-t", asked] if asked == MESSAGE:
            print(knows["message"])
        case ["node", "drain", "-enable", "-self", "-yes", "-deadline", _, "-m", message]:
            knows.update(stands=knows["drained"], message=message)
        case ["node", "drain", "-disable", "-self", "-yes"]:
            knows["stands"] = "eligible"
        case _:
            return 64
    return 0


def crm_node(knows):
    print("node-1" if WORDS == ["--name"] else "\n".join(f"{n} {one}" for n, one in enumerate(knows["nodes"], 1)))
    return 0


def crm_attribute(knows):
    if WORDS[:6] != ["--node", "node-1", "--name", "standby", "--lifetime", "reboot"]:
        return 64
    match WORDS[6:]:
        case ["--query", "--quiet", "--default", default]:
            print(knows["standby"] or default)
        case ["--update", value]:
            knows["standby"] = value
        case ["--delete"]:
            knows["standby"] = ""
        case _:
            return 64
    return 0


def crm_resource(knows):
    return 0 if WORDS == ["--wait"] and knows["standby"] == "on" else 64


def called():
    name = Path(sys.argv[0]).name
    with (KEPT / "log").open("a") as log:
        log.write(" ".join([name, *WORDS]) + "\n")
    knows = json.loads((KEPT / "knows").read_text())
    code = globals()[name](knows)
    (KEPT / "knows").write_text(json.dumps(knows))
    return code


if __name__ == "__main__":
    sys.exit(called())
