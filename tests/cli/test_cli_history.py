"""history on the command line, against a real server: filters, --watch, --export, --verify."""

import io
import json
import signal
from contextlib import contextmanager

import msgspec
import pytest
from cli_runs import PROGRAM, Cli, ended

from lab import lab_settings, open_lab
from notbefore.cli.history_export import written
from notbefore.clock import RealTime
from notbefore.control_client import ControlApi
from notbefore.settings import HistorySettings

DAY_S = 24 * 3600


def cli_for(lab, state):
    return Cli(
        {
            "NOTBEFORE_URL": lab.server.control_url,
            "NOTBEFORE_TOKEN": lab.server.token,
            "NOTBEFORE_STATE": str(state),
            "NOTBEFORE_ENDPOINT": lab.server.metadata_urls[0],
        }
    )


@pytest.fixture
def on_demo(demo, tmp_path):
    return cli_for(demo, tmp_path / "client")


def busy_day(lab):
    """Something of everything: a restart approved, one cancelled, one live, a queue, a scope that came and went."""
    lab.made("demo", "FrontEnd_IN_0", "restart")
    assert lab.approve(lab.history()[-1]["changes"][0]["event"]["id"]).status == 200
    lab.advance(60)
    event = lab.made("demo", "FrontEnd_IN_1", "redeploy")["id"]
    lab.control("POST", f"/v1/events/{event}/cancel")
    lab.declare("gone", "g-1")
    lab.control("DELETE", "/v1/scopes/gone")
    lab.declare("Shop", {"name": "s-1", "spot": True, "tags": {"k": "v"}}, {"name": "s-2"}, listening="never")
    lab.made("shop", "s-1", "evict")
    lab.made("shop", "s-2", "terminate")
    lab.advance(60)
    lab.control("PUT", "/v1/hosts/rack-1", {"executor": "simulate"})
    lab.maintain("demo", "Freeze")


@contextmanager
def watching(cli, *words):
    process = cli.process(PROGRAM, "history", "--watch", *words)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


# -- listing


def test_history_is_filtered_as_the_api_filters_it(demo, on_demo):
    """The same filters on the command line."""
    busy_day(demo)

    assert "No history." in on_demo("history", "--vm", "nobody").out
    (record,) = on_demo("history", "--what", "cancelled", "--by", "ADMIN", "--json").json
    assert record["changes"][0]["event"]["vms"] == ["FrontEnd_IN_1"]
    assert len(on_demo("history", "--scope", "SHOP", "--json").json) == len(demo.history("scope=shop"))


def test_a_time_ago_is_measured_by_the_servers_clock(demo, on_demo):
    """History goes by the domain's clock, which a test may have turned."""
    demo.made("demo", "FrontEnd_IN_0", "restart")
    demo.advance(3 * 3600)

    since = on_demo("history", "--since", "1h", "--json").json
    until = on_demo("history", "--until", "1h", "--what", "scheduled", "--json").json

    assert since == []
    assert len(until) == 1
    on_demo("history", "--since", "yesterday").is_wrong_usage_of("--since", "duration")


@pytest.mark.parametrize(
    "words",
    [
        ("--watch", "--export", "-"),
        ("--verify", "--scope", "demo"),
        ("--from", "x.jsonl"),
        ("--watch", "--since", "1h"),
        ("--export", "-", "--limit", "3"),
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(on_demo, words):
    """Exit code 2, and which one."""
    on_demo("history", *words).is_wrong_usage_of("--")


def test_who_gets_a_part_of_it_is_told_how_to_go_on(demo, on_demo):
    """The rest is not passed over in silence."""
    busy_day(demo)

    ran = on_demo("history", "--after", "0", "--limit", "2", "--json")

    assert f"--after {ran.json[-1]['revision']}" in ran.err


# -- following


def test_watch_shows_the_newest_and_then_each_record_as_it_comes(demo, on_demo):
    """A line at a time, also into a pipe."""
    demo.made("demo", "FrontEnd_IN_0", "restart")
    with watching(on_demo) as process:
        assert "declared" in process.stdout.readline()
        assert "FrontEnd" not in process.stdout.readline()

        event = demo.made("demo", "BackEnd_IN_1", "restart")["id"]

        assert event in process.stdout.readline()


def test_watch_goes_on_where_it_was_when_the_server_comes_back(tmp_path):
    """With the last id: nothing lost, nothing twice."""
    settings = lab_settings(tmp_path / "state", demo=True)
    with open_lab(settings) as lab:
        port = lab.control_address[1]
        process = cli_for(lab, tmp_path).process(PROGRAM, "history", "--watch", "--json")
        assert json.loads(process.stdout.readline())["revision"] == 1
        lab.made("demo", "FrontEnd_IN_0", "restart")
        assert json.loads(process.stdout.readline())["revision"] == 2
    control = msgspec.structs.replace(settings.control, address=f"127.0.0.1:{port}")
    with open_lab(msgspec.structs.replace(settings, control=control)) as lab:
        lab.made("demo", "BackEnd_IN_1", "restart")
        came = json.loads(process.stdout.readline())
        assert came == lab.history()[-1]
        process.send_signal(signal.SIGINT)
        ran = ended(process)

    assert ran.code == 130
    assert "Traceback" not in ran.err
    assert ran.out == ""


def test_watch_takes_the_filters_too(demo, on_demo):
    """Only what is asked for."""
    with watching(on_demo, "--scope", "SHOP", "--json") as process:
        busy_day(demo)

        first = json.loads(process.stdout.readline())

    assert first["scope"] == "Shop"


def test_a_server_that_was_never_there_is_refused(on_demo):
    """Only a server that was there is waited for."""
    on_demo("history", "--watch", NOTBEFORE_URL="http://127.0.0.1:1").is_refused_with("No notbefore server answers")


def test_a_token_that_is_revoked_ends_the_watch(demo, on_demo):
    """A revoked token is refused at once."""
    secret = demo.control("POST", "/v1/tokens", {"name": "eye", "role": "viewer"}).json["secret"]
    process = Cli({**on_demo.env, "NOTBEFORE_TOKEN": secret}).process(PROGRAM, "history", "--watch")
    assert process.stdout.readline()

    demo.control("DELETE", "/v1/tokens/eye")
    ran = ended(process)

    assert ran.code == 1
    assert "token" in ran.err
    assert secret not in ran.err + ran.out


# -- exporting


def test_export_writes_every_record_as_one_line(demo, on_demo, tmp_path):
    """JSON lines, the whole history, as the API shows it."""
    busy_day(demo)
    file = tmp_path / "out.jsonl"

    ran = on_demo("history", "--export", str(file))

    assert ran.code == 0
    assert [json.loads(line) for line in file.read_text().splitlines()] == demo.history("after=0&limit=1000")
    assert file.stat().st_mode & 0o777 == 0o600
    assert f"--after {demo.history()[-1]['revision']}" in ran.err
    assert list(tmp_path.glob("*.part")) == []


def test_export_goes_on_from_a_revision(demo, on_demo):
    """Resumable: the parts put together are the whole."""
    busy_day(demo)
    whole = on_demo("history", "--export", "-").lines
    middle = json.loads(whole[3])["revision"]

    assert on_demo("history", "--export", "-", "--after", str(middle)).lines == whole[4:]


def test_an_export_that_takes_long_says_how_far_it_is(demo, capsys):
    """Progress on stderr once it takes more than two seconds; here time flies."""
    busy_day(demo)

    class FlyingTime(RealTime):
        now_s = 0.0

        def steady_s(self):
            self.now_s += 3.0
            return self.now_s

    with ControlApi(demo.server.control_url, demo.server.token) as api:
        number, last = written(api, {}, 0, io.StringIO(), FlyingTime())

    assert f"{number} records so far, up to revision {last}" in capsys.readouterr().err


def test_export_replaces_no_file(on_demo, tmp_path):
    """A file that is there may be the beginning of what is being gone on with."""
    file = tmp_path / "out.jsonl"
    file.write_text("precious")

    on_demo("history", "--export", str(file)).is_refused_with("is there already")

    assert file.read_text() == "precious"


def test_an_export_that_fails_leaves_no_file(on_demo, tmp_path):
    """A file under its name is whole."""
    file = tmp_path / "out.jsonl"

    on_demo("history", "--export", str(file), NOTBEFORE_URL="http://127.0.0.1:1").is_refused_with("No notbefore server")
    on_demo("history", "--export", str(tmp_path / "no" / "out")).is_refused_with("Cannot write")

    assert list(tmp_path.glob("out*")) == []


# -- replaying


def test_history_replayed_from_empty_gives_the_present_state(demo, on_demo):
    """Must show: history replayed from empty gives the present state."""
    busy_day(demo)

    ran = on_demo("history", "--verify")

    assert ran.code == 0, ran.err
    assert f"{len(demo.history('after=0&limit=1000'))} records" in ran.out
    assert "2 scopes and 2 live events" in ran.out


def test_what_history_does_not_lead_to_is_said(demo, on_demo):
    """Exit code 1, and one line for each difference: here a record was taken out by hand."""
    busy_day(demo)
    declared = demo.history("scope=shop&after=0")[0]["revision"]
    scheduled = demo.history("what=scheduled&after=0")[-1]["revision"]
    demo.run(demo.server.node.store.retire([declared, scheduled]))

    ran = on_demo("history", "--verify")

    ran.is_refused_with("does not lead to the present state of 2 scopes")
    assert "scope Shop: not in history" in ran.out
    assert ", event " in ran.out
    assert "not in history" in ran.out


def test_verifying_goes_on_while_the_server_works(tmp_path):
    """A scope is judged when nothing happened to it meanwhile."""
    with open_lab(lab_settings(tmp_path / "state", clock="real", demo=True)) as lab:
        cli = cli_for(lab, tmp_path)
        for n in range(30):
            lab.declare(f"s-{n}", f"vm-{n}")
        process = cli.process(PROGRAM, "history", "--verify")
        n = 0
        while process.poll() is None and n < 200:
            n += 1
            lab.declare(f"t-{n}", f"vm-{n}")
        ran = ended(process)

    assert ran.code == 0, ran


# -- what was retired


@pytest.fixture
def retired(tmp_path):
    """A server whose history of the first day has gone to its sink."""
    history = HistorySettings(keep_days=10, sink=str(tmp_path / "sink"))
    settings = msgspec.structs.replace(lab_settings(tmp_path / "state", demo=True), history=history)
    with open_lab(settings) as lab:
        busy_day(lab)
        ended_event = lab.history("what=cancelled")[0]["changes"][0]["event"]["id"]
        before = lab.history("after=0&limit=1000")
        lab.advance(12 * DAY_S)
        lab.made("demo", "BackEnd_IN_1", "restart")
        yield lab, cli_for(lab, tmp_path / "client"), before, ended_event, tmp_path / "sink"


def test_the_sink_holds_the_lines_that_export_would_have_written(retired):
    """One format: what was retired and what was exported fit together."""
    lab, cli, before, _, sink = retired
    kept = [json.loads(line) for file in sorted(sink.iterdir()) for line in file.read_text().splitlines()]
    left = [json.loads(line) for line in cli("history", "--export", "-").lines]

    assert {one["revision"] for one in kept} & {one["revision"] for one in left} == set()
    both = {one["revision"]: one for one in kept + left}
    assert all(both[one["revision"]] == one for one in before)
    assert lab.control("GET", "/v1/history").json["retired_through"] >= before[0]["revision"]


def test_an_event_that_was_retired_is_unknown_and_the_hint_says_why(retired):
    """Honest: it can no longer be shown, and not because it never was."""
    lab, _, _, ended_event, _ = retired
    for path in (f"/v1/events/{ended_event}", f"/v1/events/{ended_event}/explain"):
        reply = lab.control("GET", path)

        assert reply.status == 404
        assert "more than 10 days ago was retired" in reply.json["error"]["hint"]


def test_the_present_state_follows_from_the_sink_and_the_rest(retired):
    """History replayed from empty, wherever its beginning is kept."""
    lab, cli, _, _, sink = retired
    files = [word for file in sorted(sink.iterdir()) for word in ("--from", str(file))]

    cli("history", "--verify").is_refused_with("were retired", "--from")
    ran = cli("history", "--verify", *files, *files)

    assert ran.code == 0, ran
    assert f"up to revision {lab.history()[-1]['revision']}" in ran.out


def test_a_file_that_holds_no_history_is_refused_with_its_line(retired, tmp_path):
    """File and line."""
    _, cli, _, _, sink = retired
    file = tmp_path / "bad.jsonl"
    file.write_text(next(sink.iterdir()).read_text() + '{"no": "record"}\n')
    lines = len(file.read_text().splitlines())

    cli("history", "--verify", "--from", str(file)).is_refused_with(f"{file}, line {lines}")
    cli("history", "--verify", "--from", str(tmp_path / "none.jsonl")).is_refused_with("Cannot read")


def test_who_resumes_from_before_what_was_retired_is_told(retired):
    """A gap is never passed over in silence."""
    _, cli, before, _, _ = retired
    with watching(cli, "--after", "0", "--json") as process:
        assert json.loads(process.stdout.readline())["revision"] > before[0]["revision"]
        assert "were retired from history" in process.stderr.readline()
    assert "were retired" in cli("history", "--export", "-").err
