"""sandbox: a server and a command in a private network, where the link-local address is real."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from notbefore.cli.exits import WrongUsage
from notbefore.cli.fleet import read_fleet
from notbefore.cli.options import AsJson
from notbefore.cli.tables import show_json
from notbefore.core.errors import Invalid
from notbefore.sandbox.command import refuse_no_program
from notbefore.sandbox.kernel import join, take_hostname
from notbefore.sandbox.machines import SERVER, made_up
from notbefore.sandbox.register import chosen
from notbefore.sandbox.running import Place, Wanted, endpoint_env, run_sandbox

RUN = "run"

Command = Annotated[list[str] | None, typer.Argument(metavar="-- CMD", help="The command, and its words.")]
Vms = Annotated[
    int | None, typer.Option("--vms", metavar="N", help="VMs web-0, web-1 and so on, each in a network of its own.")
]
FleetFile = Annotated[
    str | None,
    typer.Option("--fleet", metavar="FLEET.TOML", help="The VMs of this fleet, each in a network of its own."),
]
PortPerVm = Annotated[
    bool, typer.Option("--port-per-vm", help="No namespaces: a port of 127.0.0.1 for each VM, said in the environment.")
]
Clock = Annotated[str | None, typer.Option("--clock", metavar="CLOCK", help="As of `serve`: real, manual or rate:N.")]
AllowFaults = Annotated[bool, typer.Option("--allow-faults", help="As of `serve`: let `notbefore fault` work there.")]
Config = Annotated[str | None, typer.Option("--config", metavar="FILE", help="As of `serve`: settings, in TOML.")]
State = Annotated[
    str | None,
    typer.Option("--state", metavar="DIR", help="Keep the server's state here; else it goes with the sandbox."),
]
Sandbox = Annotated[
    int | None, typer.Option("--sandbox", metavar="NUMBER", help="Which one, when several are running.")
]
Vm = Annotated[str, typer.Argument(metavar="VM", help="A VM of the sandbox, or `server`.")]


class RunByDefault(TyperGroup):
    """`sandbox -- CMD` is `sandbox run -- CMD`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] != "--help"):
            args = [RUN, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(name="sandbox", cls=RunByDefault)


@app.callback()
def sandbox() -> None:
    """Run a command beside a server on 169.254.169.254, in a private network; no root needed.

    A client with the address written into it runs in there unchanged. `run` may be left out.

    Example: `notbefore sandbox -- ./my-agent`
    """


@app.command(RUN)
def run(
    words: Command = None,
    *,
    vms: Vms = None,
    fleet: FleetFile = None,
    port_per_vm: PortPerVm = False,
    clock: Clock = None,
    allow_faults: AllowFaults = False,
    config: Config = None,
    state: State = None,
    as_json: AsJson = False,
) -> int:
    """Run a command in a sandbox; its exit code is passed on, and nothing is left behind.

    The command is the VM `web-0`. With --vms or --fleet each VM has a network of its own (`notbefore sandbox exec`),
    and the command runs beside the server. NOTBEFORE_URL and NOTBEFORE_TOKEN are set for it, so that `notbefore
    restart web-0` works there. Nothing outside can be reached from inside. Without a command it lasts until Ctrl-C.

    Example: `notbefore sandbox --clock manual -- ./test-my-agent`, or `notbefore sandbox --vms 3 -- bash`
    """
    if vms is not None and fleet is not None:
        raise WrongUsage("Say either --vms or --fleet.", "The fleet file names its VMs.")
    try:
        serving = serve_words(clock=clock, config=config, allow_faults=allow_faults)
        wanted = wanted_of(vms, fleet, serving, state, port_per_vm=port_per_vm)
        return run_sandbox(wanted, words or [], lambda place: tell(place, wanted, words or [], as_json=as_json))
    except Invalid as wrong:
        raise WrongUsage(wrong.message, wrong.hint, wrong.facts) from None


def wanted_of(vms: int | None, fleet: str | None, words: list[str], state: str | None, *, port_per_vm: bool) -> Wanted:
    declared = read_fleet(Path(fleet)) if fleet else None
    return Wanted(
        scopes=declared.scopes if declared else made_up(1 if vms is None else vms),
        hosts=declared.hosts if declared else {},
        separate=vms is not None or fleet is not None,
        port_per_vm=port_per_vm,
        state=Path(state) if state else None,
        serve_words=words,
    )


def serve_words(*, allow_faults: bool = False, **options: str | None) -> list[str]:
    """The options of `serve` that were given, as it takes them."""
    words = [word for name, value in options.items() if value is not None for word in (f"--{name}", value)]
    return [*words, "--allow-faults"] if allow_faults else words


def tell(place: Place, wanted: Wanted, words: list[str], *, as_json: bool) -> None:
    """Where the VMs are: on stdout, unless that is the command's."""
    if as_json:
        show_json({"url": place.env["NOTBEFORE_URL"], "vms": dict(place.endpoints)})
    elif wanted.port_per_vm:
        lines = [f"{name}={value}" for name, value in endpoint_env(place.endpoints).items()]
        print("\n".join(lines), file=sys.stderr if words else sys.stdout, flush=True)
    elif not words:
        print(
            f"sandbox with {', '.join(place.endpoints)}: notbefore sandbox exec VM -- CMD. Ctrl-C ends it.", flush=True
        )


@app.command("exec")
def execute(vm: Vm, words: Annotated[list[str], typer.Argument(metavar="-- CMD")], *, sandbox: Sandbox = None) -> None:
    """Run a command as a VM of a sandbox that is running, from another terminal or from inside.

    `server` is the place of the server: there, and where a sandbox has but one VM, operators' commands work.

    Example: `notbefore sandbox exec web-1 -- ./my-agent`
    """
    entry = chosen(os.environ, sandbox)
    name, network = entry.network_of(vm)
    env = {key: value for key, value in os.environ.items() if key not in ("NOTBEFORE_URL", "NOTBEFORE_TOKEN")}
    env["NOTBEFORE_SANDBOX"] = str(entry.pid)
    if name == SERVER or Path(network).samefile(entry.networks[SERVER]):
        env |= {"NOTBEFORE_URL": entry.url, "NOTBEFORE_TOKEN": Path(entry.token_file).read_text().strip()}
    join(entry.user_namespace, network)
    if name != SERVER:
        take_hostname(name)
    try:
        os.execvpe(words[0], words, env)  # noqa: S606  the user's own command
    except OSError as error:
        wrong = refuse_no_program(error, words[0])
        raise WrongUsage(wrong.message, wrong.hint) from None
