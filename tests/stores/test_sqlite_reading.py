"""How the embedded store reads: within a limit, and by its indexes."""

import pytest

from notbefore.core.history import HistoryRecord
from notbefore.core.kinds import ENDED
from notbefore.core.model import Scope
from notbefore.ports import HistoryQuery
from notbefore.stores.sqlite.connection import transaction
from notbefore.stores.sqlite.named_sql import QUERIES
from notbefore.stores.sqlite.reading import HISTORY_LIMIT_MAX, history_sql
from notbefore.stores.sqlite.writing import commit_of, write_commits


def write_records(connection, number):
    """So many commits in one transaction, as a group commit would."""
    with transaction(connection):
        records = [HistoryRecord("web", version, "", 1, ()) for version in range(number)]
        write_commits(connection, [commit_of(Scope("web"), place, record) for place, record in enumerate(records)])


async def test_one_query_brings_at_most_a_thousand_records(open_sqlite):
    """Whatever it asks for: memory has a limit, and `after` gets the rest."""
    store = await open_sqlite()
    await store._writer.run(lambda connection: write_records(connection, HISTORY_LIMIT_MAX + 1))

    first = await store.history(HistoryQuery(limit=10 * HISTORY_LIMIT_MAX))
    rest = await store.history(HistoryQuery(limit=10 * HISTORY_LIMIT_MAX, after=first[-1].revision))

    assert (len(first), len(rest)) == (HISTORY_LIMIT_MAX, 1)


@pytest.mark.parametrize("newest", [False, True])
@pytest.mark.parametrize(
    "query",
    [
        {},
        {"scope": "web"},
        {"event_id": "A"},
        {"statuses": ENDED},
        {"scope": "web", "statuses": ENDED},
        {"event_id": "A", "statuses": ENDED},
    ],
)
async def test_no_look_into_history_reads_all_of_it(open_sqlite, query, newest):
    """History only grows; each filter has its index, and the order needs no sorting."""
    store = await open_sqlite()
    sql = f"EXPLAIN QUERY PLAN {history_sql(HistoryQuery(**query, newest=newest))}"
    facts = {"after": 0, "limit": 1, "scope": "web", "event_id": "A", "statuses": "[]"}

    plan = await store._reader.run(lambda connection: [row[3] for row in connection.execute(sql, facts)])

    assert not [step for step in plan if step.startswith(("SCAN history", "USE TEMP B-TREE"))]


async def test_the_feed_walks_the_index_of_revisions(open_sqlite):
    """A start reads every scope in portions; sorting all of them for each portion would take minutes at 100,000."""
    store = await open_sqlite()
    sql = f"EXPLAIN QUERY PLAN {QUERIES['scopes_after']}"

    plan = await store._reader.run(
        lambda connection: [row[3] for row in connection.execute(sql, {"after": 0, "limit": 1})]
    )

    assert not [step for step in plan if step.startswith("USE TEMP B-TREE")]


async def test_what_a_process_committed_itself_it_does_not_decode_again(open_sqlite):
    """A follower sees its own commits too; what it holds already is told as it is, what others wrote is read."""
    store, other = await open_sqlite(), await open_sqlite(node="other")
    own = [await store.commit(Scope(name), 0, None) for name in ("a", "b", "c")]
    theirs = await other.commit(Scope("d"), 0, None)
    newer = await store.commit(Scope("b", incarnation=2), 1, None)

    first = await store.changes_after(0, 2)
    rest = await store.changes_after(first[-1].revision, 10)

    assert [*first, *rest] == [own[0], own[2], theirs, newer]
    assert [one is known for one, known in zip([*first, *rest], [own[0], own[2], theirs, newer], strict=True)] == [
        True,
        True,
        False,
        True,
    ]
    assert [one is known for one, known in zip(await store.changes_after(0, 2), own, strict=False)] == [False, False]
