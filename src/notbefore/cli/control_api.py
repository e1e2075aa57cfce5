"""The control API as commands speak it that show its answers as they came: the raw layer of the control client."""

import os
from collections.abc import Mapping

from notbefore.control_client import ControlApi, Json, NoServer, NoToken
from notbefore.control_client.found import found_api, state_dir

__all__ = ["ControlApi", "Json", "NoServer", "NoToken", "connect", "state_dir"]


def connect(env: Mapping[str, str] = os.environ) -> ControlApi:
    """The server that the environment names."""
    return found_api(env)
