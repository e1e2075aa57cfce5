#!/usr/bin/python3
"""Stand-ins for the four crm commands that azure-events-az calls: a cluster of two nodes whose attributes are files.

Called by the name of the command. CRM_DIR holds an attribute per file, and `log` every change in order.
"""

import os
import sys
from pathlib import Path

KEPT = Path(os.environ["CRM_DIR"])


def after(word, otherwise=""):
    return sys.argv[sys.argv.index(word) + 1] if word in sys.argv else otherwise


def crm_attribute():
    name = after("--name").replace("/", "_")
    file = KEPT / f"{after('--node', 'cluster')}.{name}"
    if "--query" in sys.argv:
        print(file.read_text() if file.exists() else after("--default"))
    elif "--delete" in sys.argv:
        file.unlink(missing_ok=True)
    else:
        file.write_text(after("--update"))
        with (KEPT / "log").open("a") as log:
            log.write(f"{name}={after('--update')}\n")


def crm_node():
    print("1 web-0 member\n2 web-1 member")


def crm_simulate():
    print("Transition Summary:")


def crm_resource():
    print("rsc_ip (ocf::heartbeat:IPaddr2): Started: rsc_ip_start_0 (node=web-0, call=1, rc=0, exec=1ms): complete")


globals()[Path(sys.argv[0]).name]()
