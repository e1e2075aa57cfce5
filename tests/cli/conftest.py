"""What every test of the CLI shares: a fake server of its own, and a way to run commands against it."""

import pytest

pytest.register_assert_rewrite("cli_runs")

from cli_fakes import FakeServer  # noqa: E402  after the line above, which it must obey
from cli_runs import Cli  # noqa: E402


@pytest.fixture
def server():
    with FakeServer() as fake:
        yield fake


@pytest.fixture
def real(lab, tmp_path):
    """Commands for a real server without scopes, on a manual clock."""
    return Cli(
        {
            "NOTBEFORE_URL": lab.server.control_url,
            "NOTBEFORE_TOKEN": lab.server.token,
            "NOTBEFORE_STATE": str(tmp_path / "state"),
            "NOTBEFORE_ENDPOINT": lab.server.metadata_urls[0],
            "NOTBEFORE_DEBUG": None,
            "NOTBEFORE_UTC": None,
            "XDG_STATE_HOME": None,
            "HOME": str(tmp_path / "home"),
        }
    )


@pytest.fixture
def fleet(tmp_path):
    """A fleet.toml with this text."""

    def write(text: str) -> str:
        file = tmp_path / "fleet.toml"
        file.write_text(text)
        return str(file)

    return write


@pytest.fixture
def cli(server, tmp_path):
    """Commands that find the fake server by the environment, and everything else in an empty directory."""
    return Cli(
        {
            "NOTBEFORE_URL": server.url,
            "NOTBEFORE_TOKEN": "correct-horse",
            "NOTBEFORE_STATE": str(tmp_path / "state"),
            "NOTBEFORE_ENDPOINT": server.url,
            "NOTBEFORE_DEBUG": None,
            "NOTBEFORE_UTC": None,
            "XDG_STATE_HOME": None,
            "HOME": str(tmp_path / "home"),
        }
    )
