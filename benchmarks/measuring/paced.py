"""GETs at their times on kept connections, and changes between them, in one thread: who measures disturbs nobody.

Rule 1: a GET is timed from when it is sent until its answer is read; while one waits others go out on other lines.
Rule 2: a change is an event's whole life: ordered by the operator, approved by its VM, ended by the (simulated) impact.
Each of the three is a commit.
Rule 3: what a change needs of this thread, to order, to read, to approve, is done when no GET is on its way; the next
GETs go out right behind it. Else the answer to a GET would wait here, and be taken for late.
"""

import json
import select
import socket
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from measuring.answer import is_whole, parsed
from measuring.approving import Approval, refuse_wrong
from measuring.load import Address, LoadFailed, asking, connected, refuse_foreign, stopwatch_s
from measuring.rounds import TARGET

LINES = 16
SILENCE_S = 10.0
IMPACT_S = 1
LEAD_IN_S = 1.3 * IMPACT_S
BUFFER_BYTES = 65536
QUESTION = f"GET {TARGET} HTTP/1.1\r\nHost: a\r\nMetadata: true\r\n\r\n".encode()

Answered = Callable[[], None]


def nothing() -> None:
    pass


class Paced:
    """Who asks (one address for each connection), and who is restarted (scope, VM and its address)."""

    def __init__(
        self, address: Address, control: Address, token: str, askers: Sequence[str], vms: Sequence[tuple[str, str, str]]
    ) -> None:
        refuse_foreign(address)
        self._address, self._control, self._token = address, control, token
        self._askers = askers[:LINES]
        self._vms = deque(vms)
        self.times_s: list[float] = []

    def run(self, seconds: float, gets_per_s: float, lives_per_s: float, begin: Answered = nothing) -> None:
        """Both evenly over this time, on connections that are fresh: a server closes those that say nothing.

        `begin` is called when what is counted begins: as many lives end by then as begin.
        """
        self._answered: dict[int, Answered] = {}
        self._free: deque[socket.socket] = deque()
        self._errands: deque[Answered] = deque()
        self._said, self._is_operating = b"", False
        with ExitStack() as stack:
            self._poll = stack.enter_context(select.epoll())
            for source in self._askers:
                self._free.append(self._watched(stack.enter_context(connected(self._address, source))))
            self._operator = self._watched(stack.enter_context(connected(self._control)))
            if lives_per_s:
                self._go_on(LEAD_IN_S, gets_per_s, lives_per_s)
            self.times_s.clear()
            begin()
            self._go_on(seconds, gets_per_s, lives_per_s)
            while self._answered or self._errands:
                self._look(SILENCE_S if self._answered else 0)
                self._run_errands()

    def _go_on(self, seconds: float, gets_per_s: float, lives_per_s: float) -> None:
        began_s = stopwatch_s()
        asked = lives = 0
        while (now_s := stopwatch_s()) < began_s + seconds:
            if self._free and not self._errands and now_s >= began_s + asked / gets_per_s:
                asked += 1
                self._ask()
            if lives_per_s and not self._is_operating and now_s >= began_s + lives / lives_per_s:
                lives += 1
                self._is_operating = True
                self._errands.append(self._order)
            self._look(0)
            self._run_errands()

    def _run_errands(self) -> None:
        while self._errands and len(self._free) == len(self._askers):
            self._errands.popleft()()

    def _look(self, wait_s: float) -> None:
        ready = self._poll.poll(wait_s)
        if not ready and wait_s:
            raise LoadFailed("a question was not answered")
        for number, _ in ready:
            self._answered.pop(number, nothing)()

    def _when_answered(self, line: socket.socket, errand: Answered) -> None:
        """What the answer to a change needs; until then the line is ready again and again."""
        self._answered[line.fileno()] = lambda: self._errands.append(errand)

    def _watched(self, line: socket.socket) -> socket.socket:
        self._poll.register(line.fileno(), select.EPOLLIN)
        return line

    def _ask(self) -> None:
        line = self._free.popleft()
        asked_s = stopwatch_s()

        def answered() -> None:
            got = line.recv(BUFFER_BYTES)
            self.times_s.append(stopwatch_s() - asked_s)
            if not got.startswith(b"HTTP/1.1 200 ") or not got.endswith(b"]}"):
                raise LoadFailed(f"a GET was answered {got!r}")
            self._free.append(line)

        self._answered[line.fileno()] = answered
        line.sendall(QUESTION)

    def _order(self) -> None:
        """A restart; its VM approves as soon as there is something to approve."""
        scope, vm, source = self._vms[0]
        self._vms.rotate(-1)
        body = json.dumps({"duration_s": IMPACT_S})
        head = (
            f"POST /v1/scopes/{scope}/vms/{vm}/restart HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {self._token}\r\n"
        )
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"

        def answered() -> None:
            self._said += self._operator.recv(BUFFER_BYTES)
            if not is_whole(self._said):
                self._when_answered(self._operator, answered)
                return
            answer, self._said = parsed(self._said), b""
            self._is_operating = False
            if answer.status >= 300:
                raise LoadFailed(f"the operator was refused: {answer}")
            self._approve(Approval(source, json.loads(answer.body)["id"]))

        self._when_answered(self._operator, answered)
        self._operator.sendall(head.encode() + body.encode())

    def _approve(self, approval: Approval) -> None:
        line = asking(self._address, approval.request(), approval.source)
        self._poll.register(line.fileno(), select.EPOLLIN)

        def answered() -> None:
            with line:
                self._poll.unregister(line.fileno())
                refuse_wrong(line.recv(BUFFER_BYTES))

        self._when_answered(line, answered)
