"""The support bundle: what somebody else needs to see of a set-up, in one file that shows no secret.

Rule 1: mode 0600, and never in the place of a file that is there.
Rule 2: everything in it went through the redaction; no file of the machine is copied.
Rule 3: what could not be had is said in its place.
"""

import io
import json
import os
import platform
import sys
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import distributions
from pathlib import Path

from notbefore import __version__
from notbefore.cli.doctor.finding import Finding
from notbefore.cli.doctor.redaction import Redaction
from notbefore.control_client import ControlClient
from notbefore.core.errors import Refusal

HISTORY_MAX = 1000
FOLDER = "notbefore-support"
ABOUT: Mapping[str, str] = {
    "doctor.json": "what `notbefore doctor` found",
    "versions.json": "versions of notbefore, Python, the system and installed packages",
    "settings.toml": "the settings in force, secrets cut",
    "environment.txt": "names of NOTBEFORE_ variables, without their values",
    "health.json": "what /healthz and /readyz answer",
    "metrics.txt": "what /metrics answers",
    "clock.json": "the server's clock",
    "scopes.json": "scopes with their VMs and settings",
    "hosts.json": "hosts",
    "events.json": "live events",
    "history.json": f"the newest {HISTORY_MAX} records of history",
}

Parts = dict[str, str]


def collected(
    findings: Sequence[Finding],
    settings: str,
    client: ControlClient | None,
    redaction: Redaction,
    env: Mapping[str, str],
) -> Parts:
    """Every part as text, redacted."""
    trees = {
        "doctor.json": [asdict(one) for one in findings],
        "versions.json": _versions(),
        "health.json": _had(client, _health),
        "clock.json": _had(client, lambda one: one.raw.get("clock")),
        "scopes.json": _had(client, lambda one: one.raw.get("scopes")),
        "hosts.json": _had(client, lambda one: one.raw.get("hosts")),
        "events.json": _had(client, lambda one: one.raw.get("events")),
        "history.json": _had(client, lambda one: one.raw.get("history", query={"limit": HISTORY_MAX})),
    }
    redaction.learn(list(trees.values()))
    texts = {
        name: json.dumps(redaction.tree(tree), indent=1, ensure_ascii=False) + "\n" for name, tree in trees.items()
    }
    texts["settings.toml"] = settings
    texts["environment.txt"] = "".join(f"{name}\n" for name in sorted(env) if name.startswith("NOTBEFORE_"))
    texts["metrics.txt"] = str(_had(client, _metrics))
    return {name: redaction.text(texts[name]) for name in ABOUT}


def contents(parts: Parts) -> str:
    return "".join(f"{name:16} {ABOUT[name]}\n" for name in parts)


def write_bundle(file: Path, parts: Parts, *, made_at_s: int, about: str) -> None:
    content = _packed({"README.txt": f"{about}\n\n{contents(parts)}", **parts}, made_at_s)
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise Refusal(f"{file} is there already.", "Name another file, or remove it.") from None
    except OSError as error:
        raise Refusal(f"Cannot write {file}: {error.strerror}.", "Name another file.") from None
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
    except OSError as error:
        file.unlink(missing_ok=True)
        raise Refusal(f"Cannot write {file}: {error.strerror}.", "Name another file.") from None


def _packed(parts: Parts, made_at_s: int) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in parts.items():
            content = text.encode(errors="replace")
            member = tarfile.TarInfo(f"{FOLDER}/{name}")
            member.size, member.mode, member.mtime = len(content), 0o600, made_at_s
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def _had(client: ControlClient | None, ask: Callable[[ControlClient], object]) -> object:
    if client is None:
        return {"unavailable": "The server could not be asked."}
    try:
        return ask(client)
    except Refusal as refusal:
        return {"unavailable": refusal.message}


def _health(client: ControlClient) -> object:
    answers = {path: client.raw.exchange("GET", path) for path in ("/healthz", "/readyz")}
    return {path: {"status": one.status, "body": one.body.decode(errors="replace")} for path, one in answers.items()}


def _metrics(client: ControlClient) -> str:
    answer = client.raw.exchange("GET", "/metrics")
    return answer.body.decode(errors="replace")


def _versions() -> dict[str, object]:
    packages = {str(one.metadata["Name"]): one.version for one in distributions()}
    return {
        "notbefore": __version__,
        "python": sys.version,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "packages": dict(sorted(packages.items())),
    }
