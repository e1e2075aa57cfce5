"""The law on questions that wait (SPEC §2.6): told by a change, else when their time is up."""

from law_steps import MINUTE, PATH, TRUE, broken, cancel, scheduled

from notbefore.metadata.answers import HttpAnswer
from notbefore.metadata.verdict import RequestHead
from notbefore.simulation.laws.waiting import Waiting

BEGAN = 10 * MINUTE


def waiting(process="one"):
    """A VM that knows the document waits for another."""
    run = scheduled(Waiting())
    run.at(BEGAN)
    headers = (TRUE, (b"if-none-match", b"2"), (b"prefer", b"wait=60"))
    return run, run._asks("a", process, RequestHead("GET", PATH, b"api-version=2020-07-01", headers), b"")


def told(status, incarnation):
    applied = (b"preference-applied", b"wait=60")
    return HttpAnswer(status, ((b"etag", str(incarnation).encode()), applied), b"")


def test_a_change_is_told_within_a_second():
    """§2.6: held until the document changes."""
    run, asked = waiting()
    run.at(BEGAN + 10)
    run.take(cancel(run.event))
    run.at(BEGAN + 10.9)
    run.answers(asked, told(200, 3))
    run.at(BEGAN + 12)
    with broken("§2.6", "told 2000 ms after 3 was there"):
        run.answers(asked, told(200, 3))


def test_a_process_in_trouble_may_hear_of_it_late():
    run, asked = waiting("two")
    run.trouble("two", began=True)
    run.at(BEGAN + 10)
    run.take(cancel(run.event))
    run.at(BEGAN + 30)
    run.answers(asked, told(200, 3))
    run.trouble("two", began=False)
    run.answers(asked, told(200, 3))


def test_a_wait_ends_when_its_time_is_up_and_not_before():
    """§2.6: or N seconds pass (then 304)."""
    run, asked = waiting()
    run.at(BEGAN + 59)
    with broken("§2.6", "told 304 after 59000 ms"):
        run.answers(asked, told(304, 2))
    run.at(BEGAN + 60.1)
    run.answers(asked, told(304, 2))
    run.at(BEGAN + 62)
    with broken("§2.6", "told after 62000 ms"):
        run.answers(asked, told(304, 2))


def test_who_was_not_held_is_none_of_its_business():
    """§2.6: an answer that does not say that the preference was applied comes at once."""
    run, asked = waiting()
    run.answers(asked, HttpAnswer(304, ((b"etag", b"2"),), b""))
