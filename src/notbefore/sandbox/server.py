"""The server of a sandbox: a `notbefore serve` of its own, with its VMs declared, until the sandbox ends.

Rule 1: it is out of the terminal's reach: Ctrl-C is for the command. It ends with its parent, however that ends.
Rule 2: what it logs is kept beside its state, and shown when it does not start.
Rule 3: its store is its own, whatever the environment or the settings name: its clock may be turned, and on the store
of another server that would start that one's events.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from notbefore.control_client import ControlClient
from notbefore.core.errors import NotAllowed
from notbefore.sandbox.kernel import end_with_parent
from notbefore.sandbox.machines import Json

PROGRAM = (sys.executable, "-c", "from notbefore.cli.main import main; main()")
STOP_WITHIN_S = 20.0
LAST_LINES = 5

BeforeExec = Callable[[], None]


class SandboxServer:
    def __init__(self, state: Path, words: Sequence[str], listeners: Sequence[tuple[str, str]], control: str) -> None:
        """`listeners` are addresses, each with the `scope/vm` that it belongs to, or none."""
        self.state = state
        self._log = state / "server.log"
        own = ("--state", str(state), "--store", f"sqlite:{state / 'notbefore.db'}", "--control", control)
        self._words = [*PROGRAM, "serve", *own, *words]
        self._env = {**os.environ, "NOTBEFORE_METADATA_LISTENERS": toml_listeners(listeners)}
        self._process: subprocess.Popen[str] | None = None
        self.url = ""
        self.metadata_urls: tuple[str, ...] = ()

    def start(self, prepare: BeforeExec) -> None:
        """`prepare` is called in the child, before it becomes the server."""

        def in_child() -> None:
            end_with_parent()
            prepare()

        self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._log.open("a") as log:
            self._process = subprocess.Popen(  # noqa: S603  our own program
                self._words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self._env,
                text=True,
                start_new_session=True,
                preexec_fn=in_child,  # noqa: PLW1509  one thread, and nothing else tells the kernel
            )
        banner = self._banner(self._process)
        self.url = re.findall(r"^  control +(\S+)", banner, re.MULTILINE)[0]
        self.metadata_urls = tuple(re.findall(r"^  metadata +(\S+)", banner, re.MULTILINE))

    def _banner(self, process: "subprocess.Popen[str]") -> str:
        assert process.stdout
        said = ""
        for line in process.stdout:
            said += line
            if line.startswith("Try it"):
                return said
        last = self._log.read_text(errors="replace").strip().splitlines()[-LAST_LINES:]
        raise NotAllowed(f"The sandbox's server did not start: {' '.join(last) or 'it said nothing'}", "")

    @property
    def token(self) -> str:
        return (self.state / "admin.token").read_text().strip()

    def declare(self, scopes: Mapping[str, Json], hosts: Mapping[str, Any]) -> None:
        with ControlClient(self.url, self.token) as client:
            for name, host in hosts.items():
                client.put_host(name, host)
            for name, scope in scopes.items():
                client.put_scope(name, scope)

    def stop(self) -> None:
        process = self._process
        if process is None:
            return
        process.terminate()
        try:
            process.wait(STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout:
            process.stdout.close()


def toml_listeners(listeners: Sequence[tuple[str, str]]) -> str:
    quoted = [(address, vm.replace("\\", "\\\\").replace('"', '\\"')) for address, vm in listeners]
    return "[" + ", ".join(f'{{address = "{address}", vm = "{vm}"}}' for address, vm in quoted) + "]"
