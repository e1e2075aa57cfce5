"""explain, hosts, host-failed: what they print, and how they are refused."""

from cli_fakes import EVENT, NOON, OTHER_EVENT, event

PARAGRAPH = f"Reboot {EVENT} of web-1 in scope shop is Scheduled. It waits for the approval of any VM of scope shop."
HOSTS = [
    {"name": "h1", "executor": "simulate", "declared": True, "vms": {"shop": 2, "bank": 1}},
    {"name": "h2", "executor": "simulate", "declared": False, "vms": {}},
]


def explanation(paragraph=PARAGRAPH, **changed):
    return {
        "event": event(),
        "explanation": paragraph,
        "waiting_for": "the approval of any VM of scope shop",
        "rule": "policy any",
        "waits_on": ["web-1"],
        "until": NOON,
        "released_by": ["`notbefore approve`"],
        **changed,
    }


def test_an_event_is_explained_in_one_paragraph(cli, server):
    """Issue: `notbefore explain EVENT`: one paragraph."""
    server.answers("GET", f"/v1/events/{EVENT}/explain", explanation())

    ran = cli("explain", EVENT.lower())

    assert (ran.code, ran.lines) == (0, [PARAGRAPH])


def test_several_events_are_explained_apart(cli, server):
    server.answers("GET", f"/v1/events/{EVENT}/explain", explanation())
    server.answers("GET", f"/v1/events/{OTHER_EVENT}/explain", explanation("The other."))

    assert cli("explain", EVENT, OTHER_EVENT).lines == [PARAGRAPH, "", "The other."]
    assert [one["explanation"] for one in cli("explain", EVENT, OTHER_EVENT, "--json").json] == [
        PARAGRAPH,
        "The other.",
    ]


def test_an_event_that_is_not_there_cannot_be_explained(cli, server):
    server.refuses("GET", f"/v1/events/{EVENT}/explain", "unknown_event", "No current event has the id.", status=404)

    cli("explain", EVENT).is_refused_with("No current event")


def test_hosts_are_listed_with_their_vms(cli, server):
    """`notbefore hosts`, also as JSON."""
    server.answers("GET", "/v1/hosts", {"hosts": HOSTS})

    assert [" ".join(line.split()) for line in cli("hosts").lines] == [
        "HOST EXECUTOR DECLARED VMS SCOPES",
        "h1 simulate yes 3 shop 2, bank 1",
        "h2 simulate no 0 -",
    ]
    assert cli("hosts", "--json").json == HOSTS


def test_no_hosts_is_a_sentence(cli, server):
    server.answers("GET", "/v1/hosts", {"hosts": []})

    assert cli("hosts").lines == ["No hosts. A VM's `host` in fleet.toml names one."]


def test_a_failed_host_shows_what_started(cli, server):
    """DESIGN §4: notbefore host-failed HOST."""
    started = event(status="Started", not_before=None, waiting_for="the impact on web-1 to be over")
    server.answers("POST", "/v1/hosts/h1/failed", {"events": [started], "not_done": []}, status=202)

    ran = cli("host-failed", "h1")

    assert ran.code == 0
    assert ran.lines == [f"Reboot started: web-1  {EVENT}", "  waiting for the impact on web-1 to be over"]


def test_a_failed_host_without_vms_is_a_sentence(cli, server):
    server.answers("POST", "/v1/hosts/h1/failed", {"events": [], "not_done": []}, status=202)

    assert cli("host-failed", "h1").lines == ["No running VM is on h1."]


def test_what_could_not_be_told_is_said_and_the_exit_code_is_one(cli, server):
    """Exit codes: 1 refused or failed, with a sentence; what was done is shown."""
    not_done = [{"scope": "bank", "code": "store_unavailable", "message": "The disk is full."}]
    server.answers("POST", "/v1/hosts/h1/failed", {"events": [event()], "not_done": not_done}, status=202)

    ran = cli("host-failed", "h1")

    assert ran.lines
    assert ran.is_refused_with("hint: ") == "Not done for scope 'bank': The disk is full."


def test_an_unknown_host_is_refused(cli, server):
    server.refuses("POST", "/v1/hosts/h9/failed", "unknown_host", "There is no host 'h9'.", status=404)

    cli("host-failed", "h9").is_refused_with("There is no host 'h9'.")


def test_a_plan_names_no_ids_in_what_it_waits_for(cli, server):
    """The ids of a plan are never used again."""
    queued = event(status="Queued", waiting_for=f"its turn: update domain 0 is having its own ({OTHER_EVENT})")
    server.answers("POST", "/v1/scopes/shop/maintenance", {"events": [], "queued": [queued]})

    assert OTHER_EVENT not in cli("maintain", "Freeze", "--scope", "shop", "--plan").out
    assert OTHER_EVENT in cli("maintain", "Freeze", "--scope", "shop").out
