"""What every test of the core shares: assertions in the builders and laws explain themselves as those in tests do."""

import pytest

pytest.register_assert_rewrite("builders", "journeys")
