"""A mail server on a real socket: as much SMTP as a letter needs, what it takes, and what it is told to answer.

Rule 1: it notes every line it was sent, so a test sees what really went over the wire, and when it was encrypted.
"""

import socket
import threading
from base64 import b64decode
from contextlib import contextmanager, suppress

WAIT_MAX_S = 60


class MailServer:
    """`answers`: what to answer to a verb instead of the usual; each is used once, in order."""

    def __init__(self, tls=None, *, tls_at_once=False, offers=("STARTTLS", "AUTH PLAIN LOGIN")):
        self.letters = []
        self.recipients = []
        self.lines = []
        self.logins = []
        self.was_encrypted = False
        self.answers = {}
        self.came = threading.Event()
        self._tls = tls
        self._tls_at_once = tls_at_once
        self._offers = [one for one in offers if tls or one != "STARTTLS"]
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self):
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _serve(self):
        with suppress(OSError):
            while True:
                line, _ = self._server.accept()
                threading.Thread(target=self._hear, args=(line,), daemon=True).start()

    def _hear(self, line):
        talk = Talk(self, line)
        with suppress(OSError, EOFError):
            if self._tls_at_once:
                talk.encrypt()
            talk.held()
        talk.line.close()


class Talk:
    """One connection."""

    def __init__(self, server, line):
        self._server = server
        self.line = line
        self._rest = b""

    def held(self):
        self._say("CONNECT", "220 ready")
        while True:
            line = self._line_heard()
            verb = line.split(" ")[0].upper()
            self._server.lines.append(line)
            getattr(self, f"_{verb.lower()}", self._other)(line)
            if verb == "QUIT":
                return

    def encrypt(self):
        self.line = self._server._tls.wrap_socket(self.line, server_side=True)
        self._server.was_encrypted = True

    def _ehlo(self, _):
        offers = [one for one in self._server._offers if one != "STARTTLS" or not self._server.was_encrypted]
        self._say("EHLO", "\r\n".join(["250-mail", *(f"250-{one}" for one in offers), "250 HELP"]))

    def _starttls(self, _):
        self._say("STARTTLS", "220 go on")
        self.encrypt()

    def _auth(self, line):
        _, _, given = line.split(" ", 2)
        _, user, password = b64decode(given).decode().split("\0")
        self._server.logins.append((user, password))
        self._say("AUTH", "235 welcome")

    def _rcpt(self, line):
        if self._say("RCPT", "250 ok").startswith("250"):
            self._server.recipients.append(line.partition(":")[2].strip("<>"))

    def _data(self, _):
        if not self._say("DATA", "354 go on").startswith("354"):
            return
        lines = []
        while (line := self._line_heard()) != ".":
            lines.append(line.removeprefix(".") if line.startswith("..") else line)
        self._server.letters.append("\r\n".join(lines))
        self._say(".", "250 taken")

    def _quit(self, _):
        self._say("QUIT", "221 bye")

    def _other(self, line):
        self._say(line.split(" ")[0].upper(), "250 ok")

    def _say(self, verb, usual):
        planned = self._server.answers.get(verb, [])
        answer = planned.pop(0) if planned else usual
        self._server.came.set()
        if answer == "hang":
            while self.line.recv(4096):
                pass
            raise EOFError
        if answer == "close":
            raise EOFError
        self.line.sendall(f"{answer}\r\n".encode())
        return answer

    def _line_heard(self):
        while b"\r\n" not in self._rest:
            chunk = self.line.recv(65536)
            if not chunk:
                raise EOFError
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\r\n")
        return line.decode("utf-8", "surrogateescape")


@contextmanager
def mail_server(*args, **named):
    server = MailServer(*args, **named)
    try:
        yield server
    finally:
        server.close()
