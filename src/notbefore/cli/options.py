"""Options that several commands share, so that they are spelled and explained alike; and closed words."""

from collections.abc import Sequence
from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Watch = Annotated[
    bool, typer.Option("--watch", help="Go on showing it: a live table on a terminal, a line per change elsewhere.")
]
OfScope = Annotated[str | None, typer.Option("--scope", metavar="SCOPE", help="Only this scope.")]
NotBefore = Annotated[
    str | None,
    typer.Option(
        "--not-before",
        metavar="TIME",
        help="Start no earlier: a UTC time such as 2026-09-19T18:29:47Z, or +20m from now by the server's clock.",
    ),
]
Duration = Annotated[
    int | None,
    typer.Option("--duration", metavar="SECONDS", help="How long the impact is expected to last; -1 is unknown."),
]
Description = Annotated[
    str | None, typer.Option("--description", metavar="TEXT", help="What VMs are told, from version 2019-04-01 on.")
]
Events = Annotated[list[str], typer.Argument(metavar="EVENT", help="Ids of events, in any letter case.")]


def word_of(given: str, words: Sequence[str], what: str) -> str:
    """One of the words as it is spelled, whatever the letter case it was typed in."""
    for word in words:
        if word.lower() == given.lower():
            return str(word)
    raise typer.BadParameter(f"{given!r} is not one of {', '.join(words)}.", param_hint=what)


def given(**wanted: object) -> dict[str, object]:
    """What was asked for; what was left out is left to the server."""
    return {name: value for name, value in wanted.items() if value is not None and value != []}
