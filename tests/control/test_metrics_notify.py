"""What the metrics tell of targets: how far they lag, and what became of each try."""

import pytest
from a_days_work import Scrape

from lab import lab_settings, open_lab
from receiver import SECRET, receiving


@pytest.fixture
def receiver():
    with receiving() as opened:
        yield opened


def until(lab, holds):
    while not holds(scrape := Scrape(lab)):
        pass
    return scrape


def test_a_target_that_is_down_lags_and_catches_up(tmp_path, receiver):
    """Lag in records and seconds per target, deliveries by outcome."""
    webhook = {"name": "ops", "url": receiver.url, "secret": [SECRET]}
    notify = {"retry_first_s": 0.01, "retry_max_s": 0.02, "webhook": [webhook]}
    receiver.answers = lambda _event: 503
    with open_lab(lab_settings(tmp_path / "state", notify=notify)) as lab:
        lab.declare("web", "web-1", listening="always")
        lab.advance(100)
        for n in range(4):
            lab.control("PUT", f"/v1/hosts/h-{n}", {"executor": "simulate"})
        lagging = until(lab, lambda scrape: scrape.value("notbefore_notify_lag_records", target="ops") == 5)
        assert lagging.value("notbefore_notify_lag_seconds", target="ops") == 100
        until(lab, lambda scrape: scrape.value("notbefore_notify_deliveries_total", outcome="failed") > 0)

        receiver.answers = lambda _event: 204
        told = until(lab, lambda scrape: scrape.value("notbefore_notify_deliveries_total", outcome="told") == 5)
        assert told.value("notbefore_notify_deliveries_total", outcome="given_up") == 0
        until(lab, lambda scrape: scrape.value("notbefore_notify_lag_records") == 0)
