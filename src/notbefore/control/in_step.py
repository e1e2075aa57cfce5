"""With workers: the control API answers when every worker has seen what it answers (DESIGN §2, "read your own writes").

Rule 1: before anything is done, what VMs asked of any worker is known here: who asked when decides, and is shown.
Rule 2: no part of any answer goes out before the workers have seen what is committed and what time it is. That holds
for reading and for streams too, since what they show may be asked for at the data plane next.
Without workers it passes everything on.
"""

from collections.abc import MutableMapping
from typing import Any

from notbefore.control.plane import ControlPlane

HEALTH = ("/healthz", "/readyz")


class InStep:
    def __init__(self, app: Any, plane: ControlPlane) -> None:
        self._app = app
        self._plane = plane

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        workers = self._plane.workers
        if workers is None or scope["type"] != "http" or scope["path"] in HEALTH:
            await self._app(scope, receive, send)
            return
        await workers.heard()

        async def in_step(message: MutableMapping[str, Any]) -> None:
            await workers.in_step()
            await send(message)

        await self._app(scope, receive, in_step)
