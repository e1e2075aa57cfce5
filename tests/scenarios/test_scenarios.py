"""Every story in this folder goes as it is written."""

import os
from pathlib import Path

import pytest
from transcript import Story

STORIES = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("file", STORIES, ids=[file.stem for file in STORIES])
def test_the_story_goes_as_it_is_written(file, tmp_path):
    """STYLE 12: stories with several actors are transcripts, compared byte for byte."""
    written = file.read_text()

    told = Story(tmp_path / "state").play(written)

    if os.environ.get("NOTBEFORE_REWRITE_SCENARIOS") == "1":
        file.write_text(told)
    else:
        assert told == written


def test_there_are_stories():
    """A folder emptied by mistake must not pass."""
    assert len(STORIES) >= 10
