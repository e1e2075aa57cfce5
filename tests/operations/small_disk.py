"""A real file system of two MiB, mounted for one test, that can be filled up and made read-only."""

import subprocess
from contextlib import contextmanager, suppress

BALLAST_STEP = 64 * 1024


class SmallDisk:
    def __init__(self, where):
        self.where = where
        self._ballast = where / "ballast"

    def fill(self):
        """To the last byte."""
        step = BALLAST_STEP
        with self._ballast.open("ab", buffering=0) as ballast:
            while step:
                try:
                    ballast.write(b"x" * step)
                except OSError:
                    step //= 2

    def empty(self):
        self._ballast.unlink()

    def make_read_only(self):
        subprocess.run(["mount", "-o", "remount,ro", str(self.where)], check=True)


@contextmanager
def small_disk(where):
    where.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m,mode=0700", "tmpfs", str(where)], check=True)
    try:
        yield SmallDisk(where)
    finally:
        with suppress(FileNotFoundError):
            subprocess.run(["umount", "--lazy", str(where)], check=True)
