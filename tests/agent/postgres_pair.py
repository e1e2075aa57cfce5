"""A real PostgreSQL primary and its standby, and somebody who never stops writing.

Rule 1: everything is in one folder that the user postgres may enter; sockets only, no port of the machine.
Rule 2: processes end here, never the machine: what PostgreSQL has given to the kernel counts as kept (`fsync = off`).
Rule 3: as root the servers run as postgres, as they insist; else as whoever runs the tests.
"""

import os
import shutil
import subprocess
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

from step_runs import WAIT_MAX_S, until

from parts import postgresql_programs

# Some hundred rows a second: all the time, and the machine is left to the servers.
PACE_S = 0.002
CONF = """
listen_addresses = ''
unix_socket_directories = '{folder}'
wal_log_hints = on
wal_keep_size = '64MB'
shared_buffers = '8MB'
max_connections = 20
fsync = off
"""


def as_postgres(*words, check=True):
    prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    ran = subprocess.run([*prefix, *map(str, words)], capture_output=True, text=True, check=False, cwd="/")
    assert not check or ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout.strip()


class Server:
    """`folder` holds its socket and its data."""

    def __init__(self, folder):
        self.folder = folder
        self.data = folder / "data"
        self.conninfo = f"host={folder} port=5432 user=postgres dbname=postgres connect_timeout=5"

    @property
    def program_folder(self):
        return postgresql_programs()

    def program(self, name, *words, **named):
        return as_postgres(postgresql_programs() / name, *words, **named)

    def ctl(self, *words, **named):
        return self.program("pg_ctl", "-D", self.data, "-w", "-t", "60", *words, **named)

    def start(self):
        self.ctl("-l", self.folder / "log", "start")

    def stop(self):
        self.ctl("-m", "immediate", "stop", check=False)

    def says(self, sql):
        return as_postgres("psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", self.conninfo, "-c", sql)

    @property
    def role(self):
        return {"t": "standby", "f": "primary"}[self.says("SELECT pg_is_in_recovery()")]

    @property
    def runs(self):
        return bool(as_postgres("psql", "-XAtq", "-d", self.conninfo, "-c", "SELECT 1", check=False))

    @property
    def rows(self):
        return {int(line) for line in self.says("SELECT n FROM written").split()}

    @property
    def names(self):
        """What the page's settings say of it."""
        return {
            '"/usr/lib/postgresql/15/bin"': f'"{postgresql_programs()}"',
            '"/var/lib/postgresql/15/main"': f'"{self.data}"',
            '"/var/run/postgresql"': f'"{self.folder}"',
        }

    def _start_as_itself(self):
        """With settings outside its data, as the page advises: pg_rewind copies what is inside from the other server."""
        (self.folder / "own.conf").write_text(CONF.format(folder=self.folder))
        self.start()

    def made(self):
        self.program("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-N")
        with (self.data / "postgresql.conf").open("a") as conf:
            conf.write("include_if_exists = '../own.conf'\n")
        self._start_as_itself()
        self.says("CREATE TABLE written (n bigint PRIMARY KEY)")
        return self

    def copied_from(self, other):
        self.program("pg_basebackup", "-d", other.conninfo, "-D", self.data, "-R", "-c", "fast", "-N")
        self._start_as_itself()
        until(lambda: other.says("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'") == "1")
        return self


class Writer:
    """Commits one row after the other at whichever server takes writes; connects anew when that one is gone."""

    def __init__(self, *servers):
        folders = ",".join(str(server.folder) for server in servers)
        self._env = {**os.environ, "PGHOST": folders, "PGPORT": "5432", "PGUSER": "postgres", "PGDATABASE": "postgres"}
        self._env |= {"PGTARGETSESSIONATTRS": "read-write", "PGCONNECT_TIMEOUT": "5"}
        self.committed = []
        self._next = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def _write(self):
        while not self._is_over.is_set():
            self._one_connection()
            self._is_over.wait(0.05)

    def _one_connection(self):
        with subprocess.Popen(
            ["psql", "-XAtq", "-v", "ON_ERROR_STOP=1"],
            env=self._env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        ) as line:  # fmt: skip
            try:
                while not self._is_over.is_set() and self._is_committed(line):
                    self.committed.append(self._next)
                    self._is_over.wait(PACE_S)
            except OSError:
                line.stdin = None  # nobody reads it any more, so there is nothing to flush
            line.kill()

    def _is_committed(self, line):
        """What psql has printed was committed; what it has not may be or not."""
        self._next += 1
        line.stdin.write(f"INSERT INTO written VALUES ({self._next}) RETURNING n;\n")
        line.stdin.flush()
        return line.stdout.readline() == f"{self._next}\n"

    def until_more(self, count=50):
        seen = len(self.committed)
        until(lambda: len(self.committed) >= seen + count)

    def over(self):
        self._is_over.set()
        self._thread.join(WAIT_MAX_S)
        return set(self.committed)


@contextmanager
def postgres_pair():
    place = Path(tempfile.mkdtemp(prefix="notbefore-pg-"))
    place.chmod(0o755)
    servers = [Server(place / name) for name in ("db-1", "db-2")]
    for server in servers:
        server.folder.mkdir()
        if os.geteuid() == 0:
            shutil.chown(server.folder, "postgres")
    try:
        yield servers[0].made(), servers[1].copied_from(servers[0])
    finally:
        for server in servers:
            server.stop()
        shutil.rmtree(place)
