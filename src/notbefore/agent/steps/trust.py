"""Whom a step trusts over TLS: the system's authorities, or those of the file that the settings name.

Rule 1: certificates and names are always checked; there is no switch for it.
"""

import ssl
from pathlib import Path

from notbefore.agent.steps.attempt import Trouble


def tls_context(ca_file: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=str(ca_file) if ca_file else None)
    except OSError as error:
        reason = (
            error.strerror if error.strerror and not isinstance(error, ssl.SSLError) else "it holds no certificates"
        )
        raise Trouble(f"{ca_file} cannot be taken as ca_file: {reason}") from None


def trust_problem(ca_file: Path | None) -> list[str]:
    """For `check`."""
    try:
        tls_context(ca_file)
    except Trouble as trouble:
        return [str(trouble)]
    return []
