"""Questions that are held by workers (SPEC §2.6)."""

from contextlib import ExitStack, closing

from crews import KeptLine, metric, metrics_of, until

HELD = 12


def test_a_change_wakes_who_waits_in_any_worker(pair):
    """SPEC §2.6: held until the document changes; the answer carries Preference-Applied."""
    with ExitStack() as kept:
        lines = [kept.enter_context(closing(KeptLine(pair.metadata))) for _ in range(HELD)]
        for line in lines:
            line.wait(1)
        until(lambda: metric(metrics_of(pair), "notbefore_metadata_long_polls") == HELD)

        event = pair.made("demo", "FrontEnd_IN_0", "restart")

        for line in lines:
            status, applied, body = line.answer()
            assert (status, applied) == (200, "wait=60")
            assert event["id"].upper().encode() in body
    assert metric(metrics_of(pair), 'notbefore_metadata_long_polls_ended_total{end="changed"}') == HELD
