"""Which sandboxes there are, so that another terminal can enter one: a small file each, for the user alone.

Rule 1: a file is believed only while the process it names lives, told by its start time as well as by its number.
Rule 2: the secret token is not in it, only where it is kept.
"""

import json
import os
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from notbefore.core.errors import Invalid, NotAllowed
from notbefore.sandbox.machines import SERVER


@dataclass(frozen=True, slots=True)
class Entry:
    pid: int
    started: str
    url: str
    token_file: str
    networks: dict[str, str]
    """By name of the VM, the path of its network; `server` is where the server is."""

    @property
    def user_namespace(self) -> str:
        return f"/proc/{self.pid}/ns/user"

    def network_of(self, name: str) -> tuple[str, str]:
        """The name as it is declared, and the path."""
        for known, path in self.networks.items():
            if known.lower() == name.lower():
                return known, path
        known_names = ", ".join(self.networks)
        raise Invalid(f"The sandbox has no VM {name!r}.", f"It has: {known_names}.", {"vm": name})


def entry_for(url: str, token_file: Path, networks: Mapping[str, int]) -> Entry:
    """Of this process."""
    pid = os.getpid()
    paths = {SERVER: f"/proc/{pid}/ns/net"} | {name: f"/proc/{pid}/fd/{opened}" for name, opened in networks.items()}
    return Entry(pid, start_time(pid), url, str(token_file), paths)


def write_entry(entry: Entry, env: Mapping[str, str]) -> Path:
    directory = own_directory(env)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    refuse_foreign(directory)
    file = directory / f"{entry.pid}.json"
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w") as opened:
        json.dump(asdict(entry), opened)
    return file


def take_back(file: Path) -> None:
    """With its directory, unless others are in there."""
    file.unlink(missing_ok=True)
    with suppress(OSError):
        file.parent.rmdir()


def chosen(env: Mapping[str, str], wanted: int | None) -> Entry:
    """The one that is meant: by its number, by where we are, or because there is no other."""
    alive = {entry.pid: entry for entry in living(env)}
    inside = env.get("NOTBEFORE_SANDBOX", "")
    pid = wanted if wanted is not None else int(inside) if inside.isdecimal() else None
    if pid is not None and pid in alive:
        return alive[pid]
    if pid is not None or not alive:
        raise NotAllowed(
            "There is no such sandbox." if pid is not None else "No sandbox is running.",
            "Start one in another terminal: `notbefore sandbox --vms 3 -- bash`.",
        )
    if len(alive) > 1:
        numbers = ", ".join(str(one) for one in sorted(alive))
        raise NotAllowed(f"Several sandboxes are running: {numbers}.", "Say which with --sandbox NUMBER.")
    return next(iter(alive.values()))


def living(env: Mapping[str, str]) -> list[Entry]:
    directory = own_directory(env)
    if not directory.is_dir():
        return []
    refuse_foreign(directory)
    found = []
    for file in directory.glob("*.json"):
        try:
            entry = Entry(**json.loads(file.read_text()))
        except (OSError, ValueError, TypeError):
            continue
        if start_time(entry.pid) == entry.started:
            found.append(entry)
        else:
            file.unlink(missing_ok=True)
    return found


def own_directory(env: Mapping[str, str]) -> Path:
    if runtime := env.get("XDG_RUNTIME_DIR"):
        return Path(runtime) / "notbefore" / "sandboxes"
    return Path(tempfile.gettempdir()) / f"notbefore-sandboxes-{os.getuid()}"


def refuse_foreign(directory: Path) -> None:
    """In a directory that everybody may write to, somebody else may have been there first."""
    about = directory.lstat()
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid() or about.st_mode & 0o077:
        raise NotAllowed(f"{directory} is not this user's alone.", "Remove it, or set XDG_RUNTIME_DIR.")


def start_time(pid: int) -> str:
    """When a process started, as the kernel counts; empty when there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""
