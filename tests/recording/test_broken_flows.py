"""A recording that is broken is refused by file, line and field, with exit code 2, before anything is served."""

import re
from pathlib import Path

import pytest
from flow_runs import EMPTY, HEADER, OVER, REBOOT, SCHEDULED, as_bytes, ran, replaying, shown, written

from notbefore.core.errors import Invalid
from notbefore.recording import flow, reading
from notbefore.recording.reading import looked_through

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "flow.md"
BROKEN = {
    "no header": (1, (EMPTY,), "flow is missing"),
    "another format": (1, ({**HEADER, "flow": 2}, EMPTY), "flow is 2, and this version reads only format 1"),
    "a format that is none": (1, ({**HEADER, "flow": True}, EMPTY), "flow is true"),
    "no beginning": (1, ({key: HEADER[key] for key in HEADER if key != "began"}, EMPTY), "began is missing"),
    "a beginning that is no time": (1, ({**HEADER, "began": "noon"}, EMPTY), 'began is "noon"'),
    "a beginning beyond time": (1, ({**HEADER, "began": "9999-12-31T23:59:59Z"}, EMPTY), "began is"),
    "an unknown version": (1, ({**HEADER, "api_version": "2030-01-01"}, EMPTY), "api_version is"),
    "a version that is a list": (1, ({**HEADER, "api_version": ["2020-07-01"]}, EMPTY), "api_version is"),
    "a name that moves the cursor": (1, ({**HEADER, "vm": "a\x1b[2J"}, EMPTY), "vm is"),
    "an unknown field of the header": (1, ({**HEADER, "host": "x"}, EMPTY), '"host" is no field'),
    "no JSON": (2, (HEADER, b"{\n"), "it is no JSON"),
    "a line cut short": (3, (HEADER, EMPTY, as_bytes(SCHEDULED)[:30]), "it is no JSON"),
    "an empty line": (2, (HEADER, b"\n", EMPTY), "it is no JSON"),
    "bytes that are no text": (2, (HEADER, b"\xff\xfe\n"), "it is no JSON"),
    "too deep": (2, (HEADER, b"[" * 100_000 + b"\n"), "it is no JSON"),
    "no object": (2, (HEADER, [1]), "it is no JSON object"),
    "no time": (2, (HEADER, {"status": 200, "body": ""}), "t is missing"),
    "a time that is text": (2, (HEADER, {**EMPTY, "t": "0"}), 't is "0"'),
    "a time before the beginning": (2, (HEADER, {**EMPTY, "t": -1}), "t is -1"),
    "a time that is no number": (2, (HEADER, as_bytes(EMPTY).replace(b'"t": 0', b'"t": NaN')), "t is NaN"),
    "times that go back": (4, (HEADER, EMPTY, OVER, SCHEDULED), "t goes back, from 935 to 5"),
    "no status": (2, (HEADER, {"t": 0, "body": ""}), "status is missing"),
    "a status that is none": (2, (HEADER, {**EMPTY, "status": 99}), "status is 99"),
    "a status that is text": (2, (HEADER, {**EMPTY, "status": "200"}), 'status is "200"'),
    "no body": (2, (HEADER, {"t": 0, "status": 200}), "body is missing"),
    "two bodies": (2, (HEADER, {**EMPTY, "body_base64": ""}), "both body and body_base64"),
    "a body that is no text": (2, (HEADER, {**EMPTY, "body": {}}), "body is {}"),
    "a body that has no bytes": (2, (HEADER, {**EMPTY, "body": "\ud800"}), "body is"),
    "base64 that is none": (2, (HEADER, {"t": 0, "status": 200, "body_base64": "?"}), "body_base64 is"),
    "an etag over two lines": (2, (HEADER, {**EMPTY, "etag": "1\r\nX: y"}), "etag is"),
    "an unknown error": (2, (HEADER, {"t": 0, "error": "flood"}), 'error is "flood"'),
    "an error with a status": (2, (HEADER, {"t": 0, "error": "timeout", "status": 200}), '"status" is no field'),
    "an unknown field": (2, (HEADER, {**EMPTY, "staus": 200}), '"staus" is no field'),
    "something behind the end": (4, (HEADER, EMPTY, {"t": 9, "end": True}, OVER), "it stands behind the end"),
    "an end that is none": (3, (HEADER, EMPTY, {"t": 9, "end": False}), "end is false"),
}


@pytest.mark.parametrize(("line", "lines", "sentence"), BROKEN.values(), ids=BROKEN)
def test_a_broken_line_is_refused_by_file_line_and_field(tmp_path, line, lines, sentence):
    file = written(tmp_path, *lines)

    with pytest.raises(Invalid) as refused:
        looked_through(file)

    assert refused.value.message.startswith(f"{file}, line {line}: ")
    assert sentence in refused.value.message
    assert refused.value.facts == {"file": str(file), "line": line}


@pytest.mark.parametrize("lines", [(), (HEADER,), (HEADER, {"t": 3, "end": True})], ids=["empty", "header", "end"])
def test_a_recording_without_anything_to_show_is_refused(tmp_path, lines):
    with pytest.raises(Invalid):
        looked_through(written(tmp_path, *lines))


def test_a_line_that_is_too_long_is_not_read_whole(tmp_path):
    with pytest.raises(Invalid, match="line 2: it is longer than 1048576 bytes"):
        looked_through(written(tmp_path, HEADER, shown(0, "x" * 2 * 1024 * 1024)))


def test_a_line_as_long_as_may_be_is_read(tmp_path):
    longest = shown(0, "")
    longest["body"] = "x" * (flow.LINE_MAX_BYTES - len(as_bytes(longest)))

    assert looked_through(written(tmp_path, HEADER, longest)).changes == 1


def test_a_recording_has_so_many_lines_and_no_more():
    """The limit is a million; the line behind it is refused, however short it is."""
    before = flow.Change(0.0, flow.Shown(error="timeout"))
    line = as_bytes({"t": 0, "error": "timeout"})

    assert reading._line_in(line, flow.LINES_MAX, before) == before
    with pytest.raises(reading.Wrong, match="at most 1000000 lines"):
        reading._line_in(line, flow.LINES_MAX + 1, before)


@pytest.mark.parametrize("lines", [(EMPTY,), (), (HEADER, EMPTY, b"{")], ids=["no header", "empty", "cut short"])
def test_the_command_says_it_in_a_sentence_and_serves_nothing(tmp_path, lines):
    """Exit code 2, nothing on stdout, one sentence and a hint."""
    file = written(tmp_path, *lines)

    code, out, err = ran("replay", str(file), "--metadata", "127.0.0.1:0")

    assert (code, out) == (2, "")
    sentence, hint = err.splitlines()
    assert str(file) in sentence
    assert hint.startswith("hint: ")


@pytest.mark.parametrize("name", ["nothing-there.jsonl", "."])
def test_a_file_that_is_none_is_refused(tmp_path, name):
    code, out, err = ran("replay", str(tmp_path / name), "--metadata", "127.0.0.1:0")

    assert (code, out) == (2, "")
    assert str(tmp_path) in err


def test_a_file_that_breaks_while_it_is_replayed_ends_the_replay_in_a_sentence(tmp_path):
    """It is read line by line; who changes it meanwhile is told."""
    padding = [shown(t, "x" * 100_000) for t in range(1, 4)]
    file = written(tmp_path, HEADER, EMPTY, *padding, *REBOOT[2:])
    with replaying(file, "--step") as replay:
        file.write_bytes(as_bytes(HEADER, EMPTY, padding[0], b"x" * file.stat().st_size))
        replay.process.stdin.write("\n" * 5)
        replay.process.stdin.flush()
        code, _, err = replay.ended()

    assert code == 2
    assert f"{file}, line " in err
    assert "Traceback" not in err


def test_the_flow_on_the_reference_page_can_be_read_and_its_fields_are_all_there_are(tmp_path):
    """Every field has its row, and no row is without its field."""
    page = PAGE.read_text()
    shown_there = re.search(r"<!-- flow -->\n```\n(.*?)```", page, re.DOTALL)[1]

    assert looked_through(written(tmp_path, shown_there.encode())).changes == 3
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", page, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"\w+", row)}
    assert named == reading.FIELDS.keys() | set(flow.ERRORS)
    assert f"{flow.LINE_MAX_BYTES:,} bytes" in page
    assert f"{flow.LINES_MAX:,} lines" in page
