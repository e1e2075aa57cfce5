"""`notbefore store check|backup|restore`: a copy that can be trusted, and the way back."""

import os
import random
import shutil
import stat
import threading
from contextlib import suppress

import pytest
from damage import execute, flip_one_byte_of

from notbefore.core.errors import NotAllowed, StoreUnavailable
from notbefore.core.history import HistoryRecord
from notbefore.core.model import Scope
from notbefore.stores.sqlite import SqliteStore, StoreCorrupt
from notbefore.stores.sqlite.backup import check_store, write_backup
from notbefore.stores.sqlite.restore import restore

SCOPES = ("web", "db", "batch")
NOBODY = 65534
DAMAGES = 100


@pytest.fixture
def database(tmp_path):
    return tmp_path / "state" / "notbefore.db"


@pytest.fixture
async def filled(database):
    """A store with three scopes and their history, closed."""
    store = await SqliteStore.open(database, "node-a")
    for name in SCOPES:
        await store.commit(Scope(name), 0, HistoryRecord(name, 1, f"request-{name}", 1, ()))
    await store.close()
    return database


async def scopes_in(path):
    store = await SqliteStore.open(path, "reader")
    try:
        return sorted(stored.scope.name for stored in await store.changes_after(0, 100))
    finally:
        await store.close()


async def test_a_backup_of_a_running_store_holds_what_was_committed_and_verifies(database, tmp_path):
    """SQLite's online backup: one committed state, 0600, one file, while commits go on."""
    store = await SqliteStore.open(database, "node-a")
    committed = 0
    done = threading.Event()
    thread = threading.Thread(target=lambda: (write_backup(database, tmp_path / "b", force=False), done.set()))
    for n in range(300):
        await store.commit(Scope(f"scope-{n}"), 0, None)
        committed = n + 1
        if n == 100:
            thread.start()
    thread.join()
    await store.close()

    found = check_store(tmp_path / "b")

    assert done.is_set()
    assert found.flaws == ()
    assert 101 <= found.aggregates <= committed
    assert stat.S_IMODE((tmp_path / "b").stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b", "state"]


async def test_a_backup_is_not_overwritten_unless_forced_and_never_is_the_store(filled, tmp_path):
    """Yesterday's backup may be the last good one."""
    write_backup(filled, tmp_path / "b", force=False)

    with pytest.raises(NotAllowed, match="there already"):
        write_backup(filled, tmp_path / "b", force=False)
    with pytest.raises(NotAllowed, match="the store itself"):
        write_backup(filled, filled, force=True)

    assert write_backup(filled, tmp_path / "b", force=True).aggregates == 3


async def test_a_damaged_store_gives_no_backup_and_leaves_the_former_one(filled, tmp_path):
    """A file under a backup's name is good."""
    write_backup(filled, tmp_path / "b", force=False)
    before = (tmp_path / "b").read_bytes()
    flip_one_byte_of(filled, "history", "revision", 2)

    with pytest.raises(StoreCorrupt, match="table history, record '2'"):
        write_backup(filled, tmp_path / "b", force=True)

    assert (tmp_path / "b").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b", "state"]


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        ("UPDATE aggregate SET checksum = checksum + 1 WHERE key = 'db'", "table aggregate, record 'db'"),
        ("UPDATE aggregate SET kind = 'rcope' WHERE key = 'db'", "its checksum does not match"),
        ("UPDATE history SET at_ms = 9 WHERE revision = 3", "table history, record '3'"),
        ("UPDATE revision_counter SET revision = 1", "revision_counter: it is behind revision 3"),
        ("DELETE FROM revision_counter", "revision_counter"),
        ("INSERT INTO history_event VALUES ('E', 1, 'Started')", "history_event: it lists 1"),
    ],
)
async def test_check_names_every_kind_of_damage(filled, damage, named):
    """A record, its kind, its index, the counter: what is not as written is found and named."""
    execute(filled, damage)

    (flaw,) = check_store(filled).flaws

    assert named in str(flaw)


async def test_check_goes_on_behind_a_flaw(filled, program):
    """Every damaged record is named, and the exit code is 1."""
    execute(filled, "UPDATE aggregate SET body = x'00' WHERE key <> 'web'", "UPDATE history SET scope = 'x'")

    ran = program("store", "check", "--store", f"sqlite:{filled}")

    assert ran.code == 1
    assert len(ran.out.splitlines()) == 5
    assert "damaged in 5 places" in ran.err
    assert "notbefore store restore" in ran.err


async def test_any_damage_to_the_file_is_told_in_sentences(filled, tmp_path):
    """Whichever bytes are hit, check names flaws or refuses; it never breaks down, and never calls damage whole."""
    content = filled.read_bytes()
    chance = random.Random(2017)
    for n in range(DAMAGES):
        spoiled = bytearray(content)
        at = chance.randrange(len(content) - 64)
        spoiled[at : at + 64] = chance.randbytes(64)
        hit = tmp_path / f"hit-{n}.db"
        hit.write_bytes(spoiled)
        with suppress(StoreUnavailable):
            found = check_store(hit)
            assert found.flaws or (found.aggregates, found.records) == (3, 3)


async def test_check_tells_a_whole_store_from_one_that_is_not_there(filled, program, tmp_path):
    """0 when everything is as written; a wrong path is no empty store."""
    whole = program("store", "check", "--store", f"sqlite:{filled}")
    gone = program("store", "check", "--state", tmp_path / "elsewhere")

    assert (whole.code, whole.out) == (0, f"{filled} is whole: 3 scopes and 3 history records.\n")
    assert gone.code == 1
    assert "There is no store at" in gone.err
    assert not (tmp_path / "elsewhere").exists()


async def test_a_restored_store_is_the_backup_and_the_former_one_is_kept(filled, tmp_path):
    """Also a second time: what was kept once is never overwritten."""
    write_backup(filled, tmp_path / "b", force=False)
    store = await SqliteStore.open(filled, "node-a")
    await store.commit(Scope("later"), 0, None)
    await store.close()

    first = restore(filled, tmp_path / "b")
    second = restore(filled, tmp_path / "b")

    assert await scopes_in(filled) == sorted(SCOPES)
    assert await scopes_in(first.former) == sorted([*SCOPES, "later"])
    assert [first.former.name, second.former.name] == ["notbefore.db.before-restore", "notbefore.db.before-restore-2"]
    assert stat.S_IMODE(filled.stat().st_mode) == 0o600


async def test_documents_are_checked_backed_up_and_restored_like_scopes(filled, program, tmp_path):
    """A token that is in the store is in its backup; one that was removed since is back."""
    store = await SqliteStore.open(filled, "node-a")
    made = await store.put_document("token", "ann", b'{"name":"ann"}', 0, None)
    write_backup(filled, tmp_path / "b", force=False)
    await store.put_document("token", "ann", None, made.version, None)
    await store.close()

    restored = restore(filled, tmp_path / "b")
    checked = program("store", "check", "--store", f"sqlite:{filled}")

    assert (restored.verified.aggregates, restored.verified.documents) == (4, 1)
    assert checked.out == f"{filled} is whole: 3 scopes, 1 document and 3 history records.\n"
    store = await SqliteStore.open(filled, "node-a")
    assert list(await store.documents("token")) == [made]
    await store.close()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE aggregate SET kind = 'tokem' WHERE key = 'ann'",
        "UPDATE aggregate SET kind = 'scope' WHERE key = 'ann'",
        "UPDATE aggregate SET key = 'bob' WHERE key = 'ann'",
        "UPDATE aggregate SET body = x'7b7d' WHERE key = 'ann'",
    ],
)
async def test_a_damaged_document_is_named_and_no_server_starts_on_it(filled, damage):
    """Its kind, its key and its body are under one checksum: who may do what rests on it."""
    store = await SqliteStore.open(filled, "node-a")
    await store.put_document("token", "ann", b'{"name":"ann"}', 0, None)
    await store.close()
    execute(filled, damage)

    (flaw,) = check_store(filled).flaws

    assert "its checksum does not match" in str(flaw)
    with pytest.raises(StoreCorrupt, match=r"table aggregate, record '(ann|bob)'"):
        await SqliteStore.open(filled, "node-a")


async def test_nothing_is_restored_while_a_node_lives_on_the_store(filled, tmp_path):
    """It would change promises behind a server's back."""
    write_backup(filled, tmp_path / "b", force=False)
    store = await SqliteStore.open(filled, "node-a")
    before = filled.read_bytes()

    with pytest.raises(NotAllowed, match="server is running"):
        restore(filled, tmp_path / "b")

    assert filled.read_bytes() == before
    await store.close()
    assert restore(filled, tmp_path / "b").verified.aggregates == 3


async def test_nothing_is_restored_while_any_program_has_the_store_open(filled, tmp_path):
    """A connection without a node counts too: it would go on in the former file."""
    write_backup(filled, tmp_path / "b", force=False)
    store = await SqliteStore.open(filled, "node-a")
    await store._writer.run(lambda _: store._nodes.leave())

    with pytest.raises(StoreUnavailable, match="Another program has the store"):
        restore(filled, tmp_path / "b")

    await store.close()
    assert sorted(path.name for path in filled.parent.iterdir()) == ["notbefore.db", "notbefore.db-nodes"]


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda path: flip_one_byte_of(path, "aggregate", "key", "db"), "The backup .* record 'db'"),
        (lambda path: os.truncate(path, path.stat().st_size // 2), "damaged"),
        (lambda path: path.write_text("no backup, but a letter to somebody"), "not a database"),
        (lambda path: execute(path, "PRAGMA application_id = 7"), "another program"),
        (lambda path: execute(path, "PRAGMA user_version = 9999"), "newer notbefore"),
        (lambda path: path.unlink(), "There is no store at"),
        (lambda path: path.write_bytes(b""), "empty"),
    ],
)
async def test_a_bad_backup_is_refused_and_the_store_left_as_it_is(filled, tmp_path, spoil, says):
    """Verified first: pages, program, form, and every record's checksum."""
    write_backup(filled, tmp_path / "b", force=False)
    spoil(tmp_path / "b")
    before = filled.read_bytes()

    with pytest.raises(StoreUnavailable, match=says):
        restore(filled, tmp_path / "b")

    assert filled.read_bytes() == before
    assert sorted(path.name for path in filled.parent.iterdir()) == ["notbefore.db", "notbefore.db-nodes"]


async def test_a_backup_is_restored_where_no_store_was(filled, tmp_path):
    """On another machine, after the first one is gone."""
    write_backup(filled, tmp_path / "b", force=False)
    fresh = tmp_path / "new" / "notbefore.db"

    assert restore(fresh, tmp_path / "b").former is None
    assert await scopes_in(fresh) == sorted(SCOPES)


async def test_the_log_of_a_damaged_store_stays_with_it(filled, tmp_path):
    """Never the log of one database beside another: SQLite would mix them."""
    write_backup(filled, tmp_path / "b", force=False)
    filled.write_bytes(b"rubbish" * 1000)
    log = filled.with_name("notbefore.db-wal")
    log.write_bytes(b"frames of the former database")

    former = restore(filled, tmp_path / "b").former

    assert former.read_bytes().startswith(b"rubbish")
    assert former.with_name(f"{former.name}-wal").read_bytes() == b"frames of the former database"
    assert await scopes_in(filled) == sorted(SCOPES)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
async def test_root_restores_for_the_user_that_runs_the_server(filled, tmp_path):
    """The restored file belongs to whom the former one belonged to."""
    write_backup(filled, tmp_path / "b", force=False)
    shutil.chown(filled, NOBODY, NOBODY)

    restore(filled, tmp_path / "b")

    assert (filled.stat().st_uid, filled.stat().st_gid) == (NOBODY, NOBODY)
