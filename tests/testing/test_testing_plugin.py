"""The pytest plugin and the unittest case, as a user's test run has them."""

import subprocess
import sys

import pytest

pytest_plugins = ("pytester",)


def test_a_failing_test_shows_the_story_of_every_event(pytester):
    """Issue: failure messages that show the event's story; a section of the report, for any failure."""
    pytester.makepyfile(
        """
        import pytest

        def test_fails(scheduled_events):
            scheduled_events.schedule("Reboot", "web-0")
            scheduled_events.vm("web-0").document()
            scheduled_events.advance("15m")
            assert False

        def test_passes(scheduled_events):
            scheduled_events.schedule("Freeze", "web-0")

        def test_refused(scheduled_events):
            scheduled_events.vm("web-0")
            scheduled_events.schedule("Preempt", "web-0")

        @pytest.fixture
        def broken(scheduled_events):
            raise OSError("no agent")

        def test_breaks_in_a_fixture(scheduled_events, broken):
            pass
        """
    )

    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:asyncio")

    result.assert_outcomes(failed=2, passed=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*no agent*",
            "*- scheduled events -*",
            "No event was scheduled.",
            "The clock stands at +0s: *",
            "*- scheduled events -*",
            "Reboot of web-0, Started  (test, *",
            "*+0s  scheduled: restart asked for by operator admin",
            "*+15m  started: notice ended: *",
            "  now: *",
            "  web-0 asked once, last at +0s: GET 200",
            "The clock stands at +15m: *",
            "*NotSpot: *",
            "*vm(name, spot=True)*",
        ]
    )
    assert "Freeze" not in result.stdout.str()


def test_an_assertion_fails_where_it_stands_in_the_test(pytester):
    """Not inside notbefore: the user's line is what is shown."""
    pytester.makepyfile(
        """
        def test_waits_in_vain(scheduled_events):
            event = scheduled_events.schedule("Reboot", "web-0")
            scheduled_events.assert_approved(event)
        """
    )

    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:asyncio")

    result.stdout.fnmatch_lines(
        [">*scheduled_events.assert_approved(event)", "E*AssertionError: Reboot of web-0 was not*"]
    )
    assert "judging.py" not in result.stdout.str()


def test_the_mark_is_known_and_the_fixture_is_listed(pytester):
    """Also under --strict-markers."""
    pytester.makepyfile(
        """
        import pytest

        pytestmark = pytest.mark.scheduled_events(listening="auto")

        def test_real_rule(scheduled_events):
            assert scheduled_events.schedule("Reboot", "web-0").status == "Started"

        @pytest.mark.scheduled_events(listening="always")
        def test_nearest_mark_wins(scheduled_events):
            assert scheduled_events.schedule("Reboot", "web-0").status == "Scheduled"

        @pytest.mark.scheduled_events(colour="red")
        def test_unknown_option(scheduled_events):
            pass
        """
    )

    result = pytester.runpytest_inprocess("--strict-markers", "-p", "no:cacheprovider", "-p", "no:asyncio")

    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*unexpected keyword argument 'colour'*"])


def test_unittest_has_an_emulator_for_each_test(pytester):
    """Issue: the same for unittest, async tests included."""
    script = pytester.makepyfile(
        test_cases="""
        import unittest
        from notbefore.testing import ScheduledEventsTestCase

        class PlainTest(ScheduledEventsTestCase):
            scheduled_events_options = {"duration_s": {"Reboot": 5}}

            def test_notice(self):
                event = self.scheduled_events.schedule("Reboot", "web-0")
                self.scheduled_events.advance("15m")
                self.scheduled_events.assert_status(event, "Started")
                self.scheduled_events.advance(5)
                self.scheduled_events.assert_status(event, "Completed")

            def test_starts_anew(self):
                self.assertEqual(self.scheduled_events.control.scopes(), ())

        class AsyncTest(ScheduledEventsTestCase, unittest.IsolatedAsyncioTestCase):
            async def test_waits(self):
                event = self.scheduled_events.schedule("Reboot", "web-0")
                self.scheduled_events.vm("web-0").approve(event)
                await self.scheduled_events.wait_until_async("started", event)

            async def test_fails(self):
                self.scheduled_events.assert_approved(self.scheduled_events.schedule("Reboot", "web-0"))
        """
    )

    ran = subprocess.run(
        [sys.executable, "-W", "error", "-m", "unittest", script.name],
        cwd=script.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert "Ran 4 tests" in ran.stderr
    assert "FAILED (failures=1)" in ran.stderr
    assert "AssertionError: Reboot of web-0 was not approved: it is Scheduled." in ran.stderr
    assert "Warning" not in ran.stderr


def test_importing_the_plugin_imports_nothing_of_the_server():
    """It is in every pytest run of everybody who has notbefore installed."""
    script = (
        "import sys, pytest; before = set(sys.modules); import notbefore.testing.plugin; "
        "print(sorted(set(sys.modules) - before))"
    )

    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)

    assert ran.stdout.strip() == "['notbefore', 'notbefore.testing', 'notbefore.testing.plugin']"


@pytest.mark.parametrize("name", ["Emulator", "EmulatedVm", "OrderedFault", "Request", "ScheduledEvent"])
def test_the_names_of_the_package_are_there_when_they_are_asked_for(name):
    import notbefore.testing

    assert getattr(notbefore.testing, name).__name__ == name
    with pytest.raises(AttributeError):
        _ = notbefore.testing.Nothing
