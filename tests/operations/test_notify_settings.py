"""`[notify]`: targets that are told, checked before anything is served, and never shown with their secrets."""

import os
import signal
import tomllib

import pytest

from notbefore.settings import SettingsRefused, load_settings
from notbefore.settings.notify import TARGETS_MAX
from notbefore.settings.shown import as_toml
from receiver import OTHER_SECRET, SECRET, receiving, verified

HOOK = 'name = "ops"\nurl = "https://ops.example/hook?token=QUERYSECRET"\n'


@pytest.fixture
def written(tmp_path):
    def write(text):
        file = tmp_path / "notbefore.toml"
        file.write_text(text)
        return file

    return write


def test_what_is_shown_has_no_secret_in_it(written, tmp_path, program):
    """apprise URLs, secrets and queries stay where they are; files are named."""
    url = tmp_path / "people.url"
    url.write_text("json://127.0.0.1/APPRISESECRET\n")
    url.chmod(0o600)
    file = written(
        f'[[notify.webhook]]\n{HOOK}secret = ["{SECRET}", "{OTHER_SECRET}"]\n'
        f'[[notify.apprise]]\nname = "people"\nurl_file = "{url}"\n'
        '[[notify.apprise]]\nname = "others"\nurl = "json://APPRISESECRET@127.0.0.1"\n'
    )

    ran = program("serve", "--check", "--config", file)
    notify = tomllib.loads(ran.out)["notify"]
    settings = load_settings(file, {}, {})

    assert notify["webhook"][0]["url"] == "https://ops.example/hook?(redacted)"
    assert notify["webhook"][0]["secret"] == ["(redacted)", "(redacted)"]
    assert notify["apprise"] == [{"name": "people", "url_file": str(url)}, {"name": "others", "url": "(redacted)"}]
    for shown in (ran.out, ran.err, as_toml(settings), repr(settings)):
        assert not [one for one in (SECRET[6:], OTHER_SECRET[6:], "QUERYSECRET", "APPRISESECRET") if one in shown]


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        (f"[[notify.webhook]]\n{HOOK}", 1, "notify.webhook.0.secret"),
        (f"[[notify.webhook]]\n{HOOK}secret = ['whsec_short']\n", 4, "notify.webhook.0.secret"),
        (f"[[notify.webhook]]\n{HOOK}secret = ['{SECRET}', '{SECRET}', '{SECRET}']\n", 4, "notify.webhook.0.secret"),
        (f"[[notify.webhook]]\n{HOOK}secret_file = '/nowhere/at/all'\n", 4, "notify.webhook.0.secret_file"),
        (f"[[notify.webhook]]\nname = 'a'\nurl = 'ftp://x/'\nsecret = ['{SECRET}']\n", 3, "notify.webhook.0.url"),
        (f"[[notify.webhook]]\nname = 'a'\nurl = 'http://u:p@x/'\nsecret = ['{SECRET}']\n", 3, "notify.webhook.0.url"),
        (f"[[notify.webhook]]\nname = 'a b'\nurl = 'http://x/'\nsecret = ['{SECRET}']\n", 2, "notify.webhook.0.name"),
        ("[[notify.apprise]]\nname = 'a'\n", 1, "notify.apprise.0.url"),
        ("[notify]\nretry_first_s = 0\n", 2, "notify.retry_first_s"),
        ("[notify]\nretry_max_s = 0.5\n", 2, "notify.retry_max_s"),
        ("[notify]\nsource = 'two words'\n", 2, "notify.source"),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_key_and_no_secret(written, text, line, key):
    """Refused at start, by `serve --check` too."""
    file = written(text)

    with pytest.raises(SettingsRefused) as refused:
        load_settings(file, {}, {})

    (problem,) = refused.value.problems
    assert problem.startswith(f"{file}, line {line}, {key}: ")
    assert SECRET[6:] not in problem
    assert "u:p" not in problem


def test_a_secret_that_others_can_read_is_refused(written, tmp_path):
    """0600, as with the keys of proxies."""
    secret = tmp_path / "ops.secret"
    secret.write_text(SECRET)
    secret.chmod(0o644)

    with pytest.raises(SettingsRefused, match="may be read by others"):
        load_settings(written(f"[[notify.webhook]]\n{HOOK}secret_file = '{secret}'\n"), {}, {})


def test_names_are_one_of_a_kind_in_any_letter_case_and_targets_are_so_many(written):
    """How far a target has been told is kept under its name."""
    hook = "[[notify.webhook]]\nname = '{}'\nurl = 'http://x/'\nsecret = ['" + SECRET + "']\n"

    with pytest.raises(SettingsRefused, match="another target"):
        load_settings(written(hook.format("ops") + hook.format("OPS")), {}, {})
    with pytest.raises(SettingsRefused, match="at most 16"):
        load_settings(written("".join(hook.format(f"t{n}") for n in range(TARGETS_MAX + 1))), {}, {})


def test_a_url_that_apprise_cannot_read_is_refused_by_the_check(program, written):
    """Before anything is served."""
    ran = program("serve", "--check", "--config", written("[[notify.apprise]]\nname = 'p'\nurl = 'nonsense-SECRET'\n"))

    assert ran.code != 0
    assert "apprise cannot read the URL" in ran.err
    assert "SECRET" not in ran.err


def test_a_target_and_its_secret_change_while_the_server_runs(served, written, tmp_path):
    """SIGHUP: a new secret signs at once beside the old one; a target that is new is told from then on."""
    secret = tmp_path / "ops.secret"
    secret.touch(mode=0o600)
    secret.write_text(SECRET)
    with receiving() as first, receiving() as second:
        hook = "[[notify.webhook]]\nname = '{}'\nurl = '{}'\nsecret_file = '" + str(secret) + "'\n"
        file = written(hook.format("ops", first.url))
        server = served("--demo", "--config", str(file))
        first.wait(lambda came: len(came) >= 1)
        secret.write_text(f"{OTHER_SECRET}\n{SECRET}\n")
        file.write_text(hook.format("ops", first.url) + hook.format("new", second.url))
        os.kill(server.process.pid, signal.SIGHUP)
        # Until the new target is there, changes are told to the old one alone.
        for n in range(10_000):
            server.control("PUT", f"/v1/hosts/h-{n}", {"executor": "simulate"})
            if second.came:
                break
        came = first.wait(lambda came: second.came[0].id in {one.id for one in came})
        log = server.log.read_text()

    assert verified(came[-1].headers, came[-1].body, OTHER_SECRET)
    assert verified(came[-1].headers, came[-1].body, SECRET)
    assert "key=notify.webhook" in log
    assert SECRET[6:] not in log
    assert OTHER_SECRET[6:] not in log
