"""VMs as people name them: `scope/vm`, or just `vm` when only one scope has it.

Rule 1: every name is found before anything is asked for.
"""

from collections.abc import Sequence
from difflib import get_close_matches

import typer

from notbefore.cli.control_api import ControlApi
from notbefore.core.errors import Refusal
from notbefore.core.model import name_key

CANDIDATES_SHOWN_MAX = 10


def full_names(api: ControlApi, names: Sequence[str], scope: str | None) -> list[str]:
    """Each as `scope/vm`. Names hold no slash, so the first one divides."""
    known: list[str] | None = None
    found = []
    for name in names:
        if "/" in name or scope is not None:
            found.append(_said_whole(name, scope))
            continue
        if known is None:
            known = _known_names(api)
        found.append(_the_one(name, known))
    return found


def _said_whole(name: str, scope: str | None) -> str:
    said_scope, slash, vm = name.partition("/")
    if not slash:
        return f"{scope}/{name}"
    if not said_scope or not vm or "/" in vm:
        raise typer.BadParameter(f"{name!r} does not name a VM; write vm or scope/vm.", param_hint="VM")
    if scope is not None and name_key(said_scope) != name_key(scope):
        raise typer.BadParameter(f"{name!r} is not of the scope that --scope names.", param_hint="VM")
    return name


def _known_names(api: ControlApi) -> list[str]:
    return [f"{scope['name']}/{vm['name']}" for scope in api.get("scopes")["scopes"] for vm in scope["vms"]]


def _the_one(name: str, known: Sequence[str]) -> str:
    matching = [full for full in known if name_key(full.partition("/")[2]) == name_key(name)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise Refusal(
            f"Several scopes have a VM '{name}': {', '.join(matching)}.",
            "Write scope/vm, or say which with --scope.",
            {"vm": name, "candidates": matching},
        )
    raise Refusal(
        f"No scope has a VM '{name}'. {_suggestion(name, known)}", "`notbefore vms` lists them all.", {"vm": name}
    )


def _suggestion(name: str, known: Sequence[str]) -> str:
    """Those spelled alike; without any, the first few there are."""
    if not known:
        return "There is no VM at all."
    by_vm = {name_key(full.partition("/")[2]): full for full in known}
    alike = [by_vm[vm] for vm in get_close_matches(name_key(name), by_vm, CANDIDATES_SHOWN_MAX)]
    if alike:
        return f"Did you mean {' or '.join(alike)}?"
    return f"There are {', '.join(known[:CANDIDATES_SHOWN_MAX])}{' and more' * (len(known) > CANDIDATES_SHOWN_MAX)}."
