"""The emulator's clock by itself: both hands, what is kept of it, and that it stands while anything is done."""

import asyncio

import pytest

from notbefore.clock import ManualClock, Pace, pace_of
from notbefore.core.errors import Invalid, NotAllowed
from notbefore.tasks import AsyncioTasks

RUNNING = Pace(rate=86_400.0, paused=False)


@pytest.fixture
async def tasks():
    tree = AsyncioTasks()
    yield tree
    await tree.cancel_all()


def clock_at(tasks, tmp_path, kind="manual"):
    clock = ManualClock(tasks, tmp_path / "manual.clock", kind)
    tasks.spawn_aside("clock", clock.run())
    return clock


async def until_moved(clock):
    before = clock.now().wall_ms
    while clock.now().wall_ms == before:
        await asyncio.sleep(0)


async def test_both_hands_move_together(tasks, tmp_path):
    """SPEC §4: notice is counted on the boot hand as well, so a clock that runs must move both."""
    clock = clock_at(tasks, tmp_path)
    first = clock.now()
    clock.set_pace(RUNNING)
    await until_moved(clock)
    second = clock.now()

    assert second.boot_id == first.boot_id
    assert second.wall_ms - first.wall_ms == second.boot_ms - first.boot_ms > 0


async def test_waiters_are_rung_in_due_order_each_at_its_own_time(tasks, tmp_path):
    """Nothing is skipped past, however fast it runs."""
    clock = clock_at(tasks, tmp_path)
    start_ms, rung = clock.now().wall_ms, []

    async def wait(after_ms):
        bell = tasks.signal()
        while clock.now().wall_ms < start_ms + after_ms:
            await clock.wait(start_ms + after_ms, bell)
        rung.append((after_ms, clock.now().wall_ms - start_ms))

    for after_ms in (7_200_000, 1, 3_600_000, 3_600_001, 2):
        tasks.spawn("waiter", wait(after_ms))
    clock.set_pace(RUNNING)
    while len(rung) < 5:
        await asyncio.sleep(0)

    assert rung == [(after, after) for after in (1, 2, 3_600_000, 3_600_001, 7_200_000)]


async def test_it_stands_while_anything_is_being_done(tasks, tmp_path):
    """A turn sees one time from its beginning to its end, whoever takes it."""
    clock = clock_at(tasks, tmp_path)
    clock.set_pace(RUNNING)
    await until_moved(clock)
    async with tasks.lock():
        seen = clock.now()
        for _ in range(1000):
            await asyncio.sleep(0)
        assert clock.now() == seen
    await until_moved(clock)


async def test_no_time_is_shown_that_is_not_kept(tasks, tmp_path):
    """A crash does not turn it back: what is kept is never behind what was shown."""
    clock = clock_at(tasks, tmp_path)
    clock.set_pace(RUNNING)
    for _ in range(5):
        await until_moved(clock)
        shown_ms = clock.now().wall_ms
        assert int((tmp_path / "manual.clock").read_text()) >= shown_ms


async def test_what_is_kept_ahead_passes_nothing_that_is_due(tasks, tmp_path):
    """After a crash it goes on a little later, and everything that was due is still to come."""
    clock = clock_at(tasks, tmp_path, "rate:86400")
    due_ms = clock.now().wall_ms + 90_000
    bell = tasks.signal()
    clock.set_pace(Pace(rate=0.001, paused=False))
    tasks.spawn("waiter", clock.wait(due_ms, bell))
    await tasks.settled()
    clock.set_pace(RUNNING)

    assert int((tmp_path / "manual.clock").read_text()) <= due_ms


async def test_a_stopped_clock_keeps_the_time_it_shows(tasks, tmp_path):
    """A restart in order costs nothing, but for rounding up to the second."""
    clock = clock_at(tasks, tmp_path)
    clock.set_pace(RUNNING)
    await until_moved(clock)
    clock.stop()
    shown_ms = clock.now().wall_ms

    again = ManualClock(tasks, tmp_path / "manual.clock")
    assert 0 <= again.now().wall_ms - shown_ms < 1000
    assert again.pace == RUNNING


@pytest.mark.parametrize(
    "text", [b"", b"x", b"manual 60", b"manual 0 paused", b"manual nan running", b"manual 1 asleep", b"\xff\x00"]
)
async def test_a_pace_that_cannot_be_read_is_the_one_that_serve_says(tasks, tmp_path, text):
    (tmp_path / "manual.pace").write_bytes(text)

    assert ManualClock(tasks, tmp_path / "manual.clock").pace == Pace(1.0, paused=True)


@pytest.mark.parametrize("kept", [b"x", b"\xff\xfe", b"\x00" * 16, b"-5", b"9" * 15, b"9" * 5000, "٣".encode()])
async def test_a_time_that_cannot_be_read_is_refused_instead_of_begun_anew(tasks, tmp_path, kept):
    """It never goes back, also not to the real time because its file was spoilt; a sentence says what to do."""
    (tmp_path / "manual.clock").write_bytes(kept)

    with pytest.raises(NotAllowed, match=r"manual\.clock") as refused:
        ManualClock(tasks, tmp_path / "manual.clock")
    assert "Remove the file" in refused.value.hint


async def test_a_time_that_was_not_yet_written_is_the_real_one(tasks, tmp_path):
    """A server that was killed as it made the file has shown nobody a time."""
    (tmp_path / "manual.clock").touch()

    assert ManualClock(tasks, tmp_path / "manual.clock").now().wall_ms > 0


async def test_a_place_that_cannot_be_read_is_said(tasks, tmp_path):
    (tmp_path / "manual.clock").mkdir()

    with pytest.raises(NotAllowed, match="Cannot read"):
        ManualClock(tasks, tmp_path / "manual.clock")


@pytest.mark.parametrize(
    ("kind", "pace"),
    [
        ("real", None),
        ("manual", Pace(1, paused=True)),
        ("rate:60", Pace(60, paused=False)),
        ("rate:0.5", Pace(0.5, paused=False)),
    ],
)
def test_the_clocks_there_are(kind, pace):
    """DESIGN §4: `--clock real|manual|rate:N`."""
    assert pace_of(kind) == pace


@pytest.mark.parametrize(
    "kind", ["", "Manual", "rate", "rate:", "rate:0", "rate:-1", "rate:nan", "rate:inf", "rate:86401", "60"]
)
def test_what_is_no_clock_is_refused_with_those_there_are(kind):
    with pytest.raises(Invalid, match="real, manual or rate:N"):
        pace_of(kind)
