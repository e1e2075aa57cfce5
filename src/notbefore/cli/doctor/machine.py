"""The machine it runs on: the program, its settings, the state directory with the token, the metadata listeners."""

import http.client
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from notbefore.cli.doctor.finding import Finding, fail, ok, warn
from notbefore.cli.doctor.port_owner import port_owner
from notbefore.core.errors import Invalid, Refusal
from notbefore.state_dir import TOKEN_FILE
from notbefore.wire.api_versions import PATH

if TYPE_CHECKING:
    from notbefore.settings import Settings

PROBE_MAX_S = 3.0
PROBE_MAX_BYTES = 64 * 1024
# What the metadata service says to a request without the header: asking so counts for no VM and enables nothing.
RECOGNISED_BY = b"Required metadata header not specified"
OTHERS = stat.S_IRWXG | stat.S_IRWXO
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def settings_of(config: Path | None, env: Mapping[str, str]) -> "tuple[Settings | None, list[Finding]]":
    """The settings a server would run with, and what is to be said about them."""
    from notbefore.settings import SettingsRefused, load_settings  # noqa: PLC0415  client commands start fast

    try:
        settings = load_settings(config, env, {})
    except SettingsRefused as wrong:
        return None, [fail("settings", problem, wrong.hint) for problem in wrong.problems]
    except Invalid as wrong:
        return None, [fail("settings", wrong.message, wrong.hint or "Mend it, or name another file with --config.")]
    where = f"Settings come from {config}" if config else "No settings file is named, so settings have their defaults"
    return settings, [ok("settings", f"{where}; the environment has its say.")]


def system_calls_finding() -> Finding:
    """Of the program as it is installed here. Without the compiled ones nothing is wrong."""
    from notbefore.system_calls import COMPILED  # noqa: PLC0415  client commands start fast

    if COMPILED:
        return ok("system calls", "The data plane's system calls are compiled.")
    hint = "Installed anew where a C compiler and Python's headers are, it answers VMs with a little less work."
    return ok("system calls", f"The data plane's system calls are the standard library's. {hint}")


def state_findings(state: Path) -> Iterator[Finding]:
    try:
        mode = state.stat().st_mode
    except OSError as error:
        yield warn(
            "state directory",
            f"{state} cannot be looked at: {error.strerror}.",
            "`notbefore serve` makes it at its first start; for another one use --state or NOTBEFORE_STATE.",
        )
        return
    if mode & OTHERS_WRITE:
        yield fail("state directory", f"Others may write in {state}, where promises are kept.", f"chmod 700 {state}")
    elif mode & OTHERS:
        yield warn("state directory", f"Others may look into {state}.", f"chmod 700 {state}")
    else:
        yield ok("state directory", f"{state} is its owner's alone.")
    yield token_file_finding(state / TOKEN_FILE)


def token_file_finding(file: Path) -> Finding:
    try:
        mode = file.stat().st_mode
    except FileNotFoundError:
        return warn("token file", f"There is no {file}.", "`notbefore serve` makes it at its first start.")
    except OSError as error:
        return warn("token file", f"{file} cannot be looked at: {error.strerror}.", "Run this as the server's user.")
    if mode & OTHERS:
        return fail("token file", f"Others may read {file}: whoever does is an admin.", f"chmod 600 {file}")
    return ok("token file", f"{file} is readable by its owner alone.")


def listener_findings(settings: "Settings | None", url: str) -> Iterator[Finding]:
    if settings is None:
        return
    is_elsewhere = not _is_loopback(str(urlsplit(url).hostname))
    for listener in settings.metadata.listeners:
        check = f"metadata {listener.address}"
        host, _, port = listener.address.rpartition(":")
        if is_elsewhere:
            yield ok(check, "Not asked: the server is on another machine.")
        elif int(port) == 0:
            yield ok(check, "Not asked: the system chooses its port at every start.")
        elif not _is_loopback(host.strip("[]")):
            yield ok(check, f"Not asked: it is not on loopback. `--probe {listener.address}` asks it.")
        else:
            yield probe(check, listener.address)


def probe_findings(addresses: Sequence[str]) -> Iterator[Finding]:
    for address in addresses:
        yield probe(f"probe {address}", address)


def probe(check: str, address: str) -> Finding:
    """Whether the metadata service answers there."""
    host, _, port = address.rpartition(":")
    do = "Start `notbefore serve`, or mend metadata.listeners."
    try:
        answer = _answer(host.strip("[]"), int(port))
    except ValueError:
        return fail(check, f"{address!r} is not ADDRESS:PORT.", "Write it as 127.0.0.1:8254.")
    except (OSError, http.client.HTTPException) as error:
        owner = _owner_of(host.strip("[]"), int(port))
        reason = (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()
        return fail(check, f"The metadata service does not answer ({reason}).{owner}", do)
    if RECOGNISED_BY in answer:
        return ok(check, "The metadata service answers.")
    return fail(check, f"What answers is not the metadata service.{_owner_of(host.strip('[]'), int(port))}", do)


def _answer(host: str, port: int) -> bytes:
    with closing(http.client.HTTPConnection(str(ip_address(host)), port, timeout=PROBE_MAX_S)) as connection:
        connection.request("GET", PATH, headers={"Connection": "close"})
        return connection.getresponse().read(PROBE_MAX_BYTES)


def _owner_of(host: str, port: int) -> str:
    owner = port_owner(port) if _is_loopback(host) else None
    return f" Port {port} is taken by {owner}." if owner else ""


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def control_port_owner(url: str) -> str:
    """Who has the control API's port, when it is a port of this machine."""
    server = urlsplit(url)
    try:
        return _owner_of(str(server.hostname), server.port or (443 if server.scheme == "https" else 80))
    except ValueError:
        return ""


def effective_settings(settings: "Settings | None") -> str:
    from notbefore.settings.shown import as_toml  # noqa: PLC0415

    if settings is None:
        return "# The settings cannot be used; doctor.json says why.\n"
    try:
        return as_toml(settings)
    except Refusal as refusal:
        return f"# {refusal.message}\n"


def secrets_known(settings: "Settings | None", state: Path, env: Mapping[str, str]) -> list[str]:
    """Every secret this machine could show by accident."""
    texts = [env.get("NOTBEFORE_TOKEN", ""), *(settings.metadata.trusted_proxy_key if settings else ())]
    files = [state / TOKEN_FILE, *(Path(env[name]).expanduser() for name in ("NOTBEFORE_TOKEN_FILE",) if env.get(name))]
    texts += [file.read_text(errors="replace") for file in files if file.is_file() and os.access(file, os.R_OK)]
    return [line.strip() for text in texts for line in text.splitlines() if line.strip()]
