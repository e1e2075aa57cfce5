"""Steps as agent.toml describes them: what is taken, what is refused, by which key."""

import subprocess
import sys
from pathlib import Path

import pytest
from step_runs import GOOD, HAPROXY, MAIL, errand_of, made, run

from notbefore.agent.steps.attempt import Attempt
from notbefore.agent.steps.step import KINDS, Phase, WrongSetting, made_step
from receiver import SECRET


def refusal(kind, table):
    with pytest.raises(WrongSetting) as caught:
        made_step(kind, table, Path("/"))
    return caught.value


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_made_from_its_table_beside_what_every_step_may_say(kind):
    """name, kind, limit, repeatable and on_failure are the rule's, not the kind's."""
    common = {"name": "x", "kind": kind, "limit": "60s", "repeatable": False, "on_failure": "stop"}
    step = made_step(kind, {**common, **GOOD[kind]}, Path("/"))

    assert step.kind == kind
    assert step.has_undo() is (kind != "command")
    assert all(step.shown(phase) for phase in Phase)


def test_a_kind_that_there_is_not_is_refused_with_those_there_are():
    assert "command, scripts" in refusal("shell", {}).sentence


@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_key_is_refused_by_name(kind):
    """Unknown keys are refused."""
    wrong = refusal(kind, {**GOOD[kind], "colour": "red"})

    assert wrong.key == "colour"
    assert "no such key" in wrong.sentence


@pytest.mark.parametrize(
    ("kind", "table", "key"),
    [
        ("command", {}, "do"),
        ("command", {"do": "rm -rf /"}, "do"),
        ("command", {"do": []}, "do"),
        ("command", {"do": [""]}, "do"),
        ("command", {"do": ["a\0b"]}, "do"),
        ("command", {"do": ["true"], "undo": [1]}, "undo"),
        ("command", {"do": ["true"], "env": {"A=B": "c"}}, "env"),
        ("command", {"do": ["true"], "env": {"A": 1}}, "env"),
        ("command", {"do": ["true"], "kill_group": "yes"}, "kill_group"),
        ("scripts", {}, "directory"),
        ("systemd", {}, "units"),
        ("systemd", {"units": ["--now"]}, "units"),
        ("command", {"do": ["~no-such-user/bin/drain"]}, "do"),
        ("command", {"do": ["true"], "undo": ["~no-such-user/bin/undo"]}, "undo"),
        ("command", {"do": ["true"], "cwd": "~no-such-user"}, "cwd"),
        ("scripts", {"directory": "~no-such-user/scripts"}, "directory"),
        ("systemd", {"units": ["a b"]}, "units"),
        ("systemd", {"units": ["a"], "do": "mask"}, "do"),
        ("haproxy", {"servers": ["a/b"]}, "socket"),
        ("haproxy", {**HAPROXY, "servers": ["a/b; disable server a/c"]}, "servers"),
        ("haproxy", {**HAPROXY, "servers": ["a"]}, "servers"),
        ("haproxy", {**HAPROXY, "socket": "192.0.2.1:9999"}, "socket"),
        ("haproxy", {**HAPROXY, "socket": "lb.example:9999"}, "socket"),
        ("haproxy", {**HAPROXY, "socket": "127.0.0.1:99999"}, "socket"),
        ("webhook", {"url": "ftp://x"}, "url"),
        ("webhook", {"url": "http://me:pw@x/"}, "url"),
        ("webhook", {"url": "http://[x"}, "url"),
        ("webhook", {"url": "http://x/", "headers": {"A": "b\r\nC: d"}}, "headers"),
        ("webhook", {"url": "http://x/", "headers": {"A: B": "c"}}, "headers"),
        ("webhook", {"url": "http://x/", "headers": {"Content-Length": "3"}}, "headers"),
        ("webhook", {"url": "http://x/", "headers": {"webhook-id": "3"}}, "headers"),
        ("webhook", {"url": "http://x/", "proxy": "http://p"}, "proxy"),
        ("webhook", {"url": "http://x/", "secret_file": "nowhere"}, "secret_file"),
        ("mail", {**MAIL, "from": "a@b.c\nBcc: d@e.f"}, "from"),
        ("mail", {**MAIL, "to": ["a@b.c, d@e.f"]}, "to"),
        ("mail", {**MAIL, "to": ["a@b.c\nx"]}, "to"),
        ("mail", {**MAIL, "to": []}, "to"),
        ("mail", {**MAIL, "host": "a b"}, "host"),
        ("mail", {**MAIL, "port": 0}, "port"),
        ("mail", {**MAIL, "port": True}, "port"),
        ("mail", {**MAIL, "security": "ssl"}, "security"),
        ("mail", {**MAIL, "user": "me"}, "password_file"),
        ("log", {"level": "loud"}, "level"),
        ("log", {"message": "two\nlines"}, "message"),
        ("notify", {}, "url"),
        ("notify", {"url": "json://x", "url_file": "y"}, "url"),
        ("notify", {"url": "x"}, "url"),
    ],
)
def test_a_key_of_the_wrong_shape_is_refused_by_name(kind, table, key):
    assert refusal(kind, table).key == key


@pytest.mark.parametrize(
    ("kind", "key", "content"),
    [
        ("webhook", "secret_file", SECRET),
        ("mail", "password_file", "hunter2"),
        ("notify", "url_file", "json://x/hunter2"),
    ],
)
def test_a_secret_that_others_may_read_is_refused_and_not_quoted(kind, key, content, tmp_path):
    """Secrets in files: 0600, or readable by a group of services."""
    table = {name: value for name, value in GOOD[kind].items() if kind != "notify"}
    table |= {key: "secret", **({"user": "me"} if kind == "mail" else {})}
    file = tmp_path / "secret"
    file.write_text(f"{content}\n")
    file.chmod(0o644)

    with pytest.raises(WrongSetting) as caught:
        made_step(kind, table, tmp_path)
    file.chmod(0o640)
    step = made_step(kind, table, tmp_path)

    assert caught.value.key == key
    assert "chmod 600" in caught.value.sentence
    assert content not in f"{caught.value} {step.shown(Phase.DO)} {step!r}"


@pytest.mark.parametrize("content", ["", "not base64!", "AAAA", f"{SECRET}\n{SECRET}\n{SECRET}"])
def test_a_secret_that_cannot_sign_is_refused_without_being_quoted(content, tmp_path):
    """24 to 64 bytes in base64, one or two of them."""
    (tmp_path / "secret").write_text(content)
    (tmp_path / "secret").chmod(0o600)

    with pytest.raises(WrongSetting) as caught:
        made_step("webhook", {"url": "http://x/", "secret_file": "secret"}, tmp_path)

    assert caught.value.key == "secret_file"
    assert not content or content not in str(caught.value)


def test_a_password_is_not_sent_in_the_clear_to_another_machine(tmp_path):
    (tmp_path / "secret").write_text("hunter2")
    (tmp_path / "secret").chmod(0o600)
    table = {**MAIL, "host": "mail.example", "security": "none", "user": "me", "password_file": "secret"}

    with pytest.raises(WrongSetting) as caught:
        made_step("mail", table, tmp_path)

    assert caught.value.key == "security"


class BrokenStep(Attempt):
    """A step with a mistake in it."""

    kind = "broken"

    def attempt(self, errand, until):
        raise KeyError("hunter2")


def test_a_run_never_raises_and_tells_no_more_than_the_kind_of_error():
    result = run(BrokenStep())

    assert not result.ok
    assert result.sentence == "the step broke: KeyError"


@pytest.mark.parametrize("kind", ["scripts", "systemd", "haproxy"])
def test_what_tells_nobody_takes_no_alerts(kind):
    result = run(made(kind, **GOOD[kind]), Phase.ALERT)

    assert not result.ok
    assert "alerts need" in result.sentence


def test_an_idle_agent_holds_only_the_kinds_that_its_rules_name():
    """Small: what only some need is imported when first used."""
    script = (
        "import sys; from pathlib import Path; from notbefore.agent.steps.step import made_step;"
        "made_step('log', {}, Path('/'));"
        "made_step('command', {'do': ['true']}, Path('/'));"
        "print(sorted({'smtplib', 'subprocess', 'urllib.request', 'csv', 'apprise'} & set(sys.modules)))"
    )

    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_line_for_people_is_one_line_whatever_the_event_says():
    """Event text comes from outside."""
    from notbefore.agent.steps.wording import LINE_MAX, line_of

    plain = line_of(errand_of(sentence="step drain failed"))
    odd = line_of(errand_of(type="Re\nboot\x1b[31m\ud800", resources=("a\r\nb",) * 500))

    assert plain == ("web-1: Reboot of web-1, web-2 is Scheduled, not before 2036-09-19T18:29:47Z: step drain failed")
    assert odd.isprintable()
    assert len(odd) == LINE_MAX


def test_an_alert_about_the_agent_itself_speaks_of_no_event():
    """A journal that cannot be written concerns no event."""
    from notbefore.agent.steps.wording import errand_json, line_of

    errand = errand_of(Phase.ALERT, "the journal has a hole", id="", type="", resources=())

    assert line_of(errand) == "web-1: the journal has a hole"
    assert errand_json(errand)["event"] is None
