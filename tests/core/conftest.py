"""What every test of the core shares: an assertion in a builder explains itself as one in a test does."""

import pytest

pytest.register_assert_rewrite("builders")
