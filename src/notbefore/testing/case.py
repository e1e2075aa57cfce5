"""For unittest: a test case with an emulator of its own for each test, as `self.scheduled_events`."""

import unittest
from collections.abc import Mapping
from typing import Any, ClassVar

from notbefore.testing.emulator import Emulator


class ScheduledEventsTestCase(unittest.TestCase):
    """Alone, or before another kind of test case: `class MyTest(ScheduledEventsTestCase, IsolatedAsyncioTestCase)`."""

    scheduled_events_options: ClassVar[Mapping[str, Any]] = {}
    """Options of Emulator."""
    scheduled_events: Emulator

    def setUp(self) -> None:
        super().setUp()
        self.scheduled_events = self.enterContext(Emulator(**self.scheduled_events_options))
