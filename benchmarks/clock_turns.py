"""How much real time the emulator's clock takes: one event's notice, and 1,000 events over 100 scopes.

A real server in this process with its store on disk, spoken to over HTTP as `notbefore clock advance` does it.
`15 min of notice` turns the clock by 15 minutes with one restart scheduled; `1,000 events` declares 100 scopes of 10
VMs, restarts each VM, and turns the clock past all of their starts and ends. Order is checked; times are for people.
"""

import argparse
import asyncio
import calendar
import http.client
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import msgspec
from measuring.cpu import machine
from measuring.load import stopwatch_s
from measuring.results import Results, take_json
from measuring.table import Table, spread

from notbefore import event_loop
from notbefore.settings import Settings
from notbefore.wiring import running_server

NOTICE_S = 15 * 60
SCOPES = 100
VMS = 10


class Taken(NamedTuple):
    """Real time, and the processor's: where the machine is busy with other things the second says more."""

    real_s: float
    cpu_s: float


class Hand:
    """One connection to the control API."""

    def __init__(self, url, token):
        self._line = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
        self._token = token

    def ask(self, method, path, body):
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        self._line.request(method, path, json.dumps(body), headers)
        answer = self._line.getresponse()
        told = json.loads(answer.read())
        if answer.status >= 300:
            raise SystemExit(f"clock_turns: {method} {path} was refused: {told}")
        return told

    def turned(self, seconds):
        begun, cpu = stopwatch_s(), time.process_time()
        told = self.ask("POST", "/v1/clock", {"advance_s": seconds})
        return Taken(stopwatch_s() - begun, time.process_time() - cpu), told["happened"]


def declare(hand, scope, vms):
    body = {
        "kind": "availability-set",
        "settings": {"listening": "always"},
        "vms": [{"name": f"vm-{n}"} for n in range(vms)],
    }
    hand.ask("PUT", f"/v1/scopes/{scope}", body)


def restart(hand, scope, vm, notice_s, now_s):
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now_s + notice_s))
    hand.ask("POST", f"/v1/scopes/{scope}/vms/vm-{vm}/restart", {"not_before": at})


def one_notice(hand):
    declare(hand, "alone", 1)
    hand.ask("POST", "/v1/scopes/alone/vms/vm-0/restart", {})
    took, happened = hand.turned(NOTICE_S)
    assert [change["what"] for record in happened for change in record["changes"]] == ["started: notice ended"]
    hand.turned(NOTICE_S)
    return took


def at_once(_scope, _vm):
    """All due at one time: the commits of many scopes go side by side."""
    return 60


def apart(scope, vm):
    """Spread over an hour, so that most have a due time of their own, and each waits for what the last one set off."""
    return 60 + (scope * 37 + vm * 359) % 3600


def many_events(hand, due_after_s):
    now_s = parsed(hand.ask("GET", "/v1/clock", None)["now"])
    for scope in range(SCOPES):
        declare(hand, f"scope-{scope}", VMS)
        for vm in range(VMS):
            restart(hand, f"scope-{scope}", vm, NOTICE_S + due_after_s(scope, vm), now_s)
    took, happened = hand.turned(2 * 3600)
    refuse_disorder(happened)
    return took


def parsed(text):
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


def refuse_disorder(happened):
    whats = [change["what"] for record in happened for change in record["changes"]]
    times = [record["at"] for record in happened]
    early = [
        change
        for record in happened
        for change in record["changes"]
        if change["what"].startswith("started") and change["event"]["started_at"] != change["event"]["not_before"]
    ]
    counts = [sum(what.startswith(word) for what in whats) for word in ("started", "completed")]
    if times != sorted(times) or early or counts != [SCOPES * VMS] * 2:
        raise SystemExit(f"clock_turns: out of order, or not all of it: {counts}, {len(early)} at another time")


async def measured(rounds):
    with tempfile.TemporaryDirectory() as where:
        tree = {
            "state": str(Path(where) / "state"),
            "clock": {"kind": "manual"},
            "control": {"address": "127.0.0.1:0"},
            "metadata": {"listeners": [{"address": "127.0.0.1:0"}]},
        }
        async with running_server(msgspec.convert(tree, Settings)) as server:
            hand = Hand(server.control_url, server.token)
            notices = [await asyncio.to_thread(one_notice, hand) for _ in range(rounds)]
            thirds = range(max(1, rounds // 3))
            together = [await asyncio.to_thread(many_events, hand, at_once) for _ in thirds]
            one_by_one = [await asyncio.to_thread(many_events, hand, apart) for _ in thirds]
    return {
        "15 min of notice": notices,
        f"{SCOPES * VMS:,} events at once": together,
        f"{SCOPES * VMS:,} events apart": one_by_one,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--rounds", type=int, default=9, help="how often the notice is measured; the events a third as often"
    )
    take_json(parser)
    wanted = parser.parse_args()
    ways = event_loop.run(measured(wanted.rounds))
    rows = [
        [name, *(spread([getattr(one, field) * 1000 for one in taken], 1) for field in Taken._fields)]
        for name, taken in ways.items()
    ]
    shown = [Table("Milliseconds to turn the clock, median [min..max]", ("", "real", "CPU"), rows)]
    samples = [{"way": name, **one._asdict()} for name, taken in ways.items() for one in taken]
    Results("clock_turns", machine(), shown, samples).tell(wanted.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
