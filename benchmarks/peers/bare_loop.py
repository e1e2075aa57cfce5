"""The least that a server on Python's own sockets can do: `epoll`, `accept`, `recv`, `send`, `close`, and nothing else.

It looks at no request that it has seen before, checks nothing, counts nothing, limits nobody and never closes a
connection that says nothing. Who has asked once is looked at again a moment later, as notbefore does it. What any
server on them costs, it costs at least this; notbefore's own system calls are compiled, and so it may cost less.
"""

import select
import socket
from collections import deque
from time import monotonic  # noqa: TID251  when a moment is over

from document import asked_for

READ_MAX_BYTES = 16 * 1024
EVENTS_MAX = 128
BACKLOG = 2048
MOMENT_S = 0.001
WITH_THE_END = int(socket.MSG_DONTWAIT | socket.MSG_MORE)
AT_ONCE = int(socket.MSG_DONTWAIT)
TCP = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)

document = asked_for()


def answer_to(request):
    """At first sight; afterwards it is known by its bytes."""
    words = request.lower()
    close = b"connection: close" in words
    known = b"if-none-match" in words
    head = [b"HTTP/1.1 304 Not Modified" if known else b"HTTP/1.1 200 OK"]
    head += [b"date: Mon, 19 Sep 2016 18:29:47 GMT", b"server: notbefore", b"etag: " + document.tag.encode()]
    if not known:
        head += [b"content-type: " + document.content_type.encode(), b"content-length: %d" % len(document.body)]
    head += [b"connection: close"] if close else []
    return b"\r\n".join([*head, b"", b"" if known else document.body]), close


def listening():
    bound = socket.socket(*TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 1)
    bound.bind((document.host, document.port))
    bound.listen(BACKLOG)
    return bound


def serve():
    bound = listening()
    waiting = select.epoll()
    waiting.register(bound.fileno(), select.EPOLLIN)
    staying, known, asked_once = {}, {}, deque()
    while True:
        ready = waiting.poll(MOMENT_S if asked_once else -1, EVENTS_MAX)
        now_s = monotonic()
        for number, _ in ready:
            line = staying.get(number)
            is_new = line is None
            if is_new:
                number, _ = bound._accept()  # noqa: PLW2901, SLF001  of the new line; as notbefore does it
                line = socket.SocketType(*TCP, number)
            if not answered(known, line):
                staying.pop(number, None)
                line.close()
            elif is_new:
                asked_once.append((now_s + MOMENT_S, line))
        while asked_once and asked_once[0][0] <= now_s:
            _, line = asked_once.popleft()
            if answered(known, line):
                staying[line.fileno()] = line
                waiting.register(line.fileno(), select.EPOLLIN)
            else:
                line.close()


def answered(known, line):
    """Whether it stays."""
    try:
        request = line.recv(READ_MAX_BYTES, AT_ONCE)
    except BlockingIOError:
        return True
    except OSError:
        return False
    if not request:
        return False
    answer, close = known.get(request) or learnt(known, request)
    line.send(answer, WITH_THE_END if close else AT_ONCE)
    return not close


def learnt(known, request):
    known[request] = answer_to(request)
    return known[request]


if __name__ == "__main__":
    serve()
