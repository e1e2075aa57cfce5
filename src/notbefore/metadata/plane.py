"""What all connections of one data plane share: the app, the loop that waits for them, who is connected."""

import asyncio
from typing import Any

from uvicorn.config import Config
from uvicorn.server import ServerState

from notbefore.event_loop import ServingLoop
from notbefore.metadata.app import MetadataApp
from notbefore.metadata.identity import Peer
from notbefore.metadata.memo import Remembered


class Plane:
    def __init__(self, config: Config, state: ServerState, app_state: dict[str, Any]) -> None:
        assert isinstance(config.app, MetadataApp)
        self.app = config.app
        self.config = config
        self.state = state
        self.app_state = app_state
        loop = asyncio.get_running_loop()
        assert isinstance(loop, ServingLoop), "a data plane is served by the loop it runs on"
        self.loop, self.lookout = loop, loop.lookout
        self._answer_now = config.app.service.answer_now

    def answer_to(self, remembered: Remembered, peer: Peer) -> bytes | None:
        """The whole answer to a known request, counted; None: it needs a commit first."""
        answer = self._answer_now(remembered.verdict, peer)
        if answer is None:
            return None
        remembered.counted[answer.status] += 1
        return answer.bytes_with(self.app.default_lines(self.state), close=remembered.close)
