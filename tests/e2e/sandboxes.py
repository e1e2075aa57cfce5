"""Sandboxes as people start them: the program as a process, and what it leaves behind."""

import os
import subprocess
from contextlib import contextmanager
from pathlib import Path

from served import PROGRAM

DOCUMENT = 'curl -s -H Metadata:true "http://169.254.169.254/metadata/scheduledevents?api-version=2020-07-01"'


def sandbox(*words, program=(PROGRAM,), **options):
    """Run one to its end."""
    return subprocess.run(
        [*program, "sandbox", *words],
        capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL, **options,
    )  # fmt: skip


@contextmanager
def standing_sandbox(*words, env=None):
    """One that runs `cat` in the end: it lasts until its input is closed. Its first line says that it is there."""
    process = subprocess.Popen(
        [PROGRAM, "sandbox", *words, "--", "bash", "-c", "echo there; exec cat"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **(env or {})},
    )  # fmt: skip
    try:
        assert process.stdout.readline() == "there\n"
        yield process
    finally:
        process.stdin.close()
        process.wait(20)
        process.stdout.close()


def processes_naming(text):
    """Of all that run, those with this in their words."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if any(text in word for word in words):
            found.append(words)
    return found
