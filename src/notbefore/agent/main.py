"""`notbefore-agent`: run, check, example. The one place where errors become sentences and exit codes.

Rule 1: 0 done, 1 refused or failed (a sentence on stderr), 2 wrong usage or settings that cannot be read. No traceback.
Rule 2: nothing of notbefore is imported but the agent and what it stands on.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from notbefore import __version__
from notbefore.core.errors import Invalid, Refusal

if TYPE_CHECKING:
    from notbefore.agent.settings import Settings

DONE, REFUSED, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130
# Given, so that argparse does not ask for the terminal's: that imports shutil, and every compression with it.
WIDTH = 100


def main() -> None:
    sys.exit(run(sys.argv[1:]))


def run(args: Sequence[str], program: str = "notbefore-agent") -> int:
    """Run one command line; the exit code, whatever happens."""
    try:
        return _run(_parser(program).parse_args(args))
    except Refusal as refusal:
        _complain(refusal.message, refusal.hint)
        return WRONG_USAGE if isinstance(refusal, Invalid) else REFUSED
    except SystemExit as ended:
        return int(ended.code or DONE)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if os.environ.get("NOTBEFORE_DEBUG") == "1":
            raise
        _complain(f"The agent itself went wrong ({type(error).__name__}: {error}).", "NOTBEFORE_DEBUG=1 shows where.")
        return REFUSED


class Shape(argparse.HelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=WIDTH)


def _parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program,
        description="The agent inside a VM: prepares for events, approves them, and undoes it afterwards.",
        epilog=f"Example: {program} example > agent.toml, then {program} run --config agent.toml",
        formatter_class=Shape,
    )
    parser.add_argument("--version", action="version", version=f"notbefore-agent {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="run | check | example")
    running = commands.add_parser(
        "run", help="watch the endpoint and act", description="Run until a signal comes.", formatter_class=Shape
    )
    running.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    checking = commands.add_parser(
        "check",
        help="look whether it could run",
        description="Settings, endpoint, name and steps, a line each. 0: it could run, 1: it could not.",
        formatter_class=Shape,
    )
    for command in (running, checking):
        command.add_argument("--config", metavar="FILE", required=True, type=Path, help="the settings: agent.toml")
    commands.add_parser(
        "example",
        help="print a commented agent.toml",
        description="Print a commented agent.toml.",
        formatter_class=Shape,
    )
    return parser


def _run(asked: argparse.Namespace) -> int:
    if asked.command == "example":
        from notbefore.agent.example import EXAMPLE  # noqa: PLC0415  a page of text, for whoever asks

        print(EXAMPLE, end="", flush=True)
        return DONE
    from notbefore.agent.reading import settings_in  # noqa: PLC0415  --version and --help are fast

    settings = settings_in(asked.config)
    if asked.command == "check":
        return _check(settings)
    from notbefore.agent.logs import configure  # noqa: PLC0415
    from notbefore.agent.starting import run_agent  # noqa: PLC0415

    configure(settings.log.format, settings.log.level)
    run_agent(settings, is_dry=asked.dry_run)
    return DONE


def _check(settings: "Settings") -> int:
    from notbefore.agent.checking import Verdict, findings  # noqa: PLC0415  for whoever checks

    failed = False
    for verdict, sentence in findings(settings):
        failed = failed or verdict is Verdict.FAIL
        print(f"{verdict:<4}  {sentence}", flush=True)
    return REFUSED if failed else DONE


def _complain(message: str, hint: str = "") -> None:
    print(message, file=sys.stderr)
    if hint:
        print(f"hint: {hint}", file=sys.stderr)
