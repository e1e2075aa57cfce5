"""token: create, list and revoke the tokens of the control API (SPEC §5). For admins.

Rule 1: a secret goes to stdout alone, so that `> file` keeps it and nothing else; the sentence goes to stderr.
Rule 2: no command takes a secret as an argument, where every user of the machine could read it.
"""

import sys
from typing import Annotated

import typer

from notbefore.cli.control_api import Json, connect
from notbefore.cli.durations import duration_s
from notbefore.cli.listing import Listing, show_list
from notbefore.cli.options import AsJson, Watch, given, word_of
from notbefore.cli.printable import printable
from notbefore.cli.tables import show_json

ROLES = ("viewer", "operator", "admin")
COLUMNS = ("name", "role", "scopes", "created", "by", "expires")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Letters, digits, '.', '_', '@', '-'; stands in history.")]
RoleOption = Annotated[str, typer.Option("--role", metavar="ROLE", help="viewer, operator or admin.")]
Scopes = Annotated[
    list[str] | None,
    typer.Option("--scope", metavar="SCOPE", help="Only for this scope; may be repeated. Without it the whole fleet."),
]
Expires = Annotated[
    str | None, typer.Option("--expires", metavar="DURATION", help="How long it is good for, such as 90d; else always.")
]

app = typer.Typer(name="token", no_args_is_help=True)


@app.callback()
def token() -> None:
    """Create, list and revoke tokens: who may ask the control API, and for what.

    A viewer reads. An operator also makes things happen and approves, cancels and completes events. An admin also
    declares scopes and hosts, turns the clock, and makes tokens.

    Example: `notbefore token create night-shift --role operator --scope shop --expires 90d > night-shift.token`
    """


@app.command()
def create(
    name: Name, *, role: RoleOption, scope: Scopes = None, expires: Expires = None, as_json: AsJson = False
) -> None:
    """Create a token and print its secret, this once: it is not kept anywhere.

    Keep it in a file that only its user can read, and name that file in NOTBEFORE_TOKEN_FILE.

    Example: `notbefore token create dashboard --role viewer > dashboard.token`
    """
    lasts_s = None if expires is None else duration_s(expires, "--expires")
    wanted = given(name=name, role=word_of(role, ROLES, "--role"), scopes=scope, expires_in_s=lasts_s)
    made = connect().post("tokens", body=wanted)
    if as_json:
        show_json(made)
    else:
        print(made["secret"])
    print(printable(f"{_described(made)} The secret is shown only now."), file=sys.stderr)


@app.command("list")
def list_tokens(*, watch: Watch = False, as_json: AsJson = False) -> None:
    """List the tokens, never their secrets. The server's own admin token is not among them.

    Example: `notbefore token list`
    """
    api = connect()
    listing = Listing(COLUMNS, _row, "No tokens but the server's own.")
    show_list(listing, lambda: list(api.get("tokens")["tokens"]), as_json=as_json, watch=watch)


@app.command()
def revoke(name: Name) -> None:
    """Revoke a token: it is refused from now on, by other servers on the same store as soon as they notice.

    Example: `notbefore token revoke night-shift`
    """
    connect().delete("tokens", name)
    print(f"Token {printable(name)} is revoked.")


def _described(made: Json) -> str:
    where = f"for {', '.join(made['scopes'])}" if made["scopes"] else "for the whole fleet"
    until = f"until {made['expires_at']}" if made["expires_at"] else "without end"
    return f"Token {made['name']} is created: {made['role']} {where}, {until}."


def _row(one: Json) -> list[str]:
    expires = f"{one['expires_at']} (expired)" if one["expired"] else one["expires_at"] or "never"
    scopes = ", ".join(one["scopes"]) if one["scopes"] else "all"
    return [one["name"], one["role"], scopes, one["created_at"], one["created_by"], expires]
