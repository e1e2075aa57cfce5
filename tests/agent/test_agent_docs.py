"""Nothing of the agent's face is left out of its reference page, and what the pages show is taken."""

import re
from pathlib import Path

import pytest

from notbefore.agent import reading
from notbefore.agent.picture import METRICS
from notbefore.agent.reading import settings_in
from notbefore.agent.settings import AlertOn, Among, Approve, Of

DOCS = Path(__file__).parents[2] / "docs"
REFERENCE = (DOCS / "reference" / "agent.md").read_text()
KEYS = sorted(
    set(re.findall(r'(?:table|agent|log|status)(?:\.\w+\(|, )"([a-z_]+)"', Path(reading.__file__).read_text()))
)


def rows():
    return set(re.findall(r"^\| `([a-z_-]+)`", REFERENCE, re.MULTILINE))


@pytest.mark.parametrize("key", [key for key in KEYS if key != "step"])
def test_every_key_of_agent_toml_has_its_row(key):
    assert key in rows()


def test_the_keys_were_found():
    assert {"endpoint", "state", "takeover_share", "shared", "textfile", "format", "on_failure"} <= set(KEYS)


@pytest.mark.parametrize("word", [*AlertOn, *Approve, *Among, *Of])
def test_every_word_is_explained(word):
    assert f"`{word}`" in REFERENCE


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_has_its_row(metric):
    assert metric in rows()


@pytest.mark.parametrize("page", ["how-to/agent.md", "reference/agent.md"])
def test_settings_that_a_page_shows_are_taken(page, tmp_path):
    for text in re.findall(r"^```toml\n(.*?)^```$", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE):
        (tmp_path / "agent.toml").write_text(text)
        assert settings_in(tmp_path / "agent.toml")
