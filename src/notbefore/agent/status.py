"""How the agent is, shown: `GET /healthz` and `GET /metrics` on a port, and the metrics in a file.

Rule 1: it shows the last Picture and asks nobody. The HTTP server is imported by whoever has it switched on.
Rule 2: the file is there whole or not at all; one that cannot be written is said once.
"""

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from notbefore.agent.picture import Picture, metrics
from notbefore.agent.settings import Status

if TYPE_CHECKING:
    from notbefore.agent.status_server import StatusServer

EVERYBODY_READS: Final = 0o644

log = logging.getLogger("notbefore.agent")


class Window:
    """Where the last Picture hangs."""

    def __init__(self, settings: Status) -> None:
        self._settings = settings
        self._written = ""
        self._fault = ""
        self._server: StatusServer | None = None

    @property
    def is_shown(self) -> bool:
        return bool(self._settings.listen or self._settings.textfile)

    def open(self) -> str:
        """Listen, when that is wanted; the address. The first picture is answered with."""
        if not self._settings.listen:
            return ""
        from notbefore.agent.status_server import StatusServer  # noqa: PLC0415  rule 1

        self._server = StatusServer(self._settings.listen)
        return self._server.url

    def show(self, picture: Picture) -> None:
        if self._server is not None:
            self._server.show(picture)
        if self._settings.textfile is not None:
            self._write(self._settings.textfile, metrics(picture))

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    def _write(self, file: Path, text: str) -> None:
        if text == self._written:
            return
        fresh = file.with_name(f".{file.name}.{os.getpid()}")
        try:
            fresh.write_text(text, encoding="utf-8")
            fresh.chmod(EVERYBODY_READS)
            fresh.replace(file)
            self._written = text
            self._fault = ""
        except OSError as error:
            if self._fault != (fault := error.strerror or str(error)):
                log.warning("%s cannot be written: %s", file, fault)
            self._fault = fault
