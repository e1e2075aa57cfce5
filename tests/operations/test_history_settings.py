"""`[history]`: how long it is kept, and where it goes first."""

import pytest

from notbefore.settings import SettingsRefused, load_settings


@pytest.fixture
def written(tmp_path):
    def write(text):
        file = tmp_path / "notbefore.toml"
        file.write_text(text)
        return file

    return write


def test_history_is_kept_for_ever_unless_told_otherwise(written):
    """The default deletes nothing."""
    history = load_settings(written(""), {}, {}).history

    assert (history.keep_days, history.sink, history.directory) == (0, "", None)


@pytest.mark.parametrize("sink", ["/var/history", "none"])
def test_with_keep_days_there_is_a_sink_or_an_explicit_none(written, sink):
    """Nobody deletes history by forgetting a line."""
    history = load_settings(written(f'[history]\nkeep_days = 30\nsink = "{sink}"\n'), {}, {}).history

    assert str(history.directory) == ("None" if sink == "none" else sink)


def test_keep_days_without_a_sink_is_refused_with_what_to_write(program, written):
    """Refused at start, with the hint; exit code 2."""
    file = written("[history]\nkeep_days = 30\n")

    ran = program("serve", "--check", "--config", file)

    assert ran.code == 2
    assert "history.sink" in ran.err
    assert '"none" to let them go' in ran.err


@pytest.mark.parametrize("days", ["-1", "40000", "1.5", '"long"'])
def test_days_are_a_whole_number_within_reason(written, days):
    """Named with its line."""
    with pytest.raises(SettingsRefused) as refused:
        load_settings(written(f'[history]\nsink = "none"\nkeep_days = {days}\n'), {}, {})

    assert "line 3, history.keep_days" in refused.value.problems[0]


def test_a_sink_that_cannot_be_a_directory_is_refused_at_start(program, written, tmp_path):
    """Before anything is served; exit code 1."""
    (tmp_path / "taken").write_text("")
    file = written(f'[history]\nkeep_days = 30\nsink = "{tmp_path}/taken/sink"\n')

    ran = program(
        "serve", "--config", file, "--state", tmp_path / "s", "--metadata", "127.0.0.1:0", "--control", "127.0.0.1:0"
    )

    assert ran.code == 1
    assert "Cannot keep old history" in ran.err
