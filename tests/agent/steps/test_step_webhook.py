"""`webhook` on real sockets: signed, repeated while there is time, and silent about what is secret."""

import logging
import socket
import ssl
import threading
from contextlib import contextmanager

import pytest
from certificates import made_certificate
from step_runs import Aside, errand_of, made, run

from notbefore.agent.steps.step import Phase
from receiver import OTHER_SECRET, SECRET, receiving, verified

HOSTILE = "a\r\nX-Injected: yes"


@pytest.fixture
def receiver():
    with receiving() as opened:
        yield opened


@pytest.fixture
def secret_file(tmp_path):
    file = tmp_path / "ops.secret"
    file.write_text(f"{SECRET}\n{OTHER_SECRET}\n")
    file.chmod(0o600)
    return str(file)


def test_the_errand_is_one_post_of_json(receiver):
    result = run(made("webhook", url=receiver.url), sentence="a Reboot is coming", raw={"Colour": "red"})

    (came,) = receiver.came
    told = came.event
    assert result.ok, result
    assert told["event"].pop("Colour") == "red"
    assert told == {
        "phase": "do",
        "vm": "web-1",
        "rule": "reboots",
        "step": "drain",
        "reason": "a Reboot is coming",
        "deadline": "2036-09-19T18:29:47Z",
        "event": {
            "EventId": "602D9444-D2CD-49C7-8624-8643E7171297",
            "EventStatus": "Scheduled",
            "EventType": "Reboot",
            "ResourceType": "VirtualMachine",
            "Resources": ["web-1", "web-2"],
            "NotBefore": "2036-09-19T18:29:47Z",
            "Description": "Host server is undergoing maintenance.",
            "EventSource": "Platform",
            "DurationInSeconds": 9,
        },
    }
    assert came.headers["Content-Type"] == "application/json"
    assert "webhook-signature" not in came.headers


def test_it_is_signed_as_the_servers_own_webhooks_are(receiver, secret_file):
    """Standard Webhooks; verified with the function that the how-to gives to its readers. Both secrets sign."""
    run(made("webhook", url=receiver.url, secret_file=secret_file))

    (came,) = receiver.came
    assert verified(came.headers, came.body, SECRET)
    assert verified(came.headers, came.body, OTHER_SECRET)
    assert not verified(came.headers, came.body + b" ", SECRET)


def test_do_undo_and_alert_are_told_apart(receiver):
    step = made("webhook", url=receiver.url, headers={"Authorization": "Bearer hunter2"})
    for phase in Phase:
        assert run(step, phase).ok

    assert [came.event["phase"] for came in receiver.came] == ["do", "undo", "alert"]
    assert {came.headers["Authorization"] for came in receiver.came} == {"Bearer hunter2"}
    assert step.has_undo()
    assert not made("webhook", url=receiver.url, undo=False).has_undo()


@pytest.mark.parametrize("first", [500, 503, 408, 425, (429, {"Retry-After": "0"}), None])
def test_what_may_pass_is_tried_again_under_the_same_id(receiver, first):
    """Retries with back-off; a receiver can tell a try from news."""
    answers = iter([first, first, 204])
    receiver.answers = lambda _event: next(answers)

    result = run(made("webhook", url=receiver.url))

    assert result.ok, result
    assert len(receiver.came) == 3
    assert len({came.headers["webhook-id"] for came in receiver.came}) == 1


@pytest.mark.parametrize("status", [400, 401, 404, 410, (302, {"Location": "http://127.0.0.1:1/"}), 304])
def test_a_refusal_is_not_tried_again_and_no_redirect_is_followed(receiver, status):
    receiver.answers = lambda _event: status
    code = status[0] if isinstance(status, tuple) else status

    result = run(made("webhook", url=receiver.url))

    assert not result.ok
    assert result.sentence == f"http://127.0.0.1:{receiver.port}/… answered {code}"
    assert len(receiver.came) == 1


def test_there_is_no_try_that_the_limit_leaves_no_room_for(receiver):
    receiver.answers = lambda _event: (503, {"Retry-After": "3600"})

    result = run(made("webhook", url=receiver.url))

    assert not result.ok
    assert result.sentence.endswith("answered 503; there is no time for another try")
    assert len(receiver.came) == 1


def test_nobody_there_is_a_failure_when_the_time_is_over():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    step = made("webhook", url=f"http://127.0.0.1:{port}/")

    result = run(step, limit_s=2)

    assert not result.ok
    assert "was not reached: Connection refused" in result.sentence
    assert "nobody listens" in step.problems()[0]


@contextmanager
def listening(answered):
    """A server of one connection, in its own hands: `answered(line)`."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        came = threading.Event()

        def serve():
            line, _ = server.accept()
            with line:
                came.set()
                answered(line)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/hook", came


def silent(line):
    while line.recv(4096):
        pass


def dripping(line):
    """An answer that comes byte by byte and never ends."""
    line.recv(65536)
    pause = threading.Event()
    try:
        while not pause.wait(0.01):
            line.sendall(b"H")
    except OSError:
        pass


@pytest.mark.parametrize("server", [silent, dripping])
def test_a_receiver_that_hangs_keeps_nobody_past_the_limit(server):
    with listening(server) as (url, _):
        result = run(made("webhook", url=url), limit_s=0.5)

    assert not result.ok
    assert "its time of 0.5 s was over" in result.sentence or "not reached" in result.sentence


def test_a_run_is_cut_off_while_it_waits_for_an_answer():
    with listening(silent) as (url, came):
        aside = Aside(made("webhook", url=url))
        assert came.wait(60)
        aside.cut_off.set()

        assert aside.result().sentence == "no answer yet when it was cut off"


def test_a_run_is_cut_off_between_two_tries(receiver):
    receiver.answers = lambda _event: (503, {"Retry-After": "30"})
    aside = Aside(made("webhook", url=receiver.url))
    receiver.wait(lambda came: came)
    aside.cut_off.set()

    assert not aside.result().ok
    assert len(receiver.came) == 1


def test_no_text_of_an_event_becomes_a_header(receiver):
    run(made("webhook", url=receiver.url), description=HOSTILE, type=HOSTILE, id=HOSTILE, resources=("\ud800",))

    (came,) = receiver.came
    assert "X-Injected" not in came.headers
    assert came.event["event"]["Description"] == HOSTILE


def test_nothing_secret_is_shown_or_logged(receiver, secret_file, caplog):
    """Chats put their secret into the path; headers carry tokens."""
    caplog.set_level(logging.DEBUG)
    url = f"http://127.0.0.1:{receiver.port}/services/T0/hunter2?key=hunter3"
    step = made("webhook", url=url, secret_file=secret_file, headers={"Authorization": "Bearer hunter4"})
    receiver.answers = lambda _event: 403

    said = [run(step).sentence, *map(step.shown, Phase), *step.problems(), caplog.text, repr(step)]

    assert not any(word in text for text in said for word in ("hunter", SECRET[6:], OTHER_SECRET[6:]))
    assert step.shown(Phase.DO) == f"POST phase do to http://127.0.0.1:{receiver.port}/…, signed"


# -- proxies


@contextmanager
def proxying():
    """A proxy that takes everything for itself, and what it was asked."""
    asked = []

    def relay(line):
        said = b""
        while not said.endswith(b"}}"):
            said += line.recv(65536)
        asked.append(said.decode())
        line.sendall(b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n")

    with listening(relay) as (url, _):
        yield url.removesuffix("/hook").replace("//", "//me:hunter2@"), asked


def test_proxies_of_the_environment_are_used_only_when_that_is_asked_for(receiver, monkeypatch):
    """`proxy = "environment"` lets them."""
    with proxying() as (proxy, asked):
        monkeypatch.setenv("http_proxy", proxy)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        straight = run(made("webhook", url=receiver.url))
        assert (straight.ok, len(receiver.came), asked) == (True, 1, [])

        through = run(made("webhook", url=receiver.url, proxy="environment"))

    assert through.ok, through
    assert len(receiver.came) == 1
    assert asked[0].startswith(f"POST {receiver.url} HTTP/1.1")
    assert "Proxy-Authorization: Basic bWU6aHVudGVyMg==" in asked[0]


def test_no_proxy_is_heeded(receiver, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    assert run(made("webhook", url=receiver.url, proxy="environment")).ok


def test_a_proxy_that_is_none_of_http_is_refused(monkeypatch):
    monkeypatch.setenv("http_proxy", "socks5://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    result = run(made("webhook", url="http://ops.invalid/", proxy="environment"))

    assert result.sentence == "the proxy that the environment names is no http proxy"


# -- TLS


@pytest.mark.part("openssl")
def test_https_trusts_the_authority_that_is_named_and_no_other(tmp_path):
    made_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")

    def answered(line):
        try:
            with context.wrap_socket(line, server_side=True) as tls:
                asked = b""
                while not asked.endswith(b"}}"):
                    asked += tls.recv(65536)
                tls.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        except OSError:
            pass

    with listening(answered) as (url, _):
        trusted = run(made("webhook", url=url.replace("http:", "https:"), ca_file=str(tmp_path / "cert.pem")))
    with listening(answered) as (url, _):
        untrusted = run(made("webhook", url=url.replace("http:", "https:")))

    assert trusted.ok, trusted
    assert not untrusted.ok
    assert "its certificate is not good: self-signed certificate" in untrusted.sentence
    assert "another try" not in untrusted.sentence


@pytest.mark.part("openssl")
def test_https_goes_through_a_tunnel_of_the_proxy_which_reads_none_of_it(tmp_path, monkeypatch):
    """The proxy is asked to connect; the certificate is that of the receiver."""
    made_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    asked, told = [], []

    def tunnel(line):
        asked.append(line.recv(65536).decode())
        line.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        with context.wrap_socket(line, server_side=True) as tls:
            said = b""
            while not said.endswith(b"}}"):
                said += tls.recv(65536)
            told.append(said.decode())
            tls.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    with listening(tunnel) as (url, _):
        monkeypatch.setenv("https_proxy", url.removesuffix("/hook").replace("//", "//me:hunter2@"))
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        table = {"url": "https://127.0.0.1:9/hook", "ca_file": str(tmp_path / "cert.pem"), "proxy": "environment"}
        result = run(made("webhook", **table))

    assert result.ok, result
    assert asked[0].startswith("CONNECT 127.0.0.1:9 HTTP/1.")
    assert "Proxy-Authorization: Basic bWU6aHVudGVyMg==" in asked[0]
    assert told[0].startswith("POST /hook HTTP/1.1")
    assert "Proxy-Authorization" not in told[0]


def test_an_errand_for_an_alert_says_what_is_wrong(receiver):
    """[[alert]]: tells the administrator of failures."""
    made("webhook", url=receiver.url).run(errand_of(Phase.ALERT, "step drain failed"), 60.0, threading.Event())

    assert receiver.came[0].event["reason"] == "step drain failed"
