"""agent.toml: what it comes to, and what is refused with file, line and key (issue 9)."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from notbefore.agent.example import EXAMPLE
from notbefore.agent.reading import default_state_dir, settings_in
from notbefore.agent.settings import ALERT_ON, AlertOn, Among, Approve, Of
from notbefore.agent.toml_table import seconds_in
from notbefore.core.errors import Invalid

RULE = '[[rule]]\nname = "r"\n'
STEP = '[[rule.step]]\nkind = "command"\ndo = ["true"]\nundo = ["true"]\n'


def read(tmp_path, text):
    file = tmp_path / "agent.toml"
    file.write_text(text)
    return settings_in(file)


def test_an_empty_file_has_the_defaults(tmp_path):
    settings = read(tmp_path, "")

    assert (settings.endpoint, settings.vm, settings.api_version) == (None, None, "2020-07-01")
    assert (settings.log.format, settings.log.level, settings.status.listen) == ("text", "info", "")
    assert settings.alert_on == ALERT_ON
    assert settings.rules == settings.alerts == ()


def test_a_rule_has_the_safe_defaults(tmp_path):
    """of mine, approve on-success, among leader, half the notice, four fifths for the steps."""
    rule = read(tmp_path, RULE + STEP).rules[0]

    assert (rule.of, rule.approve, rule.among) == (Of.MINE, Approve.ON_SUCCESS, Among.LEADER)
    assert (rule.takeover_share, rule.budget_share, rule.approve_peer_terminate) == (0.5, 0.8, False)
    step = rule.steps[0]
    assert (step.name, step.limit_s, step.repeatable, step.goes_on) == ("command", 60, False, False)


def test_everything_can_be_said(tmp_path):
    settings = read(
        tmp_path,
        """
        [agent]
        endpoint = "http://127.0.0.1:8254"
        vm = "web-1"
        api_version = "2019-08-01"
        state = "here"
        stop_grace_s = 3.5
        alert_on = ["no-notice"]
        [log]
        format = "json"
        level = "debug"
        [status]
        listen = "[::1]:9254"
        textfile = "agent.prom"
        [[alert]]
        kind = "log"
        [[rule]]
        name = "r"
        type = ["Freeze", "reboot"]
        source = "PLATFORM"
        status = "Scheduled"
        min_duration_s = 0
        max_duration_s = 9
        description = "*"
        vm = "web-*"
        of = "any"
        approve = "at-deadline"
        among = "any"
        takeover_share = 0.25
        budget_share = 1
        approve_peer_terminate = true
        drain = false
        [[rule.step]]
        name = "s"
        kind = "log"
        limit = "1.5m"
        repeatable = true
        on_failure = "go-on"
        shared = true
        """,
    )

    assert settings.state == tmp_path / "here"
    assert settings.status.textfile == tmp_path / "agent.prom"
    rule = settings.rules[0]
    assert (rule.types, rule.sources, rule.statuses) == (("freeze", "reboot"), ("platform",), ("scheduled",))
    step = rule.steps[0]
    assert (step.limit_s, step.repeatable, step.goes_on, bool(step.key)) == (90, True, True, True)


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("[agent]\nstat = 1", 2, "agent.stat: there is no such key"),
        ("[agnet]\nvm = 'x'", 1, "agnet: there is no such key"),
        ("[agent]\nvm = 1", 2, "agent.vm: is a text"),
        ("[agent]\n\nendpoint = 'https://x'", 3, "agent.endpoint: 'https://x' is not an endpoint"),
        ("[agent]\napi_version = 'latest'", 2, "agent.api_version: is one of 2017-03-01"),
        ("[agent]\nalert_on = ['nothing']", 2, "agent.alert_on: knows step-failed"),
        ("[agent]\nstop_grace_s = -1", 2, "agent.stop_grace_s: is a number from 0"),
        ("[log]\nformat = 'xml'", 2, "log.format: is one of text, json, not 'xml'"),
        ("[status]\nlisten = '9254'", 2, "status.listen: is an address and a port"),
        ("[[alert]]\nkind = 'haproxy'", 2, "alert[0].kind: an alert is one of webhook"),
        ("[[rule]]\ntype = 'Reboot'", 1, "rule[0].name: is needed"),
        (RULE + "typ = 'x'", 3, "rule[0].typ: there is no such key"),
        (RULE + "of = 'yours'", 3, "rule[0].of: is one of mine, peer, any, not 'yours'"),
        (RULE + "among = ['leader']", 3, "rule[0].among: is one of leader, own-only, any, not ['leader']"),
        (RULE + "approve = {}", 3, "rule[0].approve: is one of on-success"),
        (RULE + "approve = 'maybe'", 3, "rule[0].approve: is one of on-success"),
        (RULE + "budget_share = 0", 3, "rule[0].budget_share: is more than 0"),
        (RULE + "takeover_share = 1.5", 3, "rule[0].takeover_share: is a number from 0 to 1"),
        (RULE + "type = [1]", 3, "rule[0].type: is a word or a list of words"),
        (RULE + "min_duration_s = 1.5", 3, "rule[0].min_duration_s: is a whole number"),
        (RULE + "drain = 1", 3, "rule[0].drain: is true or false"),
        (RULE + RULE, 4, "rule[1].name: two have the name 'r'"),
        (RULE + STEP + STEP, 7, "rule[0].step[1].name: two have the name 'command'"),
        (RULE + STEP + "limit = 'soon'", 7, "rule[0].step[0].limit: is a time"),
        (RULE + STEP + "limit = '2d'", 7, "rule[0].step[0].limit: is a time"),
        (RULE + STEP + "on_failure = 'cry'", 7, "rule[0].step[0].on_failure: is one of stop, go-on"),
        (RULE + STEP + "repeatabel = true", 7, "rule[0].step[0].repeatabel"),
        (RULE + "[[rule.step]]\nkind = 'magic'", 4, "rule[0].step[0].kind: there is no kind of step 'magic'"),
        (RULE + "step = 3", 3, "rule[0].step: is a list of tables"),
        ("rule = 3", 1, "rule: is a list of tables"),
    ],
)
def test_what_cannot_be_taken_is_refused_with_file_and_line(tmp_path, text, line, sentence):
    """Unknown keys are refused with file and line."""
    with pytest.raises(Invalid) as refused:
        read(tmp_path, text)

    assert refused.value.message.startswith(f"{tmp_path}/agent.toml:{line}: {sentence}"), refused.value.message


def test_without_a_home_the_state_has_to_be_said(tmp_path, monkeypatch):
    """A service of its own user may have none."""

    def nowhere():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    monkeypatch.setattr(Path, "home", nowhere)
    for name in ("STATE_DIRECTORY", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)

    with pytest.raises(Invalid, match=r"agent\.state: is needed"):
        read(tmp_path, "")
    assert read(tmp_path, "[agent]\nstate = 'here'").state == tmp_path / "here"


def test_a_file_that_is_not_there_or_not_toml_is_a_sentence(tmp_path):
    with pytest.raises(Invalid, match="cannot be read: No such file"):
        settings_in(tmp_path / "none.toml")
    with pytest.raises(Invalid, match="is not TOML"):
        read(tmp_path, "[agent")
    with pytest.raises(Invalid, match="deeper than any settings"):
        read(tmp_path, f"a = {'[' * 3000}{']' * 3000}")
    (tmp_path / "latin.toml").write_bytes(b"# \xe9")
    with pytest.raises(Invalid, match="is not UTF-8"):
        settings_in(tmp_path / "latin.toml")


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("60s", 60),
        ("5m", 300),
        ("1.5 h", 5400),
        ("250ms", 0.25),
        (7, 7),
        ("7", 7),
        ("x", None),
        ("", None),
        (True, None),
    ],
)
def test_times_are_written_as_people_write_them(written, seconds):
    assert seconds_in(written) == seconds


def test_the_same_step_has_the_same_key_whatever_its_name_and_limit(tmp_path):
    """Two rules with the same drain share it; what tells somebody is not shared."""
    second = RULE.replace('"r"', '"s"') + STEP + 'name = "other"\nlimit = "5m"\n[[rule.step]]\nkind = "log"\n'
    first, other = read(tmp_path, RULE + STEP + second).rules

    assert first.steps[0].key == other.steps[0].key != ""
    assert other.steps[1].key == ""


def test_the_state_is_where_the_service_manager_says():
    assert str(default_state_dir({"STATE_DIRECTORY": "/var/lib/x:/y"})) == "/var/lib/x"


def test_the_example_is_taken_and_names_every_key(tmp_path):
    """`example`: a commented agent.toml which `check` accepts."""
    settings = read(tmp_path, EXAMPLE)

    assert [rule.name for rule in settings.rules] == ["short-freeze", "taken-away", "maintenance"]
    for word in (*AlertOn, *Approve, *Among, *Of, "takeover_share", "budget_share", "textfile", "repeatable", "drain"):
        assert re.search(rf"\b{word}\b", EXAMPLE), word


def test_what_is_commented_out_in_the_example_would_be_taken_too(tmp_path):
    """A reader takes the marks away."""
    bare = re.sub(r"^# (?=\[\[|\w+ = )", "", EXAMPLE, flags=re.MULTILINE)

    assert len(read(tmp_path, bare).rules[2].steps) == 3


PULLED = "import sys; {}; print('\\n'.join(sys.modules))"


def modules_after(line):
    ran = subprocess.run([sys.executable, "-I", "-c", PULLED.format(line)], capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


@pytest.mark.parametrize(
    "module", ["smtplib", "http.server", "shutil", "asyncio", "typer", "msgspec", "notbefore.logs"]
)
def test_what_only_some_need_is_not_imported(module, tmp_path):
    """It must be small: RSS at most 24 MiB idle."""
    line = "from notbefore.agent import main, starting; main._parser('x').parse_args(['run', '--config', 'x'])"

    assert module not in modules_after(line)


def test_it_pulls_in_nothing_but_the_standard_library_and_what_it_stands_on():
    """Standard library only; of the program only client, wire, core and toml_lines."""
    pulled = modules_after("import notbefore.agent.starting, notbefore.agent.checking, notbefore.agent.status_server")

    ours = {".".join(name.split(".")[:2]) for name in pulled if name.split(".")[0] == "notbefore"}
    assert ours == {"notbefore", *(f"notbefore.{part}" for part in ("agent", "client", "wire", "core", "toml_lines"))}


def test_notbefore_agent_is_handed_over_to_before_anything_else_is_imported():
    line = "sys.argv = ['notbefore', 'agent', 'example']; sys.exit = print; import notbefore.cli.entry as e; e.main()"

    assert "typer" not in modules_after(line)
