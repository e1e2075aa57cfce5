"""The sink of old history: JSON lines on disk, whole ones only, before anything is deleted."""

import asyncio
import json
import resource
from contextlib import contextmanager

import pytest

from notbefore.core.errors import NotAllowed, SinkUnavailable
from notbefore.core.history import Change, HistoryRecord
from notbefore.core.model import THE_CLOCK
from notbefore.ports import StoredRecord
from notbefore.stores.history_sink import JsonLinesSink, NoSink

NOON_MS = 1_474_286_400_000
DAY_MS = 24 * 3600 * 1000


def stored(revision, at_ms=NOON_MS, why="because"):
    change = Change("started", why, THE_CLOCK)
    return StoredRecord(revision, HistoryRecord("web", at_ms, "a-request", 1, (change,)))


def line_of(one):
    return json.dumps({"revision": one.revision, "why": one.record.changes[0].why})


def sink_in(directory):
    sink = JsonLinesSink(directory, line_of)
    sink.prepare()
    return sink


def revisions_in(file):
    return [json.loads(line)["revision"] for line in file.read_text().splitlines()]


@pytest.fixture
def files_of_at_most():
    """The kernel's own limit on the size of files stands for a disk that is full."""

    @contextmanager
    def limited(size):
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return limited


async def test_records_are_kept_in_a_file_for_the_day_they_are_of(tmp_path):
    """A dated file; the day is the record's own, in UTC."""
    sink = sink_in(tmp_path / "sink")

    await sink.keep([stored(1), stored(2), stored(3, NOON_MS + DAY_MS)])
    await sink.keep([stored(4, NOON_MS + DAY_MS)])

    assert revisions_in(tmp_path / "sink" / "history-2016-09-19.jsonl") == [1, 2]
    assert revisions_in(tmp_path / "sink" / "history-2016-09-20.jsonl") == [3, 4]


async def test_what_is_kept_is_its_owners_alone(tmp_path):
    """0600, in a directory of 0700 when it had to be made."""
    sink = sink_in(tmp_path / "a" / "sink")

    await sink.keep([stored(1)])

    (file,) = (tmp_path / "a" / "sink").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("torn", [b'{"rev', b"x" * 200_000, b"{"])
async def test_a_half_written_line_of_a_crash_is_cut_off_before_more_is_added(tmp_path, torn):
    """Only whole lines; the torn one's record was not deleted yet, and comes again."""
    sink = sink_in(tmp_path)
    await sink.keep([stored(1)])
    (file,) = tmp_path.iterdir()
    with file.open("ab") as out:
        out.write(torn)

    await sink.keep([stored(2)])

    assert revisions_in(file) == [1, 2]


async def test_a_file_that_is_all_one_torn_line_begins_anew(tmp_path):
    """There was nothing whole in it."""
    file = tmp_path / "history-2016-09-19.jsonl"
    file.write_bytes(b"y" * 70_000)

    await sink_in(tmp_path).keep([stored(1)])

    assert revisions_in(file) == [1]


async def test_two_who_keep_at_once_keep_whole_lines(tmp_path):
    """One writer at a time; a record may stand twice, none is torn or lost."""
    sink, other = sink_in(tmp_path), sink_in(tmp_path)
    records = [stored(n, why="y" * 3000) for n in range(50)]

    await asyncio.gather(*(one.keep(records[n : n + 5]) for n in range(0, 50, 5) for one in (sink, other)))

    (file,) = tmp_path.iterdir()
    assert sorted(revisions_in(file)) == sorted([*range(50), *range(50)])


async def test_a_sink_that_cannot_be_written_says_so(tmp_path):
    """Nothing is deleted then."""
    sink = sink_in(tmp_path / "sink")
    (tmp_path / "sink" / "history-2016-09-19.jsonl").mkdir()

    with pytest.raises(SinkUnavailable, match="cannot be kept"):
        await sink.keep([stored(1)])


async def test_a_link_in_the_files_place_is_not_followed(tmp_path):
    """Somebody who may write to the directory cannot have history written elsewhere."""
    sink = sink_in(tmp_path / "sink")
    (tmp_path / "sink" / "history-2016-09-19.jsonl").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(SinkUnavailable):
        await sink.keep([stored(1)])
    assert not (tmp_path / "elsewhere").exists()


async def test_a_full_disk_leaves_no_half_line(tmp_path, files_of_at_most):
    """What could not be written whole is taken back."""
    sink = sink_in(tmp_path)
    await sink.keep([stored(1)])
    (file,) = tmp_path.iterdir()

    with files_of_at_most(4000), pytest.raises(SinkUnavailable, match="cannot be kept"):
        await sink.keep([stored(2, why="y" * 10_000)])

    assert revisions_in(file) == [1]


def test_a_directory_that_cannot_be_made_is_refused_at_start(tmp_path):
    """Before the first record is old."""
    (tmp_path / "file").write_text("")

    with pytest.raises(NotAllowed, match="Cannot keep old history"):
        JsonLinesSink(tmp_path / "file" / "sink", line_of).prepare()


async def test_no_sink_keeps_nothing():
    """`sink = "none"`: asked for explicitly."""
    assert await NoSink().keep([stored(1)]) is None
