"""doctor: the command. Looks at everything, says it, and perhaps packs it."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from notbefore.cli.doctor.finding import FAIL, OK, WARN, Finding, fail
from notbefore.cli.doctor.fleet import fleet_findings
from notbefore.cli.doctor.machine import (
    effective_settings,
    listener_findings,
    probe_findings,
    secrets_known,
    settings_of,
    state_findings,
    system_calls_finding,
)
from notbefore.cli.doctor.server import clock_finding, reach_findings, token_findings
from notbefore.cli.exits import DONE, REFUSED
from notbefore.cli.options import AsJson
from notbefore.cli.printable import show_lines
from notbefore.cli.tables import show_json
from notbefore.control_client import ControlClient, connect
from notbefore.control_client.found import state_dir, url_in
from notbefore.core.errors import Refusal

if TYPE_CHECKING:
    from notbefore.clock import SystemClock

ABOUT_BUNDLE = (
    "What a notbefore set-up looks like, for whoever helps with it. Tokens, keys and certificates are not in it."
)
CUT_TOO = " Addresses and tags are cut too."

Config = Annotated[str | None, typer.Option("--config", metavar="FILE", help="The server's settings, in TOML.")]
Probe = Annotated[
    list[str] | None,
    typer.Option(
        "--probe", metavar="HOST:PORT", help="Also ask whether the metadata service answers there; may be repeated."
    ),
]
Bundle = Annotated[
    str | None, typer.Option("--bundle", metavar="FILE.tar.gz", help="Also write a support bundle, without secrets.")
]
WithAddresses = Annotated[bool, typer.Option("--with-addresses", help="Leave addresses and tags in the bundle.")]


def doctor(
    *,
    config: Config = None,
    probe: Probe = None,
    bundle: Bundle = None,
    with_addresses: WithAddresses = False,
    as_json: AsJson = False,
) -> int:
    """Find out what is wrong with a set-up: settings, files, server, token, clock, listeners, fleet.

    Each finding is ok, warn or fail, and says what to do; exit code 1 when one fails. It changes nothing. It asks the
    server at NOTBEFORE_URL and metadata listeners on loopback, and nothing else unless --probe names it. A bundle has
    the findings, settings, health, metrics, scopes, and the newest 1,000 records of history; no secrets, and without
    --with-addresses no addresses and tags.

    Example: `notbefore doctor --config /etc/notbefore/notbefore.toml --bundle support.tar.gz`
    """
    from notbefore.clock import SystemClock  # noqa: PLC0415  client commands start fast

    clock = SystemClock()
    settings, findings = settings_of(Path(config) if config else None, os.environ)
    state = settings.state_dir if settings else state_dir(os.environ)
    url = url_in(os.environ)
    findings.append(system_calls_finding())
    findings += [*state_findings(state), *reach_findings(url), *listener_findings(settings, url)]
    findings += probe_findings(probe or ())
    client = _client(findings)
    findings += _asked_with_token(client, clock)
    _show(findings, as_json=as_json)
    if bundle:
        from notbefore.cli.doctor.bundle import collected, contents, write_bundle  # noqa: PLC0415  few ask for one
        from notbefore.cli.doctor.redaction import Redaction  # noqa: PLC0415

        redaction = Redaction(secrets_known(settings, state, os.environ), with_addresses=with_addresses)
        parts = collected(findings, effective_settings(settings), client, redaction, os.environ)
        about = ABOUT_BUNDLE + ("" if with_addresses else CUT_TOO)
        write_bundle(Path(bundle), parts, made_at_s=int(clock.real_s()), about=about)
        if not as_json:
            show_lines([f"{bundle} is readable by its owner alone. It holds:", *contents(parts).splitlines()])
    return REFUSED if any(one.level == FAIL for one in findings) else DONE


def _client(findings: list[Finding]) -> ControlClient | None:
    if any(one.check == "server" and one.level == FAIL for one in findings):
        return None
    try:
        return connect()
    except Refusal as refusal:
        findings.append(fail("token", refusal.message, refusal.hint))
        return None


def _asked_with_token(client: ControlClient | None, clock: "SystemClock") -> Iterator[Finding]:
    if client is None:
        return
    said = list(token_findings(client))
    yield from said
    if any(one.level == FAIL for one in said):
        return
    try:
        yield clock_finding(client, clock.now().wall_ms)
        yield from fleet_findings(client)
    except Refusal as refusal:
        yield fail("server", refusal.message, refusal.hint)


def _show(findings: Sequence[Finding], *, as_json: bool) -> None:
    if as_json:
        show_json([asdict(one) for one in findings])
        return
    for one in findings:
        show_lines([f"{one.level:4}  {one.check}: {one.says}", *([f"      {one.do}"] if one.do else [])])
    counts = Counter(one.level for one in findings)
    show_lines([f"{counts[OK]} ok, {counts[WARN]} to look at, {counts[FAIL]} wrong."])
