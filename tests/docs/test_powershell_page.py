"""The PowerShell page, without PowerShell: every call on it is taken apart and sent to a real server as it stands."""

import re

import pytest
from pages import DOCS, FENCE, text_of

PAGE = text_of(DOCS / "how-to" / "powershell.md")
CALL = re.compile(
    r"(?P<keeps>\$event = )?\(?Invoke-RestMethod -Method (?P<method>\w+) -Uri \"(?P<uri>[^\"]+)\" -Headers \$headers"
    r"(?P<typed> -ContentType \"application/json\" -Body '(?P<body>[^']*)')?(?P<part>\)[.\w\[\]]+)?"
)
CALLS = [call for language, block in FENCE.findall(PAGE) if language == "powershell" for call in CALL.finditer(block)]
REFUSED = {"$base/scopes/nowhere": 404}


def test_every_call_of_the_page_is_found():
    """None is written in a way that this test does not take apart."""
    assert len(CALLS) == sum(block.count("Invoke-RestMethod") for language, block in FENCE.findall(PAGE) if language)
    assert {call["method"] for call in CALLS} == {"Get", "Post", "Put", "Delete"}


def test_the_header_is_the_one_the_server_wants():
    assert '$headers = @{ Authorization = "Bearer $env:NOTBEFORE_TOKEN" }' in PAGE
    assert '$base = "http://127.0.0.1:8255/v1"' in PAGE


def test_every_call_is_answered_as_the_page_says(demo):
    """In the order of the page, each with what the one before it left in $event."""
    event = None
    for call in CALLS:
        reply = sent(demo, call, event)
        assert reply.status < 300 or reply.status == REFUSED.get(call["uri"]), reply
        if call["keeps"]:
            event = reply.json["events"][0] if call["part"] else reply.json
        elif call["part"]:
            assert call["part"].removeprefix(").") in reply.json
    assert event["status"] == "Scheduled"
    assert demo.event(event["id"])["status"] == "Cancelled"


def sent(demo, call, event):
    path = call["uri"].replace("$base", "/v1")
    if event:
        path = path.replace("$($event.id)", event["id"])
    assert "$" not in path
    headers = {"Authorization": f"Bearer {demo.server.token}"}
    if call["typed"]:
        headers["Content-Type"] = "application/json"
    return demo.request(demo.control_address, call["method"].upper(), path, call["body"], headers)


@pytest.mark.parametrize("call", [call for call in CALLS if call["uri"] in REFUSED], ids=lambda call: call["uri"])
def test_a_refusal_has_the_body_that_the_page_reads(demo, call):
    assert sent(demo, call, None).json["error"]["message"]
