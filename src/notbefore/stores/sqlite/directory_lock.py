"""A lock on a directory: whoever holds it is alone in changing what stands in it.

It is flock(2) on the directory itself, so it needs no file of its own and ends with its process.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def alone_in(directory: Path, *, wait: bool) -> Iterator[None]:
    """Without `wait`, BlockingIOError when somebody else is in there."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(descriptor)
