"""SIGHUP: other settings without a restart; the log says what changed, what cannot, and what was wrong."""

import logging
import os
import re
import signal

import msgspec
import pytest

from lab import lab_settings, open_lab
from notbefore.clock import RealTime
from notbefore.settings import Settings
from notbefore.settings.reload import Reloading

KEY = "00112233445566778899aabbccddeeff"
HEARD_MAX_S = 10


@pytest.fixture
def hangup(served, tmp_path):
    """A server with a settings file, and a way to change the file, hang up, and see what the log then says."""
    file = tmp_path / "notbefore.toml"
    file.write_text("")
    server = served("--demo", "--config", str(file), NOTBEFORE_METADATA_RATE_LIMIT_PER_S="0")

    def changed(text, until):
        file.write_text(text)
        seen = server.log.stat().st_size
        os.kill(server.process.pid, signal.SIGHUP)
        clock = RealTime()
        deadline_s = clock.steady_s() + HEARD_MAX_S
        while not re.search(until, said := server.log.read_text()[seen:]):
            assert clock.steady_s() < deadline_s, said
        return said

    changed.server = server
    return changed


def test_what_can_change_while_running_does_and_each_key_is_told(hangup):
    """Applied at once, one line per key; no secret is shown."""
    said = hangup(
        f'[metadata]\nfallback_vm = "demo/FrontEnd_IN_1"\ntrusted_proxy_key = ["{KEY}"]\n'
        '[executor.simulate]\nduration_s = {Freeze = 1}\n[log]\nformat = "json"\n',
        "log.format",
    )

    assert said.count("setting changed") == 4
    assert all(
        key in said
        for key in (
            "metadata.fallback_vm",
            "metadata.trusted_proxy_key",
            "executor.simulate.duration_s",
            "log.format",
        )
    )
    assert KEY not in said
    assert said.splitlines()[-1].startswith("{")


def test_what_needs_a_restart_is_told_and_stays(hangup):
    """Listeners, addresses, store, clock and state stay as they run, and the log says so every time."""
    text = '[clock]\nkind = "manual"\n[metadata.limits]\nidle_timeout_s = 5\n'
    said = hangup(text, r"clock\.kind")
    again = hangup(text, r"clock\.kind")

    assert 'setting needs a restart to change: "manual", was "real"  key=clock.kind' in said
    assert "setting changed: 5, was 75  key=metadata.limits.idle_timeout_s" in said
    assert "needs a restart" in again
    assert "idle_timeout_s" not in again
    assert hangup.server.control("GET", "/v1/clock")[1]["kind"] == "real"


def test_a_broken_file_changes_nothing_and_is_told_in_one_sentence(hangup):
    """The running settings stay; the sentence names file, line and key."""
    said = hangup("[metadata]\nfirst_call_delay_s = 1\nrate = 3\n", "not reloaded")

    assert len(said.splitlines()) == 1
    assert "line 3, metadata.rate: " in said
    assert "the running ones stay" in said
    assert "nothing changed" in hangup("", "nothing changed")


def test_the_rate_limit_follows_a_reload_in_the_running_service(tmp_path):
    """The data plane takes it without a new connection or a restart."""
    settings = lab_settings(tmp_path / "state", demo=True)
    slower = msgspec.structs.replace(settings.metadata, rate_limit_per_s=1)
    with open_lab(settings) as lab:
        before = [lab.ask().status for _ in range(5)]

        async def reload():
            await lab.server.reloading.apply_everywhere(msgspec.structs.replace(settings, metadata=slower))

        lab.run(reload())
        after = [lab.ask().status for _ in range(5)]

    assert before == [200] * 5
    assert after[0] == 200
    assert 429 in after


def test_nobody_is_told_of_settings_that_only_need_a_restart(caplog):
    """Those who take settings hear of live keys alone, with everything else as it runs."""
    caplog.set_level(logging.INFO, "notbefore.settings")
    taken = []
    reloading = Reloading(Settings())
    reloading.on_change(taken.append)

    reloading.apply(msgspec.convert({"control": {"address": "127.0.0.1:1"}}, Settings))
    assert taken == []
    reloading.apply(msgspec.convert({"control": {"address": "127.0.0.1:1"}, "log": {"level": "error"}}, Settings))

    assert [(one.log.level, one.control.address) for one in taken] == [("error", "127.0.0.1:8255")]
    assert [record.key for record in caplog.records] == ["control.address", "control.address", "log.level"]
