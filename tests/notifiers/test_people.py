"""Targets for people: one readable line by real apprise, and a plain word when apprise is not there."""

import json
import logging
import sys

import pytest

from lab import lab_settings, open_lab
from notbefore.core.errors import Invalid, NotAllowed
from notbefore.core.news import gap_between
from notbefore.notifiers.people import LINE_MAX, PeopleNotifier, line_of, way_to
from notbefore.ports import NotTold
from receiver import receiving

# apprise imports a module that Python 3.13 no longer has, where it does without it.
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
QUICK = {"retry_first_s": 0.01, "retry_max_s": 0.02}


@pytest.fixture
def receiver():
    with receiving() as opened:
        yield opened


def test_people_get_one_line_for_each_change_that_matters(tmp_path, receiver):
    """Issue: optional apprise targets for people. Scheduled, started, completed, cancelled; not each approval."""
    notify = {**QUICK, "apprise": [{"name": "people", "url": f"json://127.0.0.1:{receiver.port}/hook-SECRET"}]}
    with open_lab(lab_settings(tmp_path / "state", demo=True, notify=notify)) as lab:
        event = lab.made("demo", "FrontEnd_IN_0", "restart")
        assert lab.approve(event["id"]).status == 200
        lab.advance(60)
        cancelled = lab.made("demo", "FrontEnd_IN_1", "redeploy")
        lab.control("POST", f"/v1/events/{cancelled['id']}/cancel")
        came = receiver.wait(lambda came: len(came) >= 5)

    lines = [json.loads(one.body)["message"] for one in came]
    assert [line.partition(" (")[0] for line in lines] == [
        f"demo: Reboot of FrontEnd_IN_0 scheduled, not before {event['not_before']}",
        "demo: Reboot of FrontEnd_IN_0 started",
        "demo: Reboot of FrontEnd_IN_0 completed",
        f"demo: Redeploy of FrontEnd_IN_1 scheduled, not before {cancelled['not_before']}",
        "demo: Redeploy of FrontEnd_IN_1 cancelled",
    ]


async def test_what_apprise_cannot_deliver_is_a_refusal_without_the_url(caplog):
    """apprise does not say why; and its own log would tell the URL."""
    caplog.set_level(logging.DEBUG)
    notifier = PeopleNotifier("people", "json://127.0.0.1:1/hook-SECRET", 20.0)

    with pytest.raises(NotTold, match="apprise could not deliver it") as caught:
        await notifier.tell(gap_between(1, 5))

    assert caught.value.refused
    assert "SECRET" not in caplog.text


def test_a_url_that_apprise_does_not_know_is_refused_without_quoting_it():
    """A URL is a secret."""
    with pytest.raises(Invalid) as refused:
        way_to("people", "nonsense-SECRET")

    assert "SECRET" not in str(refused.value) + refused.value.hint


def test_without_apprise_the_start_is_refused_with_what_to_install(monkeypatch):
    """Missing package: a clear refusal."""
    monkeypatch.setitem(sys.modules, "apprise", None)

    with pytest.raises(NotAllowed) as refused:
        way_to("people", "json://127.0.0.1")

    assert "notbefore[notify]" in refused.value.hint


def test_a_gap_is_told_to_people_too():
    """And no line is endless."""
    assert "revision 5" in line_of(gap_between(1, 5))
    assert LINE_MAX == 500
