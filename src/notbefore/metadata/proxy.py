"""The word of a trusted proxy for a VM: `X-Notbefore-Vm: v1 <scope>/<vm> <unix seconds> <hex HMAC-SHA256>` (SPEC §5).

Rule 1: the HMAC is over the first three fields as sent, joined by single spaces; names are percent-encoded,
since they may hold spaces.
Rule 2: real time, ±60 s, whatever the domain's clock does.
Rule 3: two keys may be valid at once, so that a key can be changed without dropping a request.
Rule 4: a header that cannot be verified identifies nobody.
"""

import hmac
from collections.abc import Sequence
from hashlib import sha256
from urllib.parse import quote, unquote

from notbefore.core.model import name_key
from notbefore.runtime.snapshot import VmRef

HEADER = b"x-notbefore-vm"
SKEW_MAX_S = 60
FIELDS = 4


def signed(scope: str, vm: str, at_s: int, key: bytes) -> str:
    """The header's value, as a proxy makes it."""
    said = f"v1 {quote(scope, safe='')}/{quote(vm, safe='')} {at_s}"
    return f"{said} {hmac.new(key, said.encode(), sha256).hexdigest()}"


def vm_vouched_for(value: bytes, keys: Sequence[bytes], now_s: float) -> VmRef | None:
    """The VM that a proxy with one of the keys vouches for, or None."""
    fields = value.split(b" ")
    if len(fields) != FIELDS or fields[0] != b"v1" or not fields[2].isdigit():
        return None
    said = b" ".join(fields[:3])
    if not any(hmac.compare_digest(hmac.new(key, said, sha256).hexdigest().encode(), fields[3]) for key in keys):
        return None
    if len(fields[2]) > len("99999999999") or abs(now_s - int(fields[2])) > SKEW_MAX_S:
        return None
    scope, slash, vm = fields[1].decode("latin-1").partition("/")
    if not slash or "/" in vm:
        return None
    return VmRef(name_key(unquote(scope)), name_key(unquote(vm)))
