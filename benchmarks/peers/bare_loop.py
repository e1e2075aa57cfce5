"""The least that a server in Python can do: `epoll`, `accept`, `recv`, `send`, `close`, and nothing else.

It looks at no request that it has seen before, checks nothing, counts nothing, limits nobody and never closes a
connection that says nothing. What any server in Python costs, it costs at least this: no promise can be below it.
"""

import select
import socket

from document import asked_for

READ_MAX_BYTES = 16 * 1024
EVENTS_MAX = 128
BACKLOG = 2048
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
    staying, known = {}, {}
    while True:
        for number, _ in waiting.poll(-1, EVENTS_MAX):
            line = staying.get(number)
            is_new = line is None
            if is_new:
                number, _ = bound._accept()  # noqa: PLW2901, SLF001  of the new line; as notbefore does it
                line = socket.SocketType(*TCP, number)
            try:
                request = line.recv(READ_MAX_BYTES, AT_ONCE)
            except OSError:
                request = b""
            answer, close = (known.get(request) or learnt(known, request)) if request else (b"", True)
            if answer:
                line.send(answer, WITH_THE_END if close else AT_ONCE)
            if close:
                staying.pop(number, None)
                line.close()
            elif is_new:
                staying[number] = line
                waiting.register(number, select.EPOLLIN)


def learnt(known, request):
    known[request] = answer_to(request)
    return known[request]


if __name__ == "__main__":
    serve()
