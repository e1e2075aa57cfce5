"""apply: declare the scopes of a fleet.toml, and say what that changed."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from notbefore.cli.control_api import ControlApi, Json, connect
from notbefore.cli.fleet import DeclaredScope, read_fleet
from notbefore.cli.fleet_changes import changes_between
from notbefore.cli.one_by_one import one_by_one
from notbefore.cli.options import AsJson
from notbefore.cli.printable import show_lines
from notbefore.cli.tables import show_json
from notbefore.core.errors import Refusal, UnknownScope

File = Annotated[str, typer.Argument(metavar="FLEET.TOML", help="The fleet, in TOML.")]
Force = Annotated[bool, typer.Option("--force", help="Also when that takes a VM away from a live event.")]


def apply(file: File, *, force: Force = False, as_json: AsJson = False) -> None:
    """Declare the scopes and VMs of a fleet, and say what changed.

    The file has [scopes.NAME] with kind, [scopes.NAME.settings], and [[scopes.NAME.vms]] with name, update_domain,
    addresses and so on. Each scope is replaced as a whole; scopes that the file does not name are left alone.
    Applying the same file again changes nothing.

    Example: `notbefore apply fleet.toml`
    """
    declared = {scope.name: scope for scope in read_fleet(Path(file))}
    api = connect()
    shown = partial(show_applied, as_json=as_json)
    shown(one_by_one(list(declared), lambda name: declare(api, declared[name], force=force), shown))


def declare(api: ControlApi, scope: DeclaredScope, *, force: bool) -> Json:
    """The API's answer with how it differs from what was there."""
    try:
        before = current(api, scope.name)
        after = api.put("scopes", scope.name, body=scope.body, query={"force": "true"} if force else None)
    except Refusal as refusal:
        raise Refusal(f"Scope '{scope.name}': {refusal.message}", refusal.hint, refusal.facts) from None
    changes = changes_between(before, after) if before else []
    outcome = "changed" if changes else "unchanged" if before else "created"
    return {"outcome": outcome, "changes": changes, "scope": after}


def current(api: ControlApi, name: str) -> Json | None:
    try:
        return api.get("scopes", name)
    except UnknownScope:
        return None


def show_applied(applied: Sequence[Json], *, as_json: bool) -> None:
    if as_json:
        show_json(applied)
        return
    for one in applied:
        scope = one["scope"]
        count = len(scope["vms"])
        size = f" with {count} {'VM' if count == 1 else 'VMs'}" if one["outcome"] == "created" else ""
        show_lines([f"{scope['name']}: {one['outcome']}{size}", *(f"  {change}" for change in one["changes"])])
