"""Recorded, replayed and recorded again: the same flow. And the samples that come with the program can be replayed."""

import json
from pathlib import Path

import pytest
from flow_runs import EMPTY, HEADER, SCHEDULED, STARTED, document, event, recording, replaying, shown, written

from notbefore.recording.flow import Change, as_line
from notbefore.recording.reading import flow_lines, looked_through

EXAMPLES = Path(__file__).parents[2] / "examples" / "flows"
SAMPLES = sorted(EXAMPLES.glob("*.jsonl"))


def recorded_again(file, changes, *words):
    """What a recorder writes that listens to a replay of this."""
    with replaying(file, "--step", *words) as replay, recording(replay.url) as record:
        lines = [record.json_line(), record.json_line()]
        for _ in range(changes - 1):
            replay.press_enter()
            lines.append(record.json_line())
        record.told()
    return lines


def without_times(lines):
    return [{name: value for name, value in line.items() if name not in ("t", "began")} for line in lines]


def test_a_flow_recorded_from_its_replay_is_the_same_flow(demo, tmp_path):
    """Header, documents, ETags: all but the times."""
    file = tmp_path / "first.jsonl"
    with recording(demo.server.metadata_urls[0]) as record:
        lines = [record.json_line(), record.json_line()]
        made = demo.made("demo", "FrontEnd_IN_0", "restart")
        lines.append(record.json_line())
        demo.approve(made["id"])
        lines.append(record.json_line())
        demo.advance(60)
        lines.append(record.json_line())
        record.told()
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))

    again = recorded_again(file, 4, "--verbatim")

    assert without_times(again) == without_times(lines)


def test_trouble_comes_through_as_trouble(tmp_path):
    """410, garbage, an odd status, a cut connection and silence are recorded from a replay as they were recorded."""
    flow = (
        HEADER,
        EMPTY,
        shown(1, "updating", status=410, retry_after="1"),
        {"t": 2, "status": 200, "body_base64": "//4="},
        SCHEDULED,
        {"t": 8, "error": "broken"},
        shown(9, "", status=520),
        {"t": 10, "error": "timeout"},
        STARTED,
    )

    again = recorded_again(written(tmp_path, *flow), len(flow) - 1, "--verbatim")

    assert without_times(again) == without_times(flow)


def test_an_event_whose_not_before_is_moved_differs_in_nothing_else(tmp_path):
    flow = (HEADER, EMPTY, shown(5, document(2, event(Description='"NotBefore":"x"')), "2"))

    again = json.loads(recorded_again(written(tmp_path, *flow), 2)[2]["body"])

    before = json.loads(flow[2]["body"])
    assert again["Events"][0].pop("NotBefore") != before["Events"][0].pop("NotBefore")
    assert again == before


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.stem)
def test_a_sample_is_read_and_written_back_byte_for_byte(sample):
    """The reader and the writer mean the same."""
    assert b"".join(map(as_line, flow_lines(sample))) == sample.read_bytes()


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.stem)
def test_a_sample_goes_from_scheduled_to_started_to_nothing(sample):
    look = looked_through(sample)
    bodies = [line.shown.body for line in flow_lines(sample) if isinstance(line, Change) and line.shown.status == 200]
    statuses = [[one["EventStatus"] for one in json.loads(body)["Events"]] for body in bodies]

    assert look.header.vm
    assert [one for n, one in enumerate(statuses) if statuses[n - 1 : n] != [one]] == [
        [],
        ["Scheduled"],
        ["Started"],
        [],
    ]


def test_there_are_two_samples():
    assert len(SAMPLES) == 2
