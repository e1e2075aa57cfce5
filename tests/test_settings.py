"""Settings (DESIGN §6): flag beats environment beats file beats default; what is wrong is said by name."""

import pytest

from notbefore.core.errors import Invalid
from notbefore.settings import Settings, load_settings
from notbefore.state_dir import default_state_dir


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "notbefore.toml"

    def write(text):
        path.write_text(text)
        return path

    return write


def test_the_defaults_are_loopback():
    """DESIGN §4: metadata 127.0.0.1:8254, control 127.0.0.1:8255; secure by default: loopback unless told otherwise."""
    settings = load_settings(None, {}, {})

    assert settings == Settings()
    assert [one.address for one in settings.metadata.listeners] == ["127.0.0.1:8254"]
    assert settings.control.address == "127.0.0.1:8255"
    assert settings.metadata.rate_limit_per_s == 5


@pytest.mark.parametrize(
    ("env", "where"),
    [({"XDG_STATE_HOME": "/x"}, "/x/notbefore"), ({"XDG_STATE_HOME": ""}, ".local/state/notbefore")],
)
def test_the_state_directory_follows_the_xdg_rule(env, where):
    """DESIGN §4: state `$XDG_STATE_HOME/notbefore` (else `~/.local/state/notbefore`)."""
    assert str(default_state_dir(env)).endswith(where)


def test_flag_beats_environment_beats_file_beats_default(file):
    """DESIGN §4: flag beats environment beats file beats default."""
    written = file('[control]\naddress = "127.0.0.1:1"\n[clock]\nkind = "manual"\n[metadata]\nrate_limit_per_s = 7\n')
    env = {"NOTBEFORE_CONTROL_ADDRESS": "127.0.0.1:2", "NOTBEFORE_METADATA_RATE_LIMIT_PER_S": "8"}

    settings = load_settings(written, env, {"control": "127.0.0.1:3"})

    assert settings.control.address == "127.0.0.1:3"
    assert settings.metadata.rate_limit_per_s == 8
    assert settings.clock.kind == "manual"
    assert settings.metadata.first_call_delay_s == 0


def test_every_key_is_also_an_environment_variable():
    """DESIGN §6: every key also `NOTBEFORE_…`."""
    env = {
        "NOTBEFORE_STATE": "/s",
        "NOTBEFORE_DEMO": "true",
        "NOTBEFORE_METADATA_FALLBACK_VM": "demo/FrontEnd_IN_0",
        "NOTBEFORE_METADATA_LISTENERS": '[{address = "127.0.0.1:1", vm = "a/b"}]',
        "NOTBEFORE_EXECUTOR_SIMULATE_DURATION_S": "{Reboot = 1.5}",
        "NOTBEFORE_STORE_URL": "sqlite:/d/x.db",
        "NOTBEFORE_CLOCK_KIND": "manual",
    }

    settings = load_settings(None, env, {})

    assert (settings.state, settings.demo, settings.metadata.fallback_vm) == ("/s", True, "demo/FrontEnd_IN_0")
    assert settings.metadata.listeners[0].vm == "a/b"
    assert settings.executor.simulate.duration_s == {"Reboot": 1.5}
    assert str(settings.store_path) == "/d/x.db"
    assert settings.clock.kind == "manual"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[metadata]\nrate = 5\n", "rate"),
        ("[metdata]\n", "metdata"),
        ("[metadata]\nrate_limit_per_s = 'fast'\n", "rate_limit_per_s"),
        ("[metadata]\nlisteners = []\n", "listener"),
        ("[metadata]\nlisteners = [{address = 5}]\n", "address"),
        ("[executor.simulate]\nduration_s = {Nap = 5}\n", "Nap"),
        ("[executor.simulate]\nfailure_rate = {Reboot = 2}\n", "Reboot"),
        ("[executor.simulate]\nchecks_s = {Nap = 5}\n", "Nap"),
        (
            "[executor.simulate]\nchecks_s = {Freeze = -1}\n",
            "executor.simulate.checks_s.Freeze: it is 0 or more seconds",
        ),
        ("[executor.simulate]\nduration_s = {Freeze = inf}\n", "executor.simulate.duration_s.Freeze"),
        ("[executor]\ndefault = 'magic'\n", "magic"),
        ("[clock]\nkind = 'sundial'\n", "sundial"),
        ("metadata = 5\n", "metadata"),
        ("[metadata\n", "line 1"),
    ],
)
def test_what_is_wrong_is_named(file, text, named):
    """DESIGN §6; bad input gets a clear error with the fact that was wrong."""
    with pytest.raises(Invalid) as refused:
        load_settings(file(text), {}, {})

    assert named in refused.value.message


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(Invalid, match=r"Cannot read settings from .*gone\.toml"):
        load_settings(tmp_path / "gone.toml", {}, {})


@pytest.mark.parametrize("url", ["etcd://h:1/p", "sqlite:", "notbefore.db", "postgres://x"])
def test_a_store_this_program_cannot_open_is_refused(url):
    with pytest.raises(Invalid, match="not one this program can open"):
        _ = load_settings(None, {}, {"store": url}).store_path
