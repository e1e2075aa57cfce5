"""The collector of cyclic garbage and what stays: nothing is lost, and nobody waits for long passes again."""

import gc
import weakref

import pytest

from notbefore import garbage


@pytest.fixture(autouse=True)
def as_it_was():
    yield
    gc.unfreeze()
    assert gc.isenabled()


class Knot:
    """Garbage that only a pass can find."""

    def __init__(self):
        self.itself = self


class Stopwatch:
    """Each look at it is so much later than the one before."""

    def __init__(self, step_s):
        self.step_s = step_s
        self.now_s = 0.0

    def __call__(self):
        self.now_s += self.step_s
        return self.now_s


def test_nothing_is_looked_for_while_loading_and_what_was_loaded_is_frozen():
    """A pass over a fleet that is being loaded finds nothing, and takes as long as the loading."""
    with garbage.none_while_loading():
        assert not gc.isenabled()
        loaded = [Knot() for _ in range(10)]

    assert gc.isenabled()
    assert gc.get_freeze_count() > len(loaded)


def test_a_load_that_fails_leaves_the_collector_as_it_was():
    """Nothing is frozen that nobody will use."""
    with pytest.raises(OSError, match="away"), garbage.none_while_loading():
        raise OSError("away")

    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_what_a_long_pass_found_staying_is_frozen():
    """The next whole pass does not stop the program for it again."""
    freezer = garbage.Freezer(Stopwatch(1.0))
    with freezer.watching():
        gc.collect()

    assert freezer.freezes == 1
    assert gc.get_freeze_count() > 0


def test_a_short_pass_freezes_nothing():
    """What is small may be looked at again."""
    freezer = garbage.Freezer(Stopwatch(0.0001))
    with freezer.watching():
        gc.collect()
        gc.collect(0)

    assert freezer.freezes == 0
    assert gc.get_freeze_count() == 0


def test_a_knot_that_was_frozen_is_found_in_the_end():
    """Nothing is lost for good: after so many freezes everything is looked at once."""
    knot = Knot()
    gone = weakref.ref(knot)
    freezer = garbage.Freezer(Stopwatch(1.0))
    with freezer.watching():
        gc.collect()
        del knot
        gc.collect()
        assert gone() is not None
        for _ in range(garbage.FREEZES_MAX + 1):
            gc.collect()

    assert gone() is None


def test_nobody_watches_when_it_is_over():
    """Whoever added a callback takes it away."""
    before = list(gc.callbacks)
    with garbage.Freezer(Stopwatch(1.0)).watching():
        assert len(gc.callbacks) == len(before) + 1

    assert gc.callbacks == before


def test_young_things_are_looked_at_in_larger_lots_while_it_watches():
    before = gc.get_threshold()
    with garbage.Freezer(lambda: 0.0).watching():
        assert gc.get_threshold()[0] > before[0]

    assert gc.get_threshold() == before
