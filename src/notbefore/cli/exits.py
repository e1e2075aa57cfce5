"""How the program ends: exit codes, and the sentence that explains one."""

import sys

DONE = 0
REFUSED = 1
WRONG_USAGE = 2
INTERRUPTED = 130


def complain(message: str, hint: str = "") -> None:
    """One sentence on stderr, and the hint as a second line."""
    print(message, file=sys.stderr)
    if hint:
        print(f"hint: {hint}", file=sys.stderr)
