"""The journal on disk: torn, corrupt, full, compacted; and the lock (issue 9)."""

import errno
import os
import subprocess
import sys

import pytest
from agent_story import ID, OTHER, Story, TurnedClock, a_rule, event_of, replace, shown

from notbefore.agent.book import COMPACT_BYTES, Book
from notbefore.agent.facts import Appeared, Ended, Opened, Over, StepBegan, read, written
from notbefore.agent.journal import Journal
from notbefore.agent.life import Stage
from notbefore.agent.lock import Lock
from notbefore.agent.steps.step import Phase
from notbefore.core.errors import NotAllowed

LINE = {"what": "Opened", "boot": "b", "pid": 1, "version": "x"}


def a_journal(directory, count=3):
    journal = Journal(directory)
    journal.open()
    for n in range(count):
        journal.append({**LINE, "pid": n})
    journal.close()
    return Journal(directory)


def pids(replay):
    return [line["pid"] for line in replay.lines]


def test_what_was_written_is_read_again(tmp_path):
    replay = a_journal(tmp_path).open()

    assert (pids(replay), replay.holes, replay.torn) == ([0, 1, 2], [], False)


def test_nobody_but_its_owner_may_read_it(tmp_path):
    """Rules may hold secrets: 0600 on disk, also when it was there with wider rights."""
    journal = a_journal(tmp_path)
    journal.path.chmod(0o644)

    journal.open()

    assert journal.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_torn_last_line_is_dropped_and_the_next_is_written_in_its_place(tmp_path, cut):
    """A crash in the middle of a write: nothing had followed from it."""
    journal = a_journal(tmp_path)
    journal.path.write_bytes(journal.path.read_bytes()[:-cut])

    replay = journal.open()
    journal.append({**LINE, "pid": 9})

    assert (pids(replay), replay.holes, replay.torn) == ([0, 1], [], True)
    assert (pids(again := Journal(tmp_path).open()), again.holes, again.torn) == ([0, 1, 9], [], False)


def test_a_corrupt_line_is_a_hole_and_the_others_are_read(tmp_path):
    journal = a_journal(tmp_path)
    journal.path.write_bytes(journal.path.read_bytes().replace(b'"pid":1', b'"pid":7'))

    replay = journal.open()
    journal.append({**LINE, "pid": 9})

    assert (pids(replay), replay.holes) == ([0, 2], [2])
    assert Journal(tmp_path).open().holes == [2]


def test_a_missing_line_is_a_hole(tmp_path):
    """Lines are numbered, so that one that was taken out is missed."""
    journal = a_journal(tmp_path)
    lines = journal.path.read_bytes().splitlines(keepends=True)
    journal.path.write_bytes(lines[0] + lines[2])

    replay = journal.open()
    journal.append({**LINE, "pid": 9})

    assert (pids(replay), replay.holes) == ([0, 2], [2])
    assert Journal(tmp_path).open().holes == [2]


@pytest.mark.parametrize("junk", [b"\0" * 64, b"{}\n", b"\xff\xfe\n\n", b'{"n":[],"sum":"00000000"}\n'])
def test_junk_is_never_an_exception(tmp_path, junk):
    (tmp_path / "journal.jsonl").write_bytes(junk)

    replay = Journal(tmp_path).open()

    assert replay.lines == []
    assert replay.holes or replay.torn


FILL = """
import resource, signal, sys
from pathlib import Path
from notbefore.agent.journal import Journal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
journal = Journal(Path(sys.argv[1]))
journal.open()
journal.append({"what": "first"})
resource.setrlimit(resource.RLIMIT_FSIZE, (journal.size + 150, resource.RLIM_INFINITY))
try:
    journal.append({"what": "x" * 200})
except OSError as error:
    print(error.errno)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
journal.append({"what": "last"})
"""


def test_a_line_that_could_not_be_written_whole_is_not_there(tmp_path):
    """Disk full in the middle of a line: cut away before the next is written. A real limit on a real file."""
    ran = subprocess.run([sys.executable, "-c", FILL, str(tmp_path)], capture_output=True, text=True, check=True)

    replay = Journal(tmp_path).open()
    assert int(ran.stdout) == errno.EFBIG
    assert ([line["what"] for line in replay.lines], replay.holes, replay.torn) == (["first", "last"], [], False)


def test_a_directory_that_cannot_be_synced_after_a_rewrite_leaves_no_hole(tmp_path):
    """The new file is there by then: what is written next stands behind it, not where the old one ended."""
    a_journal(tmp_path)

    def fails(_):
        raise OSError(errno.EIO, "Input/output error")

    journal = Journal(tmp_path, sync=fails)
    journal.open()
    with pytest.raises(OSError, match="Input/output"):
        journal.rewrite(lambda lines: lines[:1])
    journal.append({**LINE, "pid": 9})

    assert (pids(replay := Journal(tmp_path).open()), replay.holes) == ([0, 9], [])


# -- the book


def a_book(tmp_path, told=None):
    return Book(Journal(tmp_path), TurnedClock(), told or (lambda *_: None))


RULES = {"all": a_rule()}


def opened(book, boot="b"):
    book.open(Opened(boot, 1, "x"), lambda table: RULES[table["name"]])
    return book


def appeared(event_id=ID):
    return Appeared(event_id.lower(), "web-1", event_of(event_id=event_id), RULES["all"], True, 900.0)


def test_every_fact_survives_being_written(tmp_path):
    fact = appeared()

    again = read(written(fact), lambda table: RULES[table["name"]])

    assert again == fact
    assert again.event.raw == shown()


@pytest.mark.parametrize(
    "plain", [{}, {"what": "Nonsense"}, {"what": "Ended"}, {"what": "Ended", "life": "x", "more": 1}]
)
def test_what_this_version_does_not_know_is_no_fact(plain):
    with pytest.raises(ValueError, match="no fact"):
        read(plain, lambda _: RULES["all"])


def test_what_is_over_is_forgotten_when_there_is_enough_of_it(tmp_path):
    """Compaction by an atomic new file; what lives, its boot, and what may come again is kept."""
    book = opened(a_book(tmp_path))
    enough = event_of(Description="x" * COMPACT_BYTES)
    book.note(replace(appeared(), event=enough), Ended(ID.lower(), False), Over(ID.lower(), "then"))
    book.note(appeared(OTHER), StepBegan(OTHER.lower(), 0, Phase.DO))
    before = book.lives

    book.compact()
    book.note(Ended(OTHER.lower(), False))

    assert (tmp_path / "journal.jsonl").stat().st_size < COMPACT_BYTES
    again = opened(a_book(tmp_path))
    assert again.holes == []
    assert set(again.lives.living) == set(before.living) == {OTHER.lower()}
    assert again.lives.memories[ID.lower()].not_before == "then"
    assert again.lives.boot == "b"


def test_lives_older_than_a_hole_are_in_doubt_and_younger_ones_are_not(tmp_path):
    book = opened(a_book(tmp_path))
    book.note(appeared(), StepBegan(ID.lower(), 0, Phase.DO))
    path = tmp_path / "journal.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"what":"StepBegan"', b'"what":"StepBogus"'))
    opened(a_book(tmp_path)).note(appeared(OTHER))

    lives = opened(a_book(tmp_path)).lives.living

    assert {name: life.in_doubt for name, life in lives.items()} == {ID.lower(): True, OTHER.lower(): False}


def with_a_hole():
    """An agent that comes back in the middle of an event and cannot read that it had appeared; and what it did before."""
    story = Story()
    story.shows(shown())
    story.ends()
    story.kept.lines[1] = story.kept.lines[1].replace('"life"', '"lief"')
    before = list(story.did)
    story.crash()
    story.looks_again()
    return story, before


def test_with_a_hole_nothing_is_approved_and_what_is_old_is_not_touched():
    """Corrupt: says so, does not approve anything, keeps watching. New events are prepared for, and undone."""
    story, before = with_a_hole()
    story.shows(*story.document, shown(OTHER))
    story.all_end()
    assert story.life(ID) is None
    assert story.did == [*before, "do drain", "do stop"]
    assert "is damaged at line 2" in story.told[0]
    story.shows()
    story.all_end()

    assert story.did == [*before, "do drain", "do stop", "undo stop", "undo drain"]


def test_what_a_hole_may_hide_is_left_alone_also_when_it_starts(caplog):
    """Its steps may have been done: never twice for one event, whatever becomes of it."""
    caplog.set_level("INFO")
    story, before = with_a_hole()
    story.shows(shown(status="Started"))
    story.shows()
    story.shows(shown(notice_s=5000))
    story.all_end()

    assert story.life() is None
    assert story.did == before
    assert "no rule matches" not in caplog.text


def test_a_rule_of_a_life_that_is_over_need_not_be_taken_any_more(tmp_path):
    """The file with its secret may be gone by now; of a life that goes on it is a hole, with the reason."""
    opened(a_book(tmp_path)).note(appeared(), Ended(ID.lower(), False), Over(ID.lower(), ""))

    def gone(_):
        raise ValueError("secret_file: there is no such file")

    again = a_book(tmp_path)
    again.open(Opened("b", 1, "x"), gone)
    assert again.holes == []
    again.note(appeared(OTHER))
    third = a_book(tmp_path)
    third.open(Opened("b", 1, "x"), gone)

    assert third.holes
    assert third.reason == "secret_file: there is no such file"


def test_an_event_that_was_forgotten_and_came_again_under_its_old_name_is_not_over(tmp_path):
    """The end of its first life is still in the journal; what stands behind it is the second, and is to be undone."""
    book = opened(a_book(tmp_path))
    book.note(appeared(), Ended(ID.lower(), False), Over(ID.lower(), "then"))
    book.lives = replace(book.lives, memories={})
    book.note(appeared(), StepBegan(ID.lower(), 0, Phase.DO))

    again = opened(a_book(tmp_path))

    assert again.holes == []
    assert again.lives.living[ID.lower()].stages[0] is Stage.INTERRUPTED


# -- the lock


def test_a_second_agent_is_refused_and_told_who_has_it(tmp_path):
    first, second = Lock(tmp_path), Lock(tmp_path)
    first.take()

    with pytest.raises(NotAllowed, match=f"process {os.getpid()}"):
        second.take()
    first.release()

    second.take()
    second.release()
