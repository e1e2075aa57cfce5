"""Who this VM is: what the instance metadata says of it, or what somebody set (SPEC §2.7; REFERENCE §4.3, §8.1).

Rule 1: `compute.name` is the name that events use. Else a setting is: an argument, or NOTBEFORE_VM.
Rule 2: never the hostname by itself: it is another name, and on a scale set always a different one [real].
"""

import json
import os
from typing import Never

from notbefore.client.endpoint import EndpointError

INSTANCE_PATH = "/metadata/instance"
# Old enough to be known everywhere; `compute.name` is in every version.
INSTANCE_VERSION = "2017-08-01"
VARIABLE = "NOTBEFORE_VM"


def configured_name(given: str | None) -> str | None:
    return given or os.environ.get(VARIABLE) or None


def name_in(body: bytes) -> str:
    """`compute.name`, or nothing when it does not say."""
    try:
        name = json.loads(body)["compute"]["name"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return name.strip() if isinstance(name, str) else ""


def nobody(endpoint: str, why: str) -> Never:
    raise EndpointError(
        f"{endpoint} does not say who this VM is ({why.rstrip('.')}).",
        f"Give the VM's name as vm=, or set {VARIABLE}; the hostname is another name.",
    )
