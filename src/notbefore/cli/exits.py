"""How the program ends: exit codes, and the sentence that explains one."""

import sys

from notbefore.cli.local_times import for_reader
from notbefore.cli.printable import printable
from notbefore.core.errors import Refusal

DONE = 0
REFUSED = 1
WRONG_USAGE = 2
INTERRUPTED = 130


class WrongUsage(Refusal):
    """Refused because of how it was asked for, not because of what."""

    code = "wrong_usage"


def complain(message: str, hint: str = "") -> None:
    """One sentence on stderr, and the hint as a second line."""
    print(for_reader(printable(message), sys.stderr), file=sys.stderr)
    if hint:
        print(f"hint: {for_reader(printable(hint), sys.stderr)}", file=sys.stderr)
