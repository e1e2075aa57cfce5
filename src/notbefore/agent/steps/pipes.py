"""What a program is told and what it prints: both moved along without ever waiting for it.

Rule 1: of what is printed the end is kept, the rest is read and dropped; a megabyte blocks nobody.
Rule 2: whoever else holds an end of the pipe, perhaps a child that stays, keeps nobody from closing ours.
Rule 3: where pipes can be polled (Linux) nobody else is needed; elsewhere (Windows) a thread reads each of them.
"""

import os
import select
import sys
import threading
from contextlib import suppress
from subprocess import Popen
from typing import IO, Protocol

from notbefore.agent.steps.step import OUTPUT_MAX

CHUNK_BYTES = 64 * 1024
# What a pipe may still hold when its writer is gone, and no more: others may go on writing.
LAST_CHUNKS = 17
LAST_WAIT_S = 1.0
LEFT_OUT = "[…]\n"


class Pipes(Protocol):
    def pump(self, wait_s: float) -> None:
        """Move what can be moved; wait so long at most for there to be something."""
        ...

    def drained(self) -> str:
        """The end of what was printed, all that is there now included."""
        ...

    def close(self) -> None: ...


class Tail:
    """The end of a text that may be long."""

    def __init__(self) -> None:
        self._kept = b""
        self._is_cut = False

    def add(self, chunk: bytes) -> None:
        whole = self._kept + chunk
        self._is_cut = self._is_cut or len(whole) > OUTPUT_MAX
        self._kept = whole[-OUTPUT_MAX:]

    def text(self) -> str:
        """Printable, lines and tabs apart."""
        text = self._kept.decode("utf-8", "replace").replace("\r\n", "\n")
        plain = "".join(one if one.isprintable() or one in "\n\t" else " " for one in text)
        return LEFT_OUT + plain[-(OUTPUT_MAX - len(LEFT_OUT)) :] if self._is_cut else plain


class ThreadedPipes:
    def __init__(self, process: Popen[bytes], told: bytes) -> None:
        self._tail = Tail()
        self._lock = threading.Lock()
        self._is_read = threading.Event()
        self._pause = threading.Event()
        threading.Thread(target=self._tell, args=(process.stdin, told), daemon=True).start()
        threading.Thread(target=self._hear, args=(process.stdout,), daemon=True).start()

    def pump(self, wait_s: float) -> None:
        self._pause.wait(wait_s)

    def drained(self) -> str:
        self._is_read.wait(LAST_WAIT_S)
        with self._lock:
            return self._tail.text()

    def close(self) -> None:
        """Each thread closes its own end when nobody else holds the other."""

    def _tell(self, stdin: IO[bytes], told: bytes) -> None:
        with suppress(OSError):
            stdin.write(told)
        with suppress(OSError):
            stdin.close()

    def _hear(self, stdout: IO[bytes]) -> None:
        with suppress(OSError), stdout:
            while chunk := os.read(stdout.fileno(), CHUNK_BYTES):
                with self._lock:
                    self._tail.add(chunk)
        self._is_read.set()


if sys.platform != "win32":

    class PolledPipes:
        def __init__(self, process: Popen[bytes], told: bytes) -> None:
            assert process.stdin is not None
            assert process.stdout is not None
            self._stdin, self._stdout = process.stdin, process.stdout
            self._left = memoryview(told)
            self._tail = Tail()
            self._poll = select.poll()
            for pipe, wanted in ((self._stdout, select.POLLIN), (self._stdin, select.POLLOUT)):
                os.set_blocking(pipe.fileno(), False)
                self._poll.register(pipe, wanted)

        def pump(self, wait_s: float) -> None:
            ready = {fd for fd, _ in self._poll.poll(wait_s * 1000)}
            if not self._stdin.closed and self._stdin.fileno() in ready:
                self._tell()
            if not self._stdout.closed and self._stdout.fileno() in ready:
                self._hear()

        def drained(self) -> str:
            for _ in range(LAST_CHUNKS):
                if self._stdout.closed or not self._hear():
                    break
            return self._tail.text()

        def close(self) -> None:
            for pipe in (self._stdin, self._stdout):
                self._end(pipe)

        def _tell(self) -> None:
            try:
                self._left = self._left[os.write(self._stdin.fileno(), self._left) :]
            except BlockingIOError:
                return
            except OSError:
                # It reads no more, which is its own affair.
                self._left = memoryview(b"")
            if not self._left:
                self._end(self._stdin)

        def _hear(self) -> bool:
            """Whether there was something."""
            try:
                chunk = os.read(self._stdout.fileno(), CHUNK_BYTES)
            except BlockingIOError:
                return False
            self._tail.add(chunk)
            if not chunk:
                self._end(self._stdout)
            return bool(chunk)

        def _end(self, pipe: IO[bytes]) -> None:
            if not pipe.closed:
                self._poll.unregister(pipe)
                pipe.close()


def pipes_of(process: Popen[bytes], told: bytes) -> Pipes:
    if sys.platform != "win32":
        return PolledPipes(process, told)
    return ThreadedPipes(process, told)
