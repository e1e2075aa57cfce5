"""`mail` to a mail server on a real socket: what arrives, what is refused, and what text from outside cannot do."""

import email
import logging
import ssl
from email.policy import default

import pytest
from certificates import made_certificate
from smtp_server import mail_server
from step_runs import Aside, made, run

from notbefore.agent.steps.step import Phase

WHO = {"from": "agent@example.com", "to": ["admin@example.com", "night-shift@example.com"]}


@pytest.fixture
def server():
    with mail_server() as opened:
        yield opened


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mail")
    made_certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context, str(folder / "cert.pem")


def step_to(server, **table):
    return made("mail", **{"host": "127.0.0.1", "port": server.port, "security": "none", **WHO, **table})


def letter(server):
    (text,) = server.letters
    return email.message_from_string(text, policy=default)


def test_a_letter_is_plain_text_with_the_event_in_its_subject(server):
    result = run(step_to(server), Phase.ALERT, sentence="step drain failed: exit code 3")

    assert result.ok, result
    came = letter(server)
    assert server.recipients == ["admin@example.com", "night-shift@example.com"]
    assert came["From"] == "agent@example.com"
    assert came["To"] == "admin@example.com, night-shift@example.com"
    assert came["Subject"].strip() == "[notbefore] web-1: Reboot of web-1, web-2: step drain failed: exit code 3"
    assert came["Message-ID"].endswith("@example.com>")
    assert came["Auto-Submitted"] == "auto-generated"
    assert came.get_content_type() == "text/plain"
    assert came.get_content().replace("\r\n", "\n") + "\n" == (
        "web-1: Reboot of web-1, web-2: step drain failed: exit code 3\n\n"
        "phase: alert\nvm: web-1\nrule: reboots\nstep: drain\nreason: step drain failed: exit code 3\n"
        "deadline: 2036-09-19T18:29:47Z\n\n"
        "EventId: 602D9444-D2CD-49C7-8624-8643E7171297\nEventStatus: Scheduled\nEventType: Reboot\n"
        "ResourceType: VirtualMachine\nResources: web-1, web-2\nNotBefore: 2036-09-19T18:29:47Z\n"
        "Description: Host server is undergoing maintenance.\nEventSource: Platform\nDurationInSeconds: 9\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "x\r\nBcc: thief@example.com",
        "x\nBcc: thief@example.com",
        "x\r\n\r\n.\r\nRCPT TO:<thief@example.com>",
        "x\x0bBcc: thief@example.com\u2028Bcc: thief@example.com\x85y",
        "\ud800 =?utf-8?q?=0ABcc:_thief?=",
        "ä" * 10_000,
    ],
)
def test_no_text_of_an_event_adds_a_header_a_recipient_or_a_command(server, text):
    """Event text comes from outside."""
    result = run(step_to(server), type=text, description=text, resources=(text,), id=text, raw={text: text})

    assert result.ok, result
    came = letter(server)
    assert server.recipients == WHO["to"]
    assert set(came.keys()) == {
        "From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "Content-Type", "Content-Transfer-Encoding",
        "MIME-Version",
    }  # fmt: skip
    assert "\n" not in server.letters[0].replace("\r\n", "")
    assert [line.lower() for line in server.lines if "rcpt" in line.lower()] == [
        f"rcpt to:<{who}>" for who in WHO["to"]
    ]


def test_a_refusal_is_a_failure_and_is_not_tried_again(server):
    server.answers["MAIL"] = ["550 not from\x1b you"]

    result = run(step_to(server))

    assert not result.ok
    assert result.sentence == "127.0.0.1 answered 550: not from  you"
    assert len([line for line in server.lines if line.startswith("mail")]) == 1


def test_a_letter_that_not_everybody_is_taken_for_has_failed(server):
    """Fail-closed: the one who was to know does not."""
    server.answers["RCPT"] = ["250 ok", "550 no such user"]

    result = run(step_to(server))

    assert not result.ok
    assert result.sentence == "127.0.0.1 answered 550 for night-shift@example.com: no such user"


@pytest.mark.parametrize(
    ("verb", "answer"),
    [
        ("CONNECT", "421 later"),
        ("CONNECT", "close"),
        ("MAIL", "451 later"),
        ("DATA", "close"),
        ("RCPT", "450 greylisted"),
    ],
)
def test_what_may_pass_is_tried_again(server, verb, answer):
    server.answers[verb] = [answer]

    assert run(step_to(server, to=["admin@example.com"])).ok
    assert len(server.letters) == 1


def test_a_server_that_hangs_keeps_nobody_past_the_limit(server):
    server.answers["EHLO"] = ["hang"]

    result = run(step_to(server), limit_s=0.5)

    assert not result.ok


def test_a_run_is_cut_off_while_the_server_thinks(server):
    server.answers["EHLO"] = ["hang"]
    aside = Aside(step_to(server))
    assert server.came.wait(60)
    aside.cut_off.set()

    assert not aside.result().ok


def test_nobody_there_is_a_problem_and_a_failure(server):
    step = step_to(server)
    assert step.problems() == []
    server.close()

    assert "nobody listens" in step.problems()[0]
    assert "did not take the mail" in run(step, limit_s=2).sentence


@pytest.mark.part("openssl")
@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_over_tls_with_a_password_from_a_file(certificate, security, tmp_path, caplog):
    """The password is sent only once the line is encrypted, and shown nowhere."""
    caplog.set_level(logging.DEBUG)
    context, ca_file = certificate
    (tmp_path / "password").write_text("hunter2\n")
    (tmp_path / "password").chmod(0o600)
    with mail_server(context, tls_at_once=security == "tls") as server:
        step = step_to(
            server, security=security, ca_file=ca_file, user="agent", password_file=str(tmp_path / "password")
        )
        result = run(step)

    assert result.ok, result
    assert server.was_encrypted
    assert server.logins == [("agent", "hunter2")]
    assert "hunter2" not in f"{result} {step.shown(Phase.DO)} {step!r} {caplog.text}"


@pytest.mark.part("openssl")
def test_a_certificate_that_nobody_vouches_for_is_refused_for_good(certificate):
    with mail_server(certificate[0]) as server:
        result = run(step_to(server, security="starttls"))

    assert not result.ok
    assert "self-signed certificate" in result.sentence
    assert server.letters == []


def test_a_server_without_starttls_gets_no_letter(server):
    """No falling back to the clear."""
    result = run(step_to(server, security="starttls"))

    assert not result.ok
    assert "STARTTLS" in result.sentence
    assert server.letters == []


def test_a_file_of_authorities_that_holds_none_is_a_problem(server, tmp_path):
    (tmp_path / "empty.pem").write_text("")
    step = step_to(server, security="starttls", ca_file=str(tmp_path / "empty.pem"))

    assert "cannot be taken as ca_file" in step.problems()[0]
    assert not run(step).ok


def test_ports_follow_the_way_it_is_encrypted():
    shown = [
        made("mail", host="mail.example", **WHO, security=one).shown(Phase.DO) for one in ("starttls", "tls", "none")
    ]

    assert [text.rpartition(":")[2] for text in shown] == ["587 (starttls)", "465 (tls)", "25 (none)"]
