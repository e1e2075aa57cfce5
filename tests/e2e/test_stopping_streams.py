"""A stop does not wait for those who follow history: they would never go."""

import http.client
import signal

from served import ServerProcess


def test_a_stop_ends_the_streams_and_is_not_held_up_by_them(tmp_path):
    """Each with a whole answer; exit code 0, and nothing to complain of."""
    with ServerProcess(tmp_path / "state", "--demo") as server:
        lines = [http.client.HTTPConnection(*server.control_address, timeout=20) for _ in range(3)]
        for line in lines:
            line.request("GET", "/v1/stream", headers={"Authorization": f"Bearer {server.token}"})
        answers = [line.getresponse() for line in lines]
        assert all(answer.readline().startswith(b"retry") for answer in answers)

        server.process.send_signal(signal.SIGTERM)

        assert all(b"id: " in answer.read() for answer in answers)
        assert server.process.wait(20) == 0
        for line in lines:
            line.close()
    assert "Traceback" not in server.log.read_text()
    assert "ERROR" not in server.log.read_text()
