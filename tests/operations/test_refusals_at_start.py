"""A store that cannot be trusted: `serve` does not start, says which record and what to do, and the way back works."""

import json
import os
import shutil
import sqlite3
from contextlib import closing

import pytest
from damage import execute, flip_one_byte_of
from served import ServerProcess

WORDS = ("--metadata", "127.0.0.1:0", "--control", "127.0.0.1:0")


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """The state of a server that ran and stopped, with an approved event in it."""
    with ServerProcess(tmp_path_factory.mktemp("stopped") / "state", "--demo", "--clock", "manual") as server:
        made = server.control("POST", "/v1/scopes/demo/vms/FrontEnd_IN_0/restart", {})[1]
        assert server.ask("POST", json.dumps({"StartRequests": [{"EventId": made["id"]}]}))[0] == 200
    return server.state


@pytest.fixture
def state(stopped, tmp_path):
    """A copy of it, to be spoiled."""
    return shutil.copytree(stopped, tmp_path / "state")


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda db: flip_one_byte_of(db, "aggregate", "key", "demo"), "table aggregate, record 'demo': its checksum"),
        (lambda db: os.truncate(db, db.stat().st_size - 4096), "damaged"),
        (lambda db: db.write_bytes(b"\0" * 9000), "not a database"),
        (lambda db: execute(db, "PRAGMA user_version = 9999"), "written by a newer notbefore"),
        (
            lambda db: execute(db, "UPDATE aggregate SET kind = 'x'"),
            "table aggregate, record 'demo': its checksum does not match",
        ),
        (lambda db: execute(db, "UPDATE aggregate SET body = x'7b7d'"), "table aggregate, record 'demo'"),
    ],
)
def test_a_store_that_cannot_be_trusted_is_refused_by_name(state, program, spoil, says):
    """Exit code 1, the record by table and key, what to do next, no traceback."""
    spoil(state / "notbefore.db")

    ran = program("serve", "--state", state, *WORDS)

    sentence, hint = ran.err.splitlines()
    assert (ran.code, ran.out) == (1, "")
    assert says in sentence
    assert str(state / "notbefore.db") in sentence
    assert "notbefore store restore FILE" in hint or "Upgrade notbefore" in hint


def test_a_store_that_another_program_holds_is_refused(state, program):
    """A bounded wait, then a sentence that says how to find it."""
    with closing(sqlite3.connect(state / "notbefore.db", isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN IMMEDIATE")
        ran = program("serve", "--state", state, *WORDS)

    assert ran.code == 1
    assert "Another process holds the store" in ran.err
    assert "fuser" in ran.err


@pytest.mark.part("root-mount")
def test_a_store_on_a_read_only_file_system_is_refused(disk, served, program):
    """A store that cannot be written keeps no promise; the sentence says that it is the file system."""
    served("--demo", state=disk.where).stop()
    disk.make_read_only()

    ran = program("serve", "--state", disk.where, *WORDS)

    assert ran.code == 1
    assert "mounted read-only" in ran.err


def test_the_documented_recovery_brings_the_server_back(served, program, tmp_path):
    """docs/how-to/back-up-and-restore.md: a backup of the running server, one flipped byte, check, restore, serve."""
    server = served("--demo", "--clock", "manual")
    made = server.control("POST", "/v1/scopes/demo/vms/FrontEnd_IN_0/restart", {})[1]
    assert server.ask("POST", json.dumps({"StartRequests": [{"EventId": made["id"]}]}))[0] == 200
    saved = program("store", "backup", tmp_path / "notbefore.backup", "--state", server.state)
    refused = program("store", "restore", tmp_path / "notbefore.backup", "--state", server.state)
    server.kill()
    flip_one_byte_of(server.state / "notbefore.db", "aggregate", "key", "demo")
    checked = program("store", "check", "--state", server.state)
    restored = program("store", "restore", tmp_path / "notbefore.backup", "--state", server.state)
    server.start()

    assert (saved.code, refused.code, checked.code, restored.code) == (0, 1, 1, 0)
    assert "A server is running on the store" in refused.err
    assert checked.out == "damaged: table aggregate, record 'demo': its checksum does not match\n"
    assert "notbefore.db.before-restore" in restored.out
    assert server.control("GET", f"/v1/events/{made['id']}")[1]["approvals"][0]["vm"] == "FrontEnd_IN_0"
