"""Changing the proxy's key (SPEC §5): two keys are valid at once, and no request is dropped on the way."""

import os
import re
import signal
import threading

from served import exchange

from lab import PATH
from notbefore.clock import RealTime
from notbefore.metadata.proxy import signed

OLD, NEW = b"o" * 32, b"n" * 32


class Proxy:
    """A proxy that asks for its VM without a pause, signed with whichever key it has just now."""

    def __init__(self, address):
        self._address = address
        self._stop = threading.Event()
        self.key = OLD
        self.statuses = []
        self._thread = threading.Thread(target=self._ask_on)

    def _ask_on(self):
        while not self._stop.is_set():
            header = signed("demo", "FrontEnd_IN_1", int(RealTime().real_s()), self.key)
            headers = {"Metadata": "true", "X-Notbefore-Vm": header}
            target = f"{PATH}?api-version=2020-07-01"
            self.statuses.append(exchange(self._address, "GET", target, None, headers)[0])

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def asked_more(self):
        """Wait until it was answered again, twice, so that one whole question lies in between."""
        seen = len(self.statuses)
        while len(self.statuses) < seen + 2:
            self._stop.wait(0.001)


def test_a_key_is_changed_without_dropping_a_request(served, tmp_path):
    """Issue: key rotation drops no request; afterwards the old key counts no more."""
    keys = tmp_path / "proxy.keys"
    keys.touch(mode=0o600)

    def write(*lines):
        keys.write_text("".join(f"{key.hex()}\n" for key in lines))

    write(OLD)
    server = served("--demo", NOTBEFORE_METADATA_TRUSTED_PROXY_KEY_FILE=str(keys))

    def reload():
        seen = server.log.stat().st_size
        os.kill(server.process.pid, signal.SIGHUP)
        while not re.search("setting changed", server.log.read_text()[seen:]):
            assert server.process.poll() is None

    with Proxy(server.metadata) as proxy:
        proxy.asked_more()
        write(OLD, NEW)
        reload()
        proxy.asked_more()
        proxy.key = NEW
        proxy.asked_more()
        write(NEW)
        reload()
        proxy.asked_more()
        answered = list(proxy.statuses)
        proxy.key = OLD
        proxy.asked_more()
        refused = proxy.statuses[-1]

    assert set(answered) == {200}
    assert refused == 403
