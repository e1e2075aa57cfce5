"""What all connections of one data plane share: the app, the loop that waits for them, who is connected."""

import asyncio
from typing import Any

from uvicorn.config import Config
from uvicorn.server import ServerState

from notbefore.event_loop import ServingLoop
from notbefore.metadata.app import MetadataApp
from notbefore.metadata.identity import Peer
from notbefore.metadata.memo import Remembered
from notbefore.metadata.service import MetadataOptions


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
        self.standing = config.app.service.standing
        config.app.service.follow_options(self._take_options)

    def _take_options(self, options: MetadataOptions) -> None:
        self.head_timeout_s, self.idle_timeout_s = options.limits.head_timeout_s, options.limits.idle_timeout_s

    def answer_to(self, remembered: Remembered, peer: Peer) -> bytes | None:
        """The whole answer to a known request, counted; None: it needs a commit first."""
        answer = self._answer_now(remembered.verdict, peer, self.lookout.now_s)
        if answer is None:
            return None
        remembered.counted[answer.status] += 1
        app = self.app
        lines, whole = answer.closed if remembered.close else answer.kept
        if lines is app.default_lines:
            return whole
        return answer.bytes_with(app.default_lines, close=remembered.close)
