"""An HTTP server that is not the service: `python wrong_server.py ADDRESS STATUS BODY`. Says when it serves.

With the status 0 it never answers.
"""

import http.server
import signal
import sys

ADDRESS, STATUS, BODY = sys.argv[1], int(sys.argv[2]), sys.argv[3].encode()


class Wrong(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        while not STATUS:
            signal.pause()
        self.send_response(STATUS)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *args):
        """Nobody reads it."""


server = http.server.HTTPServer((ADDRESS, 80), Wrong)
sys.stdout.write("serves\n")
sys.stdout.flush()
server.serve_forever()
