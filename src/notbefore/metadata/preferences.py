"""How long a client would like to wait: `Prefer: wait=N` (RFC 7240), read from whatever else it prefers.

Rule 1: several headers are one list; names in any letter case; a value may be quoted; parameters behind `;` are
not looked at; of several `wait` the first counts.
Rule 2: what is no whole number of seconds is no preference. More than WAIT_MAX_S is WAIT_MAX_S.
Rule 3: the time it takes grows with the length of the header and no faster, whatever it holds.
"""

import re
from collections.abc import Iterable

WAIT_MAX_S = 60

# Between commas, except those in a quoted value. One that is never closed reaches to the end.
_PREFERENCE = re.compile(rb'(?:[^,"]|"(?:[^"\\]|\\.)*+"?)++', re.DOTALL)
_WAIT = re.compile(rb"[ \t]*wait[ \t]*(?:=[ \t]*([^; \t]*)[ \t]*)?(?:;|\Z)", re.IGNORECASE)
_SECONDS = re.compile(rb'([0-9]++)|"([0-9]++)"')


def wait_preferred_s(headers: Iterable[bytes]) -> int | None:
    """The wait that is asked for and can be given; None when there is none."""
    for one in _PREFERENCE.finditer(b",".join(headers)):
        if wait := _WAIT.match(one[0]):
            seconds = _SECONDS.fullmatch(wait[1] or b"")
            return _bounded(seconds[1] or seconds[2]) if seconds else None
    return None


def _bounded(digits: bytes) -> int:
    """Long numbers are not read: they are too long in either sense."""
    significant = digits.lstrip(b"0") or b"0"
    return WAIT_MAX_S if len(significant) > len(str(WAIT_MAX_S)) else min(WAIT_MAX_S, int(significant))
