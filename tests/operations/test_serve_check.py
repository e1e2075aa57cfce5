"""`notbefore serve --check`: what the settings are, or what is wrong with them and where."""

import re
import tomllib
from pathlib import Path

import pytest

from notbefore.core.errors import Invalid
from notbefore.settings import Settings, SettingsRefused, load_settings
from notbefore.settings.shape import leaves_of
from notbefore.settings.shown import as_toml

KEY = "00112233445566778899aabbccddeeff"
OTHER_KEY = "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQ"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "notbefore.toml"

    def write(text):
        path.write_text(text)
        return path

    return write


def problems_of(file, env=None, flags=None):
    with pytest.raises(SettingsRefused) as refused:
        load_settings(file, env or {}, flags or {})
    return list(refused.value.problems)


def test_the_effective_settings_are_printed_as_toml_that_reads_back(program, file, tmp_path):
    """DESIGN §6: `notbefore serve --check` validates and prints the effective settings."""
    written = file('[metadata]\nrate_limit_per_s = 7\nlisteners = [{ address = "127.0.0.1:0", vm = "a/b" }]\n')

    ran = program(
        "serve", "--check", "--config", written, "--state", tmp_path / "s", NOTBEFORE_METADATA_FIRST_CALL_DELAY_S="1.5"
    )

    shown = tomllib.loads(ran.out)
    assert (ran.code, ran.err) == (0, "")
    assert shown["metadata"]["rate_limit_per_s"] == 7
    assert shown["metadata"]["first_call_delay_s"] == 1.5
    assert shown["metadata"]["listeners"] == [{"address": "127.0.0.1:0", "vm": "a/b"}]
    assert shown["store"]["url"] == f"sqlite:{tmp_path}/s/notbefore.db"
    assert shown["executor"]["simulate"]["duration_s"]["Redeploy"] == 60
    assert shown["metadata"]["limits"]["connections_per_vm_max"] == 64
    assert not (tmp_path / "s").exists()
    assert as_toml(load_settings(file(ran.out), {}, {})) == ran.out


def test_every_problem_is_told_with_file_line_and_key(program, file):
    """An error names file, line and key; all of them in one go, exit code 2."""
    written = file('[metadata]\nrate_limit_per_s = "fast"\nrate_limit_pers = 5\n\n[[metadata.listeners]]\nvm = "a/b"\n')

    ran = program("serve", "--check", "--config", written)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[:3] == [
        f"{written}, line 2, metadata.rate_limit_per_s: expected a number, got a string.",
        f"{written}, line 3, metadata.rate_limit_pers: there is no such key (perhaps rate_limit_per_s is meant).",
        f"{written}, line 5, metadata.listeners.0: object missing required field `address`.",
    ]


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ("[metadata]\n\nrate_limit_per_s = -1\n", 3, "metadata.rate_limit_per_s"),
        ("[metadata]\nfirst_call_delay_s = inf\n", 2, "metadata.first_call_delay_s"),
        ("[metadata]\nfallback_vm = 'nobody'\n", 2, "metadata.fallback_vm"),
        ("[metadata]\nlisteners = [\n{address='127.0.0.1:1'},\n{address='here'}]\n", 4, "metadata.listeners.1.address"),
        ("[metadata.limits]\nconnections_max = 0\n", 2, "metadata.limits.connections_max"),
        ("metadata.limits.idle_timeout_s = 0\n", 1, "metadata.limits.idle_timeout_s"),
        ("[metadata.limits]\nhead_timeout = 1\n", 2, "metadata.limits.head_timeout"),
        ("[metadata]\nlimits = 5\n", 2, "metadata.limits"),
        ("[control]\naddress = '127.0.0.1'\n", 2, "control.address"),
        ("[store]\nurl = 'etcd://h/p'\n", 2, "store.url"),
        ("[log]\nformat = 'xml'\n", 2, "log.format"),
        ("[log]\nlevel = 'loud'\n", 2, "log.level"),
        ("[executor.simulate.failure_rate]\nFreeze = 0\nReboot = 2\n", 3, "executor.simulate.failure_rate.Reboot"),
        ("executor.simulate.duration_s = {Nap = 5}\n", 1, "executor.simulate.duration_s.Nap"),
        ("[metadata]\ntrusted_proxy_key = ['abc']\n", 2, "metadata.trusted_proxy_key"),
    ],
)
def test_a_wrong_value_is_told_with_its_line_and_key(file, text, line, key):
    """What is refused can be found without searching."""
    written = file(text)

    (problem,) = problems_of(written)

    assert problem.startswith(f"{written}, line {line}, {key}: ")


def test_a_file_that_is_not_toml_is_told_with_its_line(program, file):
    """Bad TOML: the file and the line."""
    ran = program("serve", "--check", "--config", file("[metadata]\nrate_limit_per_s = = 5\n"))

    assert ran.code == 2
    assert "notbefore.toml is not TOML: " in ran.err
    assert "line 2" in ran.err


def test_a_wrong_variable_or_flag_is_told_by_its_own_name(file):
    """A bad environment variable is named, also when the file has the key right; so is a flag."""
    written = file("[metadata]\nrate_limit_per_s = 5\n")

    (variable,) = problems_of(written, {"NOTBEFORE_METADATA_RATE_LIMIT_PER_S": "fast"})
    (flag,) = problems_of(written, flags={"control": "nowhere"})

    assert variable.startswith("NOTBEFORE_METADATA_RATE_LIMIT_PER_S (metadata.rate_limit_per_s): ")
    assert flag.startswith("--control (control.address): ")


def test_a_variable_of_a_section_that_has_no_such_key_is_refused():
    """A slip in a variable's name must not pass in silence; variables of other programs are left alone."""
    with pytest.raises(Invalid, match="NOTBEFORE_METADATA_RATELIMIT is no setting"):
        load_settings(None, {"NOTBEFORE_METADATA_RATELIMIT": "5"}, {})

    assert load_settings(None, {"NOTBEFORE_URL": "http://x", "NOTBEFORE_DEBUG": "1"}, {}) == Settings()


def test_a_variable_is_a_string_where_a_string_is_wanted():
    """`NOTBEFORE_STATE=2026` names a directory, not a number."""
    assert load_settings(None, {"NOTBEFORE_STATE": "2026"}, {}).state == "2026"


def test_keys_of_proxies_are_read_in_hex_and_base64url_and_never_shown(file):
    """Secrets are redacted: one key, or two while one takes over from the other."""
    settings = load_settings(file(f'[metadata]\ntrusted_proxy_key = ["{KEY}", "{OTHER_KEY}"]\n'), {}, {})

    assert settings.metadata.proxy_keys[0] == bytes.fromhex(KEY)
    assert len(settings.metadata.proxy_keys[1]) == 24
    shown = as_toml(settings) + repr(settings)
    assert 'trusted_proxy_key = ["(redacted)", "(redacted)"]' in shown
    assert KEY not in shown
    assert OTHER_KEY not in shown


@pytest.mark.parametrize("bad", [KEY[:30], "not base64 at all, by far!", "A" * 33, f'{KEY}", "{KEY}", "{KEY}'])
def test_a_bad_key_is_refused_without_being_quoted(file, bad):
    """At least 16 bytes, hex or base64url, at most two; an error is no place for a secret."""
    (problem,) = problems_of(file(f'[metadata]\ntrusted_proxy_key = ["{bad}"]\n'))

    assert "metadata.trusted_proxy_key: " in problem
    assert bad[:16] not in problem


def test_keys_may_stand_in_a_file_of_their_own(file, tmp_path, program):
    """One key per line, in a file that is its owner's alone; the file is shown, its keys are not."""
    keys = tmp_path / "keys"
    keys.write_text(f"{KEY}\n\n{OTHER_KEY}\n")
    keys.chmod(0o600)
    written = file(f"[metadata]\ntrusted_proxy_key_file = '{keys}'\n")

    settings = load_settings(written, {}, {})
    shown = program("serve", "--check", "--config", written).out

    assert settings.metadata.proxy_keys[0] == bytes.fromhex(KEY)
    assert tomllib.loads(shown)["metadata"]["trusted_proxy_key_file"] == str(keys)
    assert KEY not in shown


@pytest.mark.parametrize(
    ("content", "mode", "says"),
    [(KEY, 0o644, "may be read by others"), ("", 0o600, "holds no key"), ("abc", 0o600, "key 1 ")],
)
def test_a_file_of_keys_that_is_open_to_others_or_holds_none_is_refused(file, tmp_path, content, mode, says):
    """A key that others can read is no secret."""
    keys = tmp_path / "keys"
    keys.write_text(content)
    keys.chmod(mode)

    (problem,) = problems_of(file(f"[metadata]\ntrusted_proxy_key_file = '{keys}'\n"))

    assert "line 2, metadata.trusted_proxy_key_file: " in problem
    assert says in problem


def test_keys_in_both_places_and_a_missing_file_of_keys_are_refused(file, tmp_path):
    """There is one place to look for what is in force."""
    gone = tmp_path / "gone"

    (both,) = problems_of(file(f"[metadata]\ntrusted_proxy_key = ['{KEY}']\ntrusted_proxy_key_file = '{gone}'\n"))
    (missing,) = problems_of(file(f"[metadata]\ntrusted_proxy_key_file = '{gone}'\n"))

    assert "not in both" in both
    assert "cannot be read: No such file" in missing


def test_an_address_that_may_not_be_listened_on_is_refused_by_the_check_too(program):
    """SPEC §2: a metadata listener on 0.0.0.0 is refused unless allowed; the check says so before the start does."""
    ran = program("serve", "--check", "--metadata", "0.0.0.0:80")

    assert ran.code == 1
    assert "may not listen on 0.0.0.0" in ran.err


def test_the_reference_names_every_key_and_is_right(file):
    """docs/reference/settings.md: its example is a settings file, and it leaves no key out."""
    page = (Path(__file__).parents[2] / "docs" / "reference" / "settings.md").read_text()
    example = re.search(r"```toml\n(.*?)```", page, re.DOTALL)[1]

    load_settings(file(example), {}, {})

    assert [path for path in leaves_of(Settings) if not re.search(rf"^{path[-1]} = ", example, re.MULTILINE)] == []
