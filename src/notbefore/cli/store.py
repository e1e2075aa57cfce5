"""store: check, back up and restore the server's store. Works on its file, with or without a server."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from notbefore.cli.exits import WrongUsage
from notbefore.cli.options import given
from notbefore.cli.printable import show_lines
from notbefore.core.errors import Invalid, Refusal

if TYPE_CHECKING:
    from notbefore.stores.sqlite.verify import Verified

Config = Annotated[str | None, typer.Option("--config", metavar="FILE", help="The server's settings, in TOML.")]
State = Annotated[str | None, typer.Option("--state", metavar="DIR", help="The server's state directory.")]
Store = Annotated[str | None, typer.Option("--store", metavar="URL", help="sqlite:PATH, as for `notbefore serve`.")]
BackupFile = Annotated[str, typer.Argument(metavar="FILE", help="The backup.")]
Force = Annotated[bool, typer.Option("--force", help="Replace FILE when it is there already.")]

app = typer.Typer(name="store", no_args_is_help=True)


@app.callback()
def store() -> None:
    """Check, back up and restore the store, where a server keeps everything it has promised.

    The store is found as `notbefore serve` finds it: --store, --state, --config, the environment, else the default.

    Example: `notbefore store backup /var/backups/notbefore.backup`
    """


@app.command()
def check(*, config: Config = None, state: State = None, store: Store = None) -> None:
    """Verify every record of the store against its checksum, and name those that are damaged.

    A server may be running on it. Exit code 1 when anything is damaged.

    Example: `notbefore store check --state /var/lib/notbefore`
    """
    from notbefore.stores.sqlite.backup import check_store  # noqa: PLC0415  only when called: client commands start fast

    path = store_path(config, state, store)
    verified = check_store(path)
    show_lines(f"damaged: {flaw}" for flaw in verified.flaws)
    if verified.flaws:
        raise Refusal(
            f"The store {path} is damaged in {counted(len(verified.flaws), 'place')}.",
            "Stop the server; `notbefore store restore FILE` puts a backup in its place and keeps the damaged file.",
        )
    print(f"{path} is whole: {contents(verified)}.")


@app.command()
def backup(
    file: BackupFile, *, force: Force = False, config: Config = None, state: State = None, store: Store = None
) -> None:
    """Copy the store to FILE, consistent and verified, while a server runs on it or not.

    The copy is one file that only its owner may read. It is verified before it gets its name, so a FILE that is
    there is good.

    Example: `notbefore store backup /var/backups/notbefore.backup --force`
    """
    from notbefore.stores.sqlite.backup import write_backup  # noqa: PLC0415

    path = store_path(config, state, store)
    verified = write_backup(path, Path(file), force=force)
    print(f"{path} is backed up in {file}: {contents(verified)}.")


@app.command()
def restore(file: BackupFile, *, config: Config = None, state: State = None, store: Store = None) -> None:
    """Put the backup in FILE in the store's place. No server may be running on it.

    The backup is verified first. The former store is kept beside it as <store>.before-restore. What was promised
    after the backup was made is not in it: VMs may see an older document, and approve once more.

    Example: `notbefore store restore /var/backups/notbefore.backup --state /var/lib/notbefore`
    """
    from notbefore.stores.sqlite.restore import restore as put_back  # noqa: PLC0415

    path = store_path(config, state, store)
    restored = put_back(path, Path(file))
    print(f"{path} is restored from {file}: {contents(restored.verified)}.")
    if restored.former:
        print(f"The former store is kept as {restored.former}.")


def store_path(config: str | None, state: str | None, store: str | None) -> Path:
    from notbefore.settings import load_settings  # noqa: PLC0415

    try:
        return load_settings(Path(config) if config else None, os.environ, given(state=state, store=store)).store_path
    except Invalid as wrong:
        raise WrongUsage(wrong.message, wrong.hint, wrong.facts) from None


def contents(verified: "Verified") -> str:
    scopes = counted(verified.aggregates - verified.documents, "scope")
    documents = f", {counted(verified.documents, 'document')}" if verified.documents else ""
    return f"{scopes}{documents} and {counted(verified.records, 'history record')}"


def counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
