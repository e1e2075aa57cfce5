"""serve: run the server. Imports it only when called, so that client commands start fast."""

from pathlib import Path
from typing import Annotated

import typer

from notbefore.cli.exits import WrongUsage
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
Clock = Annotated[str | None, typer.Option("--clock", metavar="CLOCK", help="real (the default), or manual.")]


def serve(
    *,
    config: Config = None,
    demo: Demo = False,
    state: State = None,
    metadata: Metadata = None,
    control: Control = None,
    store: Store = None,
    clock: Clock = None,
) -> int:
    """Run the server: the metadata service for VMs and the control API for operators.

    A flag beats the environment, which beats the settings file. With --clock manual time stands still until
    `notbefore clock` turns it. Ctrl-C stops it.

    Example: `notbefore serve --demo --clock manual`
    """
    from notbefore import wiring  # noqa: PLC0415  the whole server comes with it

    overrides = given(demo=demo or None, state=state, metadata=metadata, control=control, store=store, clock=clock)
    try:
        return wiring.serve(config=Path(config) if config else None, overrides=overrides)
    except Invalid as wrong:
        # Whether they were typed or written in a file.
        raise WrongUsage(wrong.message, wrong.hint, wrong.facts) from None
