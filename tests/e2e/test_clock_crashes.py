"""A clock that runs, and the end of its server without a word (SPEC §4)."""

from datetime import datetime

from served import ServerProcess

AN_HOUR_A_SECOND = "rate:3600"


def test_a_killed_server_goes_on_from_its_own_time_and_not_from_an_earlier_one(tmp_path):
    """The time that was shown is never shown again, and what is due is still to come."""
    server = ServerProcess(tmp_path / "state", "--demo", "--clock", AN_HOUR_A_SECOND)
    shown = ""
    for _ in range(3):
        server.start()
        _, first = server.control("GET", "/v1/clock")
        assert first["now"] >= shown
        while (shown := server.control("GET", "/v1/clock")[1]["now"]) == first["now"]:
            pass
        server.kill()


def test_an_event_of_a_killed_server_starts_by_itself_afterwards(tmp_path):
    """The notice goes on where it was: not earlier than promised, and at most what was kept ahead later."""
    server = ServerProcess(tmp_path / "state", "--demo", "--clock", AN_HOUR_A_SECOND)
    server.start()
    _, event = server.control("POST", "/v1/scopes/demo/vms/FrontEnd_IN_0/restart", {})
    server.kill()
    with server:
        while (now := server.control("GET", f"/v1/events/{event['id']}")[1])["status"] != "Completed":
            pass

    assert event["not_before"] <= now["started_at"]
    assert (
        datetime.fromisoformat(now["started_at"]) - datetime.fromisoformat(event["not_before"])
    ).total_seconds() <= 7200
