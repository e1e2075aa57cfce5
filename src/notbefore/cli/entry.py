"""Where `notbefore` begins: the agent is handed over to before anything else of the program is imported.

Rule 1: `notbefore agent …` is `notbefore-agent …`, as small and as fast.
"""

import sys

AGENT = "agent"


def main() -> None:
    if sys.argv[1:2] == [AGENT]:
        from notbefore.agent.main import run  # noqa: PLC0415  rule 1

        sys.exit(run(sys.argv[2:], f"notbefore {AGENT}"))
    else:
        from notbefore.cli.main import main as program  # noqa: PLC0415  rule 1

        program()
