"""A backend that is a process, and dies as a VM's does: in the middle of whatever it was doing.

Run as a program it answers its own name at a port, and says on stdout which port that is.
"""

import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# How long it works on an answer: long enough that a kill without a drain is seen by somebody.
WORK_S = 0.1


class BackendProcess:
    def __init__(self, name):
        self.name = name
        self.port = 0
        self.start()

    def start(self):
        words = [sys.executable, __file__, self.name, str(self.port)]
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.port = int(self._process.stdout.readline())

    def stop(self):
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()

    close = stop


def serve(name, port):
    never = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            never.wait(WORK_S)
            body = name.encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, *_):
            """Whoever asked has gone."""

    with Server(("127.0.0.1", port), Handler) as server:
        sys.stdout.write(f"{server.server_address[1]}\n")
        sys.stdout.flush()
        server.serve_forever()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
