"""Whether somebody listens at an address: for `check`, which sends nothing.

Rule 1: it connects and closes; a few seconds at most.
"""

import socket

CONNECT_MAX_S = 3.0


def reach_problem(host: str, port: int) -> list[str]:
    """In a sentence, or nothing."""
    try:
        socket.create_connection((host, port), CONNECT_MAX_S).close()
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "no answer in time"
        return [f"nobody listens at {host}:{port}: {reason}"]
    return []
