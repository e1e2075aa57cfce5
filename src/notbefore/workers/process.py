"""The process of a worker: started with its end of the line and its sockets, waited for at its end.

Rule 1: a fresh interpreter, never a fork: the server may run in a thread among others.
Rule 2: out of the terminal's reach: Ctrl-C is for the parent, which tells its workers.
"""

import asyncio
import socket
import subprocess
import sys
from collections.abc import Sequence

PROGRAM = (sys.executable, "-P", "-m", "notbefore.workers.child")
END_WITHIN_S = 2.0

Process = subprocess.Popen[bytes]
Argv = Sequence[str]


async def started(program: Argv, line: socket.socket, sockets: Sequence[socket.socket]) -> Process:
    """It inherits these, under the same numbers."""
    numbers = [line.fileno(), *(one.fileno() for one in sockets)]
    return await asyncio.to_thread(_started, program, numbers)


def _started(program: Argv, numbers: Sequence[int]) -> Process:
    return subprocess.Popen(  # noqa: S603  our own program
        [*program, str(numbers[0])], stdin=subprocess.DEVNULL, pass_fds=numbers, start_new_session=True
    )


async def ended(process: Process) -> int:
    """Its exit code. Its line is cut, so it ends by itself, or is ended."""
    return await asyncio.to_thread(_ended, process)


def _ended(process: Process) -> int:
    try:
        return process.wait(END_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
