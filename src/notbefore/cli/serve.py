"""serve: run the server. Imports it only when called, so that client commands start fast."""

from pathlib import Path
from typing import Annotated

import typer

from notbefore.cli.exits import DONE, WrongUsage, complain
from notbefore.cli.options import given
from notbefore.core.errors import Invalid

Config = Annotated[str | None, typer.Option("--config", metavar="FILE", help="Settings, in TOML.")]
Demo = Annotated[bool, typer.Option("--demo", help="Declare the scope `demo` with four VMs at 127.0.0.1 to .4.")]
State = Annotated[str | None, typer.Option("--state", metavar="DIR", help="Where the store and the token are kept.")]
Metadata = Annotated[
    list[str] | None,
    typer.Option("--metadata", metavar="HOST:PORT", help="Where VMs ask; may be repeated. Default: 127.0.0.1:8254."),
]
Control = Annotated[
    str | None, typer.Option("--control", metavar="HOST:PORT", help="Where operators ask. Default: 127.0.0.1:8255.")
]
Store = Annotated[
    str | None, typer.Option("--store", metavar="URL", help="sqlite:PATH. Default: in the state directory.")
]
Check = Annotated[bool, typer.Option("--check", help="Only check the settings and print them as they would be used.")]
AllowFaults = Annotated[
    bool, typer.Option("--allow-faults", help="Let `notbefore fault` have it do wrong what the real service does.")
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", metavar="N", help="Processes that answer VMs, 1 to 64. Default: 1, the server itself."),
]
Clock = Annotated[str | None, typer.Option("--clock", metavar="CLOCK", help="real (the default), manual, or rate:N.")]


def serve(
    *,
    config: Config = None,
    demo: Demo = False,
    state: State = None,
    metadata: Metadata = None,
    control: Control = None,
    store: Store = None,
    clock: Clock = None,
    workers: Workers = None,
    allow_faults: AllowFaults = False,
    check: Check = False,
) -> int:
    """Run the server: the metadata service for VMs and the control API for operators.

    A flag beats the environment, which beats the settings file. With --clock manual time stands still until
    `notbefore clock` turns it; with --clock rate:60 a minute passes in each second. Ctrl-C stops it, SIGHUP makes
    it read its settings again. With --check it serves nothing: it says what is wrong with the settings, or prints
    them, secrets left out.

    Example: `notbefore serve --demo --clock manual`, or `notbefore serve --config notbefore.toml --check`
    """
    from notbefore import wiring  # noqa: PLC0415  the whole server comes with it
    from notbefore.settings import SettingsRefused  # noqa: PLC0415

    overrides = given(demo=demo or None, state=state, metadata=metadata, control=control, store=store, clock=clock)
    overrides |= given(workers=workers, allow_faults=allow_faults or None)
    file = Path(config) if config else None
    try:
        if check:
            print(wiring.checked(file, overrides), end="")
            return DONE
        return wiring.serve(file, overrides)
    except SettingsRefused as wrong:
        *others, last = wrong.problems
        for one in others:
            complain(one)
        raise WrongUsage(last, wrong.hint) from None
    except Invalid as wrong:
        # Whether they were typed or written in a file.
        raise WrongUsage(wrong.message, wrong.hint, wrong.facts) from None
