"""The system calls of the data plane keep one contract, compiled or the standard library's."""

import contextlib
import errno
import gc
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import tracemalloc
import warnings
from pathlib import Path

import pytest

from notbefore import system_calls
from notbefore.system_calls import EVENTS_MAX, accepts_at, waits_at

AT_ONCE = socket.MSG_DONTWAIT
READ_MAX_BYTES = 16 * 1024
RESET = struct.pack("ii", 1, 0)


def of_the_compiled():
    from notbefore import _system_calls

    return _system_calls


@pytest.fixture(params=[pytest.param("compiled", marks=pytest.mark.part("compiled")), "standard-library"])
def calls(request):
    return of_the_compiled() if request.param == "compiled" else None


@pytest.fixture
def bound():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


@contextlib.contextmanager
def connection(bound, calls):
    """Our end, and theirs."""
    with socket.create_connection(bound.getsockname()[:2], timeout=10) as theirs:
        ours, number, name = arrived(bound, calls)
        assert ours.fileno() == number
        assert name == theirs.getsockname()
        try:
            yield ours, theirs
        finally:
            ours.close()


def arrived(bound, calls):
    assert select.select([bound], [], [], 10)[0]
    return accepts_at(bound, calls)()


def there(ours):
    """Waits until something is there to be read, or the end."""
    assert select.select([ours.fileno()], [], [], 10)[0]


# -- who comes


@pytest.mark.parametrize("host", ["127.0.0.1", "127.10.209.255", "::1"])
def test_who_comes_is_told_by_number_and_name(host, calls):
    """The name is the one that Python's own sockets tell."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as bound:
        bound.setblocking(False)
        with connection(bound, calls) as (ours, theirs):
            assert not os.get_inheritable(ours.fileno())
            with socket.socket(fileno=os.dup(ours.fileno())) as again:
                assert again.getpeername() == theirs.getsockname()


def test_an_ipv4_client_of_an_ipv6_listener_has_the_name_python_gives_it(calls):
    """SPEC §5: IPv4-mapped addresses are made canonical by whoever asks who it is, not here."""
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as bound:
        bound.setblocking(False)
        with socket.create_connection(("127.0.0.1", bound.getsockname()[1]), timeout=10):
            ours, _, name = arrived(bound, calls)
            ours.close()
            assert name[0] == "::ffff:127.0.0.1"
            assert name[2:] == (0, 0)


def test_where_nobody_waits_nobody_is_let_in(bound, calls):
    """Nothing waits."""
    with pytest.raises(BlockingIOError):
        accepts_at(bound, calls)()


def test_a_listener_that_is_closed_lets_nobody_in(bound, calls):
    """An error of the system is Python's."""
    accept = accepts_at(bound, calls)
    bound.close()
    with pytest.raises(OSError, match="descriptor") as refused:
        accept()
    assert refused.value.errno == errno.EBADF


@pytest.mark.part("compiled")
def test_who_is_no_internet_client_is_turned_away(tmp_path):
    """A name that nobody could look up is an error, and the connection is closed."""
    with socket.socket(socket.AF_UNIX) as bound, socket.socket(socket.AF_UNIX) as theirs:
        bound.bind(str(tmp_path / "line"))
        bound.listen()
        theirs.connect(str(tmp_path / "line"))
        with pytest.raises(OSError, match="family"):
            accepts_at(bound, of_the_compiled())()
        theirs.settimeout(10)
        assert theirs.recv(1) == b""


# -- what they say and are told


def test_what_was_said_is_heard_once_and_in_order(bound, calls):
    """Then there is nothing now, and at last the end."""
    with connection(bound, calls) as (ours, theirs):
        with pytest.raises(BlockingIOError):
            ours.recv(READ_MAX_BYTES, AT_ONCE)
        theirs.sendall(b"GET /")
        there(ours)
        assert ours.recv(3, AT_ONCE) == b"GET"
        assert ours.recv(READ_MAX_BYTES, AT_ONCE) == b" /"
        with pytest.raises(BlockingIOError):
            ours.recv(READ_MAX_BYTES, AT_ONCE)
        theirs.close()
        there(ours)
        assert ours.recv(READ_MAX_BYTES, AT_ONCE) == b""


def test_what_is_longer_than_one_look_is_read_in_several(bound, calls):
    """A look is bounded; nothing of it is lost."""
    said = os.urandom(3 * READ_MAX_BYTES)
    with connection(bound, calls) as (ours, theirs):
        sender = threading.Thread(target=theirs.sendall, args=(said,))
        sender.start()
        heard = b""
        while len(heard) < len(said):
            there(ours)
            part = ours.recv(READ_MAX_BYTES, AT_ONCE)
            assert 0 < len(part) <= READ_MAX_BYTES
            heard += part
        sender.join()
    assert heard == said


def test_who_was_cut_off_is_an_error(bound, calls):
    """Not an end."""
    with connection(bound, calls) as (ours, theirs):
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        theirs.close()
        there(ours)
        with pytest.raises(ConnectionResetError):
            ours.recv(READ_MAX_BYTES, AT_ONCE)


def test_what_is_sent_arrives_whatever_it_is_kept_in(bound, calls):
    """Bytes, and what a line keeps unsent."""
    with connection(bound, calls) as (ours, theirs):
        assert ours.send(b"one ", AT_ONCE) == 4
        assert ours.send(bytearray(b"two "), AT_ONCE | socket.MSG_MORE) == 4
        assert ours.send(memoryview(b"three")[:5], AT_ONCE) == 5
        assert ours.send(b"", AT_ONCE) == 0
        ours.shutdown(socket.SHUT_WR)
        theirs.settimeout(10)
        heard = b""
        while part := theirs.recv(100):
            heard += part
    assert heard == b"one two three"


def test_who_does_not_read_is_sent_a_part_and_then_nothing(bound, calls):
    """Nothing waits for a slow client."""
    with connection(bound, calls) as (ours, _):
        long = bytes(32 * 1024 * 1024)
        assert 0 < ours.send(long, AT_ONCE) < len(long)
        with pytest.raises(BlockingIOError):
            while True:
                ours.send(long, AT_ONCE)


def test_who_is_gone_is_an_error_and_no_signal(bound, calls):
    """Nor does it end the process."""
    with connection(bound, calls) as (ours, theirs):
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        theirs.close()
        there(ours)
        before = signal.signal(signal.SIGPIPE, signal.SIG_IGN if calls is None else signal.SIG_DFL)
        try:
            for _ in range(2):
                with pytest.raises((ConnectionResetError, BrokenPipeError)):
                    ours.send(b"too late", AT_ONCE)
        finally:
            signal.signal(signal.SIGPIPE, before)


def test_a_connection_is_closed_once(bound, calls):
    """Again is nothing: its number may be somebody else's by then."""
    with connection(bound, calls) as (ours, theirs):
        number = ours.fileno()
        ours.close()
        taken = os.dup(bound.fileno())
        try:
            assert taken == number  # the lowest that is free
            ours.close()
            os.fstat(taken)
        finally:
            os.close(taken)
        assert ours.fileno() == -1
        for call in (lambda: ours.recv(1, AT_ONCE), lambda: ours.send(b"1", AT_ONCE), lambda: ours.shutdown(1)):
            with pytest.raises(OSError, match="descriptor"):
                call()
        theirs.settimeout(10)
        assert theirs.recv(1) == b""


def test_who_drops_an_open_connection_is_warned_and_it_is_closed(bound, calls):
    """A leak is seen."""
    with socket.create_connection(bound.getsockname(), timeout=10) as theirs:
        dropped = [arrived(bound, calls)]
        with pytest.warns(ResourceWarning, match="unclosed"):
            dropped.clear()
        assert theirs.recv(1) == b""


def test_nothing_is_kept_of_connections_that_are_gone(bound, calls):
    """Neither memory nor numbers, whatever was said and however it ended."""
    wait = waits_at(poll := select.epoll(), calls)
    poll.register(bound.fileno(), select.EPOLLIN)

    def life():
        with connection(bound, calls) as (ours, theirs):
            for call in (lambda: ours.recv(1, AT_ONCE), accepts_at(bound, calls)):
                with pytest.raises(BlockingIOError):
                    call()
            theirs.sendall(b"said")
            there(ours)
            assert ours.recv(READ_MAX_BYTES, AT_ONCE) == b"said"
            assert ours.send(b"told", AT_ONCE) == 4
            assert wait(0) == []

    for _ in range(20):
        life()
    numbers = len(list(Path("/proc/self/fd").iterdir()))
    gc.collect()
    tracemalloc.start()
    try:
        life()
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(200):
            life()
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    poll.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == numbers - 1
    assert after - before < 200 * 16  # not even a number for each


# -- who is ready


@pytest.fixture
def watched():
    with contextlib.closing(select.epoll()) as poll:
        yield poll


def test_who_is_ready_is_told_with_what_for(watched, calls):
    """As epoll tells it, level by level: until it is read it is told again."""
    wait = waits_at(watched, calls)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        watched.register(ours, select.EPOLLIN)
        assert wait(0.0) == []
        assert wait(0.001) == []
        theirs.send(b"1")
        assert wait(0) == [(ours.fileno(), select.EPOLLIN)]
        assert wait(-1) == [(ours.fileno(), select.EPOLLIN)]
        watched.modify(ours, select.EPOLLIN | select.EPOLLOUT)
        assert wait(1e6) == [(ours.fileno(), select.EPOLLIN | select.EPOLLOUT)]
        theirs.close()
        assert wait(10)[0][1] & select.EPOLLHUP


def test_a_look_is_bounded_and_those_left_out_come_next(watched, calls):
    """EVENTS_MAX at a time."""
    wait = waits_at(watched, calls)
    pairs = [socket.socketpair() for _ in range(EVENTS_MAX + 10)]
    with contextlib.ExitStack() as stack:
        for ours, theirs in pairs:
            stack.enter_context(ours)
            stack.enter_context(theirs)
            watched.register(ours, select.EPOLLIN)
            theirs.send(b"1")
        first = wait(1)
        assert len(first) == EVENTS_MAX
        assert {number for number, _ in first + wait(1)} == {ours.fileno() for ours, _ in pairs}


def test_whoever_waits_lets_others_work(watched, calls):
    """Python's lock is not kept while there is nobody to serve."""
    wait = waits_at(watched, calls)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        watched.register(ours, select.EPOLLIN)
        other = threading.Thread(target=lambda: theirs.send(b"1"))
        starter = threading.Thread(target=other.start)
        starter.start()
        assert wait(-1) == [(ours.fileno(), select.EPOLLIN)]
        starter.join()
        other.join()


def test_a_signal_is_heard_by_whoever_waits(watched, calls):
    """Its handler runs while nobody comes, and may raise."""
    wait = waits_at(watched, calls)
    ours, theirs = socket.socketpair()

    def told(_signal, _frame):
        theirs.send(b"1")

    before = signal.signal(signal.SIGUSR1, told)
    try:
        with ours, theirs:
            watched.register(ours, select.EPOLLIN)
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1)).start()
            while not (found := wait(10)):
                pass
            assert found == [(ours.fileno(), select.EPOLLIN)]
            ours.recv(1)
            signal.signal(signal.SIGUSR1, lambda *_: sys.exit("told"))
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1)).start()
            with pytest.raises(SystemExit, match="told"):
                while True:
                    wait(10)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_set_that_is_closed_is_an_error(watched, calls):
    """Of the system, or of the object around it."""
    wait = waits_at(watched, calls)
    watched.close()
    with pytest.raises((OSError, ValueError)):
        wait(0)


# -- what only the compiled ones can get wrong


@pytest.mark.part("compiled")
def test_wrong_words_are_refused(bound):
    """With Python's own errors: nothing is read that is not there."""
    compiled = of_the_compiled()
    with connection(bound, compiled) as (ours, _):
        for words in ((), (1,), (1, 2, 3), ("1", 0), (1, "0"), (None, None), (1.5, 0)):
            with pytest.raises(TypeError):
                ours.recv(*words)
        for words in ((), (b"1",), (b"1", 0, 0), ("text", 0), (1, 0), (None, 0), (b"1", None)):
            with pytest.raises(TypeError):
                ours.send(*words)
        for words in ((-1, 0), (-(2**62), 0)):
            with pytest.raises(ValueError, match="less than nothing"):
                ours.recv(*words)
        for words in ((2**80, 0), (1, 2**40), (1, -(2**40))):
            with pytest.raises(OverflowError):
                ours.recv(*words)
        with pytest.raises(TypeError):
            ours.shutdown("1")
    for make in (compiled.accepts_at, compiled.waits_at, compiled.Opened):
        for word in ("1", None, 1.5):
            with pytest.raises(TypeError):
                make(word)
        with pytest.raises(OverflowError):
            make(2**40)
    wait = compiled.waits_at(0)
    for word in ("1", None, b""):
        with pytest.raises(TypeError):
            wait(word)
    with pytest.raises(ValueError, match="takes a time"):
        wait(float("nan"))


@pytest.mark.part("compiled")
def test_a_warning_that_is_an_error_does_not_hide_another(bound):
    """Whoever drops a connection in an `except` clause still sees why."""
    compiled = of_the_compiled()
    unraisable = []
    before, sys.unraisablehook = sys.unraisablehook, unraisable.append
    try:
        with warnings.catch_warnings(), socket.create_connection(bound.getsockname(), timeout=10):
            warnings.simplefilter("error")
            with pytest.raises(KeyError, match="what went wrong"):
                drop_in_trouble(arrived(bound, compiled)[0])
    finally:
        sys.unraisablehook = before
    assert [one.exc_type for one in unraisable] == [ResourceWarning]


def drop_in_trouble(_opened):
    raise KeyError("what went wrong")


@pytest.mark.parametrize(("value", "wanted"), [("1", "False"), ("0", "True"), ("", "True")])
@pytest.mark.part("compiled")
def test_the_compiled_ones_can_be_done_without(value, wanted):
    """NOTBEFORE_PURE_PYTHON=1, for whoever looks for a fault in them."""
    words = [sys.executable, "-c", "from notbefore.system_calls import COMPILED; print(COMPILED is not None)"]
    env = {**os.environ, system_calls.PURE_PYTHON: value}
    said = subprocess.run(words, env=env, capture_output=True, text=True, check=True).stdout
    assert said.strip() == wanted
