"""Where a server keeps its state, and where its CLI looks for the token. Standard library only: the CLI starts fast."""

from collections.abc import Mapping
from pathlib import Path

TOKEN_FILE = "admin.token"  # noqa: S105  the file's name, not a secret


def default_state_dir(env: Mapping[str, str]) -> Path:
    """`$XDG_STATE_HOME/notbefore`, else `~/.local/state/notbefore`."""
    return Path(env.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "notbefore"
