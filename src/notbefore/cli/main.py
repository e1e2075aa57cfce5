"""The program: every command, and the one place where errors become sentences and exit codes.

Rule 1: commands raise a Refusal or a usage error; only `run` turns them into an exit code.
Rule 2: no traceback reaches a user, unless NOTBEFORE_DEBUG=1 asks for it.
Rule 3: a reader that has gone away (`| head`) is no error.
"""

import errno
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from notbefore import __version__
from notbefore.cli import (
    agent,
    apply,
    ask,
    clock,
    conformance,
    events,
    explain,
    fault,
    history,
    hosts,
    maintenance,
    operations,
    play,
    record,
    replay,
    rollouts,
    sandbox,
    scopes,
    serve,
    simulate,
    store,
    token,
    vm_operations,
)
from notbefore.cli.doctor.command import doctor
from notbefore.cli.exits import DONE, INTERRUPTED, REFUSED, WRONG_USAGE, WrongUsage, complain
from notbefore.cli.local_times import Utc
from notbefore.core.errors import Refusal
from notbefore.core.vm_operations import VM_OPERATIONS

PROGRAM = "notbefore"
SERVER = "Run and declare"
LOOK = "Look"
HAPPEN = "Make something happen"
WORD = "Say a word on events"
PROVE = "Prove it"
INSIDE = "Inside a VM"
# What follows `agent` is the agent's own to read, `--help` too.
AS_IT_IS = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
LOOKS: tuple[Callable[..., None], ...] = (
    scopes.scopes,
    scopes.vms,
    hosts.hosts,
    events.events,
    explain.explain,
    history.history,
    ask.ask,
)


def show_version(wanted: bool) -> None:  # noqa: FBT001  typer's shape of a callback
    if wanted:
        print(f"{PROGRAM} {__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and exit.")
]
State = Annotated[
    str | None,
    typer.Option("--state", metavar="DIR", help="The server's state directory, with its token; also NOTBEFORE_STATE."),
]


def program(*, state: State = None, utc: Utc = False, version: Version = False) -> None:  # noqa: ARG001  callbacks took them
    """Scheduled Events for any fleet: tells every VM what is about to happen to it, and waits for its word.

    Commands speak to the server at NOTBEFORE_URL (default http://127.0.0.1:8255) with the token NOTBEFORE_TOKEN, or
    the one in the file NOTBEFORE_TOKEN_FILE, or the one in the server's state directory.

    Example: `notbefore serve --demo`, then in another terminal `notbefore restart FrontEnd_IN_0`
    """
    if state is not None:
        # The flag is the variable said louder: clients and `serve` both read it from there.
        os.environ["NOTBEFORE_STATE"] = state


def made_app() -> typer.Typer:
    app = typer.Typer(name=PROGRAM, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="markdown")
    app.callback()(program)
    app.command(rich_help_panel=SERVER)(serve.serve)
    app.command(rich_help_panel=SERVER)(apply.apply)
    app.add_typer(clock.app, rich_help_panel=SERVER)
    app.add_typer(fault.app, rich_help_panel=SERVER)
    app.add_typer(sandbox.app, rich_help_panel=SERVER)
    app.add_typer(store.app, rich_help_panel=SERVER)
    app.add_typer(token.app, rich_help_panel=SERVER)
    app.command(rich_help_panel=SERVER)(doctor)
    for look in LOOKS:
        app.command(rich_help_panel=LOOK)(look)
    app.add_typer(operations.app, rich_help_panel=LOOK)
    app.add_typer(rollouts.app, rich_help_panel=LOOK)
    for operation in VM_OPERATIONS:
        app.command(operation, rich_help_panel=HAPPEN)(vm_operations.command_for(operation))
    app.command(rich_help_panel=HAPPEN)(maintenance.maintain)
    app.command("host-failed", rich_help_panel=HAPPEN)(hosts.host_failed)
    for action in events.HELP:
        app.command(action, rich_help_panel=WORD)(events.command_for(action))
    app.command(rich_help_panel=INSIDE, context_settings=AS_IT_IS)(agent.agent)
    app.command(rich_help_panel=PROVE)(simulate.simulate)
    app.command(rich_help_panel=PROVE)(conformance.conformance)
    app.command(rich_help_panel=PROVE)(record.record)
    app.command(rich_help_panel=PROVE)(replay.replay)
    app.command(rich_help_panel=PROVE)(play.play)
    return app


def run(args: Sequence[str]) -> int:
    """Run one command line; the exit code, whatever happens."""
    code = _ran(args)
    try:
        sys.stdout.flush()
    except OSError:
        # What could not be written was complained about already.
        _drop_output()
    return code


def _ran(args: Sequence[str]) -> int:
    try:
        code = made_app()(list(args), prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()
    except Refusal as refusal:
        complain(refusal.message, refusal.hint)
        return WRONG_USAGE if isinstance(refusal, WrongUsage) else REFUSED
    except typer.TyperException as wrong:
        return _wrong_usage(wrong)
    except BrokenPipeError:
        return _reader_gone()
    except SystemExit as ended:
        # typer and rich end the program themselves when a pipe breaks under them.
        return _reader_gone() if isinstance(ended.__context__, BrokenPipeError) else int(ended.code or DONE)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001  the last resort: rule 2
        return _unexpected(error)
    return int(code or DONE)


def _wrong_usage(wrong: typer.TyperException) -> int:
    context = getattr(wrong, "ctx", None)
    command = context.command_path if context else PROGRAM
    # Without any arguments typer has printed the help already, and has nothing more to say.
    if message := wrong.format_message():
        complain(message, f"`{command} --help` shows how.")
    return WRONG_USAGE


def _reader_gone() -> int:
    _drop_output()
    return DONE


def _drop_output() -> None:
    """Whatever is still buffered goes nowhere, so that the interpreter does not complain at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _unexpected(error: Exception) -> int:
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        complain("What there is to print cannot be written: no space is left there.")
    elif os.environ.get("NOTBEFORE_DEBUG") == "1":
        traceback.print_exception(error)
    else:
        complain(
            f"notbefore itself went wrong ({type(error).__name__}: {error}).",
            "NOTBEFORE_DEBUG=1 shows where. Please report it.",
        )
    return REFUSED


def main() -> None:
    sys.exit(run(sys.argv[1:]))
