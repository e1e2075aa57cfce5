"""Names of VMs: which of them mean the same VM (REFERENCE §4.3).

Rule 1: letter case never matters, and the underscore that the preview put before a name is no part of it [real].
Rule 2: an instance of a Uniform scale set is `NAME_10` as a resource and `NAME00000a` as a host: six base-36 digits.
Rule 3: nothing else is guessed. The hostname of a Flexible scale set tells nothing about the name of the VM.
"""

BASE_36 = 36
HOSTNAME_DIGITS = 6


def same_vm(one: str, other: str) -> bool:
    """Whether two names mean the same VM, either of them perhaps the hostname of a scale-set instance."""
    one, other = _plain(one), _plain(other)
    if not one or not other:
        return False
    return one == other or scale_set_name(one) == other or scale_set_name(other) == one


def scale_set_name(hostname: str) -> str | None:
    """`web_10` for the hostname `web00000a`, or None when it does not end in six base-36 digits."""
    prefix, digits = hostname[:-HOSTNAME_DIGITS], hostname[-HOSTNAME_DIGITS:]
    if not prefix or len(digits) != HOSTNAME_DIGITS or not (digits.isascii() and digits.isalnum()):
        return None
    return f"{prefix}_{int(digits, BASE_36)}"


def _plain(name: str) -> str:
    return name.strip().lower().removeprefix("_")
