"""Secrets in files: read once, when the settings are, and only from a file that is its owner's.

Rule 1: a file that others may read, or a group may write, is refused; a group of services may read it.
Rule 2: no sentence quotes what stands in it. Windows has no such bits: there the access list is the owner's to set.
"""

import os
import stat
from pathlib import Path

from notbefore.agent.steps.step import WrongSetting

FILE_MAX_BYTES = 64 * 1024
TOO_OPEN = stat.S_IWGRP | stat.S_IRWXO


def secret_lines(key: str, file: Path) -> tuple[str, ...]:
    """Its lines without empty ones; WrongSetting of `key` when there are none, or it is not the owner's alone."""
    try:
        with file.open(encoding="utf-8") as opened:
            if os.name == "posix" and os.fstat(opened.fileno()).st_mode & TOO_OPEN:
                raise WrongSetting(key, f"{file} may be read by others; `chmod 600` it")
            lines = opened.read(FILE_MAX_BYTES).splitlines()
    except UnicodeDecodeError:
        raise WrongSetting(key, f"{file} is not text") from None
    except OSError as error:
        raise WrongSetting(key, f"{file} cannot be read: {error.strerror}") from None
    found = tuple(line.strip() for line in lines if line.strip())
    if not found:
        raise WrongSetting(key, f"{file} is empty")
    return found


def secret_line(key: str, file: Path) -> str:
    lines = secret_lines(key, file)
    if len(lines) != 1:
        raise WrongSetting(key, f"{file} holds {len(lines)} lines, and one is taken")
    return lines[0]
