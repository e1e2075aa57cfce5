"""The life of workers: replaced when they die, gone when their parent is, stopped with it."""

import asyncio
import os
import re
import signal
import socket
import sys
import threading
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from crews import KeptLine, a_line_to_each, metric, metrics_of, metrics_of_process, until, until_replaced
from served import ServerProcess, exchange

from lab import lab_settings, open_lab
from notbefore.core.errors import NotAllowed
from notbefore.wiring import running_server
from notbefore.workers import process


def pids_of(lab):
    return [worker.process.pid for worker in lab.server.crew._living()]


def is_alive(pid):
    """A process that ended and was not waited for yet is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children_of(pid):
    found = [(task / "children").read_text().split() for task in Path(f"/proc/{pid}/task").iterdir()]
    return sorted(int(one) for ones in found for one in ones)


def test_a_killed_worker_is_replaced_while_the_others_serve(pair):
    """Issue: a dead worker is restarted; those who are connected elsewhere notice nothing, and no count falls."""
    with a_line_to_each(pair.metadata, lambda: metrics_of(pair)) as (first, second):
        for _ in range(50):
            assert first.ask()[0] == second.ask()[0] == 200
        before = metrics_of(pair)
        doomed = next(one for one in pair.server.crew._living() if one.place == 0).process.pid

        os.kill(doomed, signal.SIGKILL)

        until(lambda: metric(metrics_of(pair), "notbefore_worker_restarts_total") == 1)
        counted = metric(before, "notbefore_requests_total")
        for _ in range(50):
            assert second.ask()[0] == 200
            counted, last = metric(metrics_of(pair), "notbefore_requests_total"), counted
            assert counted > last
        until_replaced(pair, 1)
    assert doomed not in pids_of(pair)
    with a_line_to_each(pair.metadata, lambda: metrics_of(pair)) as lines:
        event = pair.made("demo", "FrontEnd_IN_0", "restart")
        for line in lines:
            assert [one["EventId"] for one in line.document()["Events"]] == [event["id"].upper()]


def test_under_load_a_killed_worker_costs_only_its_own_connections(pair):
    """Fresh connections go to those that live; what was answered was answered right."""
    statuses, ended = [], threading.Event()

    def ask_on():
        while not ended.is_set():
            try:
                statuses.append(pair.ask().status)
            except OSError:
                statuses.append(None)

    askers = [threading.Thread(target=ask_on) for _ in range(4)]
    for asker in askers:
        asker.start()
    try:
        for deaths in range(1, 4):
            os.kill(pids_of(pair)[0], signal.SIGKILL)
            until_replaced(pair, deaths)
    finally:
        ended.set()
        for asker in askers:
            asker.join()

    assert set(statuses) <= {200, None}
    assert statuses.count(None) < statuses.count(200)


def test_a_worker_that_is_asked_to_end_finishes_and_is_replaced(pair):
    """SIGTERM to a worker is a restart of that worker; a question that it holds is answered."""
    with ExitStack() as kept:
        lines = [kept.enter_context(closing(KeptLine(pair.metadata))) for _ in range(6)]
        for line in lines:
            line.wait(1)
        until(lambda: metric(metrics_of(pair), "notbefore_metadata_long_polls") == 6)

        for pid in pids_of(pair):
            os.kill(pid, signal.SIGTERM)

        assert [line.answer()[0] for line in lines] == [304] * 6
    until_replaced(pair, 2)
    assert pair.document()["Events"] == []


def test_a_worker_that_hangs_holds_nobody_up_for_long_and_is_ended(pair):
    """Bounded: who does not see a change in time is late and counted, and who hangs is killed and replaced."""
    stopped = pids_of(pair)[0]
    os.kill(stopped, signal.SIGSTOP)

    event = pair.made("demo", "FrontEnd_IN_0", "restart")

    assert metric(metrics_of(pair), "notbefore_worker_late_total") >= 1
    assert pair.event(event["id"])["status"] == "Scheduled"
    pair.server.crew.hangs_after_s = 2.0
    until(lambda: not is_alive(stopped))
    pair.server.crew.hangs_after_s = 60.0
    until(lambda: metric(metrics_of(pair), "notbefore_workers") == 2)
    with a_line_to_each(pair.metadata, lambda: metrics_of(pair)) as lines:
        assert all(line.document()["Events"] for line in lines)


def test_a_worker_that_breaks_the_protocol_is_replaced_and_its_parent_goes_on(pair):
    """Frames are checked by type; who says what does not belong there is cut off."""
    worker = pair.server.crew._living()[0]
    pair.loop.call_soon_threadsafe(worker.line.data_received, b"\x00\x00\x00\x02no")

    until_replaced(pair, 1)
    assert pair.ask().status == 200


def test_when_the_parent_is_killed_its_workers_end_and_it_can_start_again(tmp_path):
    """Issue: kill -9 leaves no orphan; S7: approvals of every worker are there afterwards."""
    approved = []
    unlimited = {"NOTBEFORE_METADATA_RATE_LIMIT_PER_S": "0"}
    with ServerProcess(tmp_path / "state", "--demo", "--workers", "2", env=unlimited) as server:
        workers = children_of(server.process.pid)
        with a_line_to_each(server.metadata, lambda: metrics_of_process(server)) as lines:
            for n, line in enumerate(lines):
                event = server.control("POST", f"/v1/scopes/demo/vms/FrontEnd_IN_{n}/restart", {})[1]
                assert line.approve(event["id"]) == (200, b"")
                approved.append(event["id"])
            server.kill()
        assert len(workers) == 2
        until(lambda: not any(is_alive(pid) for pid in workers))
        where = "{}:{}".format(*server.metadata)

    with ServerProcess(tmp_path / "state", "--workers", "2", metadata=where) as again:
        events = [again.control("GET", f"/v1/events/{event}")[1] for event in approved]
        assert [one["approvals"][0]["vm"] for one in events] == ["FrontEnd_IN_0", "FrontEnd_IN_0"]
        assert again.ask()[0] == 200


def test_a_stop_answers_what_is_held_and_leaves_nobody_behind(tmp_path):
    """Stopping: what was begun is finished, exit code 0, nothing to complain of."""
    with ServerProcess(tmp_path / "state", "--demo", "--workers", "2") as server:
        workers = children_of(server.process.pid)
        with ExitStack() as kept:
            lines = [kept.enter_context(closing(KeptLine(server.metadata))) for _ in range(4)]
            for line in lines:
                line.wait(1)
            until(lambda: metric(metrics_of_process(server), "notbefore_metadata_long_polls") == 4)

            server.process.send_signal(signal.SIGTERM)

            assert [line.answer()[:2] for line in lines] == [(304, None)] * 4
        assert server.process.wait(20) == 0
        assert not any(is_alive(pid) for pid in workers)
    said = server.log.read_text()
    assert not re.search("Traceback|ERROR|WARNING", said), said


def test_a_hang_up_changes_the_settings_of_every_worker_and_drops_no_connection(tmp_path):
    """Issue: graceful reload: the log tells of it when all have taken it."""
    file = tmp_path / "notbefore.toml"
    file.write_text("workers = 2\n[metadata]\nrate_limit_per_s = 0\n")
    with (
        ServerProcess(tmp_path / "state", "--demo", "--config", str(file)) as server,
        a_line_to_each(server.metadata, lambda: metrics_of_process(server)) as lines,
    ):
        workers = children_of(server.process.pid)
        file.write_text("workers = 2\n[metadata]\nrate_limit_per_s = 0.0001\n")
        server.process.send_signal(signal.SIGHUP)
        until(lambda: "setting changed" in server.log.read_text())

        assert [[line.ask()[0] for line in lines] for _ in range(2)] == [[200, 200], [429, 429]]
        assert children_of(server.process.pid) == workers


@pytest.mark.parametrize("shares", [False, True])
def test_a_taken_port_is_an_error_at_start(tmp_path, shares):
    """DESIGN §2: after a probe bind, so that a taken port is still an error, also one that would be shared."""
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, int(shares))
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"

        with (
            pytest.raises(NotAllowed, match="Cannot listen"),
            open_lab(lab_settings(tmp_path / "state", listeners=(address,), workers=2)),
        ):
            pass


def test_a_second_server_does_not_slip_into_the_first_ones_port(pair, tmp_path):
    """Workers share their address among themselves alone."""
    address = "{}:{}".format(*pair.metadata)
    with (
        pytest.raises(NotAllowed, match="Cannot listen"),
        open_lab(lab_settings(tmp_path / "other", listeners=(address,), workers=2)),
    ):
        pass


def test_while_no_worker_lives_the_address_is_kept(pair):
    """The address stays the server's: another program cannot take it meanwhile."""
    for pid in pids_of(pair):
        os.kill(pid, signal.SIGKILL)
    for _ in range(20):
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with pytest.raises(OSError, match="in use"):
                other.bind(pair.metadata)
    until_replaced(pair, 2)
    assert pair.document()["Events"] == []


def test_ready_means_that_somebody_serves(pair):
    """/readyz is 200 when all have come up once and at least one serves."""
    assert pair.control("GET", "/readyz").status == 200
    crew, serving = pair.server.crew, pids_of(pair)
    crew.program = ("sleep", "600")
    os.kill(serving[0], signal.SIGKILL)
    until(lambda: serving[0] not in pids_of(pair) and len(pids_of(pair)) == 2)
    assert pair.control("GET", "/readyz").status == 200
    os.kill(serving[1], signal.SIGKILL)
    until(lambda: pair.control("GET", "/readyz").status == 503)
    until(lambda: serving[1] not in pids_of(pair) and len(pids_of(pair)) == 2)

    crew.program = process.PROGRAM
    for pid in pids_of(pair):
        os.kill(pid, signal.SIGKILL)
    until(lambda: pair.control("GET", "/readyz").status == 200)


async def test_workers_that_do_not_start_are_an_error_at_start(tmp_path):
    """The server says so rather than serve nobody."""
    settings, broken = lab_settings(tmp_path / "state", workers=2), (sys.executable, "-c", "raise SystemExit(3)")
    with pytest.raises(NotAllowed, match="does not start"):
        async with running_server(settings, worker=broken):
            pass


def test_with_faults_the_data_plane_stays_in_one_process(tmp_path):
    """Faults are orders to one data plane; the banner and the log say that there are no workers."""
    with ServerProcess(tmp_path / "state", "--demo", "--allow-faults", "--workers", "2") as server:
        assert children_of(server.process.pid) == []
        assert server.ask()[0] == 200
        assert "workers   none" in server.banner
    assert "no workers are started" in server.log.read_text()


async def test_a_socket_that_was_handed_over_is_served_by_all_workers(tmp_path):
    """A service manager's socket has one queue, from which every worker takes."""
    handed_over = socket.create_server(("127.0.0.1", 0))
    handed_over.setblocking(False)
    settings = lab_settings(tmp_path / "state", demo=True, workers=2)
    async with running_server(settings, {"metadata": [handed_over]}) as server:
        address = server.metadata_urls[0].removeprefix("http://").split(":")
        target, headers = "/metadata/scheduledevents?api-version=2020-07-01", {"Metadata": "true"}
        for _ in range(10):
            status, _ = await asyncio.to_thread(exchange, (address[0], int(address[1])), "GET", target, None, headers)
            assert status == 200
        assert server.crew.serving == 2
