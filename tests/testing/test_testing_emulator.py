"""notbefore.testing as a test uses it: VMs with endpoints of their own, events of every type, a clock that is turned."""

from datetime import timedelta

import pytest

from notbefore.control_client.refusals import Invalid, NotAllowed, NotSpot, TooEarly, UnknownHost, WrongStatus
from notbefore.testing import Emulator
from notbefore.testing.spans import seconds_of, since_start

TYPES = {"Freeze": "15m", "Reboot": "15m", "Redeploy": "10m", "Preempt": "30s", "Terminate": "5m"}


@pytest.mark.parametrize(("event_type", "notice"), TYPES.items())
def test_an_event_of_every_type_starts_when_its_notice_ends_and_is_over_after_its_impact(
    scheduled_events, event_type, notice
):
    """SPEC §3.1: the notice of each type; the VM sees it over the wire while it lasts."""
    web = scheduled_events.vm("web-0", spot=True)

    event = scheduled_events.schedule(event_type, web)
    seen = web.document().event(event.id)
    scheduled_events.advance(seconds_of(notice) - 1)
    scheduled_events.assert_status(event, "Scheduled")
    scheduled_events.advance(1)
    scheduled_events.assert_status(event, "Started")
    scheduled_events.advance_until("over", event)

    assert (seen.type, seen.status, seen.resources) == (event_type, "Scheduled", ("web-0",))
    assert event.status == "Completed"


def test_a_vms_word_over_the_wire_starts_the_event(scheduled_events):
    """SPEC §2.4: approved, it need not wait for its NotBefore."""
    event = scheduled_events.schedule("Reboot", "web-0")
    scheduled_events.assert_not_approved(event)

    assert scheduled_events.vm("web-0").approve(event) == (event.id,)

    scheduled_events.assert_approved(event, by="WEB-0")
    scheduled_events.assert_not_approved(event, by="web-1")
    scheduled_events.assert_status(event, "started")
    assert [str(one) for one in scheduled_events.vm("web-0").requests] == ["POST 200"]


def test_an_operators_word_starts_it_too_and_a_cancelled_event_is_gone(scheduled_events):
    """SPEC §3.2, §3.5."""
    first, second = scheduled_events.schedule_each("Reboot", "web-0", "web-1")

    scheduled_events.approve(first)
    scheduled_events.cancel(second)

    scheduled_events.assert_approved(first)
    assert (first.status, second.status) == ("Started", "Cancelled")
    assert [one.id for one in scheduled_events.vm("web-1").document().events] == [first.id]
    scheduled_events.complete(first)
    assert first.status == "Completed"


def test_what_cannot_be_cancelled_is_refused_as_the_server_refuses_it(scheduled_events):
    event = scheduled_events.approve(scheduled_events.schedule("Reboot", "web-0"))

    with pytest.raises(WrongStatus) as refused:
        scheduled_events.cancel(event)

    assert refused.value.__notes__ == [refused.value.hint]


def test_each_endpoint_is_one_vm_and_a_vm_sees_its_own_scope(scheduled_events):
    """SPEC §5: by the listener; S8."""
    event = scheduled_events.schedule("Freeze", scheduled_events.vm("web-0", scope="shop"))
    mate, stranger = scheduled_events.vm("web-1", scope="shop"), scheduled_events.vm("web-0", scope="bank")

    assert [one.id for one in mate.document().events] == [event.id]
    assert stranger.document().events == ()
    assert len({vm.endpoint for vm in scheduled_events.vms}) == 3
    assert mate.client().whoami() == "web-1"
    with pytest.raises(Invalid, match="Several scopes"):
        scheduled_events.vm("web-0")
    assert scheduled_events.vm("bank/web-0") is stranger


def test_a_vm_is_declared_once_and_changed_by_what_is_given_later(scheduled_events):
    first = scheduled_events.vm("web-0", host="rack-1", tags={"role": "web"})

    assert scheduled_events.vm("WEB-0", update_domain=3) is first

    (declared,) = scheduled_events.control.scope("test").vms
    assert (declared.name, declared.host, declared.update_domain) == ("web-0", "rack-1", 3)
    assert declared.tags == {"role": "web"}


def test_naming_another_vm_brings_no_deleted_vm_back(scheduled_events):
    """What became of a VM stays."""
    scheduled_events.advance_until("over", scheduled_events.schedule("Terminate", "web-0"))

    scheduled_events.vm("web-1")

    assert [vm.name for vm in scheduled_events.control.scope("test").vms] == ["web-1"]


def test_several_vms_share_one_event_of_the_platform(scheduled_events):
    """SPEC §3.4: one event holds VMs of one update domain."""
    event = scheduled_events.schedule("Freeze", "web-0", "web-1", duration_s=5, description="Rack power.")

    scheduled_events.vm("web-1").approve(event)

    assert event.vms == ("web-0", "web-1")
    assert event.now.description == "Rack power."
    scheduled_events.assert_approved(event, by="web-1")


def test_vms_that_cannot_share_an_event_are_refused_and_nothing_is_made(scheduled_events):
    scheduled_events.vm("web-1", update_domain=1)

    with pytest.raises(Invalid, match="one scope, update domain and host"):
        scheduled_events.schedule("Reboot", "web-0", "web-1")
    with pytest.raises(Invalid, match="cannot be one event"):
        scheduled_events.schedule("Terminate", "web-0", "web-1")

    assert scheduled_events.control.events() == ()


def test_the_source_can_be_the_platform(scheduled_events):
    """A Reboot of one VM is its owner's unless it is said to be maintenance."""
    mine = scheduled_events.schedule("Reboot", "web-0")
    theirs = scheduled_events.schedule("Redeploy", "web-1", source="Platform")

    assert (mine.now.source, theirs.now.source) == ("User", "Platform")
    with pytest.raises(Invalid, match="cannot be one event"):
        scheduled_events.schedule("Freeze", "web-0", source="User")


def test_only_a_spot_vm_is_evicted_and_the_refusal_says_how_to_make_one(scheduled_events):
    """A VM that is first spoken of by its eviction is one."""
    scheduled_events.vm("web-0")

    with pytest.raises(NotSpot) as refused:
        scheduled_events.schedule("Preempt", "web-0")

    assert "spot=True" in refused.value.__notes__[0]
    assert scheduled_events.schedule("Preempt", "web-1").status == "Scheduled"


@pytest.mark.parametrize("span", [1800, "30m", "1800s", "0h 30m", timedelta(minutes=30)])
def test_a_later_not_before_is_given_as_a_time_or_as_a_span(scheduled_events, span):
    by_span = scheduled_events.schedule("Reboot", "web-0", in_s=span)
    by_time = scheduled_events.schedule("Reboot", "web-1", not_before=scheduled_events.now + timedelta(minutes=30))

    assert by_span.not_before == by_time.not_before == scheduled_events.now + timedelta(minutes=30)


def test_a_shorter_notice_needs_a_scope_that_has_it(scheduled_events):
    """SPEC §3.1: settable per scope, shorter too; a shorter NotBefore is refused."""
    with pytest.raises(TooEarly):
        scheduled_events.schedule("Reboot", "web-0", in_s="1m")

    scheduled_events.scope(notice_s={"Reboot": 60})

    assert scheduled_events.schedule("Reboot", "web-0").not_before == scheduled_events.now + timedelta(minutes=1)


def test_scopes_listen_by_themselves_unless_the_real_rule_is_wanted(scheduled_events):
    """SPEC §2.5: a scope whose VMs never asked gets no notice."""
    scheduled_events.scope("real", listening="auto")
    asked = scheduled_events.vm("web-0", scope="real")

    assert scheduled_events.schedule("Reboot", "web-1").status == "Scheduled"
    assert scheduled_events.schedule("Freeze", asked).status == "Started"
    scheduled_events.advance("1m")
    asked.document()
    assert scheduled_events.schedule("Freeze", asked).status == "Scheduled"


def test_a_failed_host_reboots_its_vms_without_notice(scheduled_events):
    """SPEC §3.1."""
    scheduled_events.vm("web-0", host="rack-1")
    scheduled_events.vm("web-1", host="rack-2")

    (event,) = scheduled_events.fail_host("rack-1")

    assert (event.type, event.status, event.vms) == ("Reboot", "Started", ("web-0",))
    with pytest.raises(UnknownHost):
        scheduled_events.fail_host("rack-3")


def test_the_clock_goes_to_what_is_due_and_says_what_happened(scheduled_events):
    """SPEC §4: from due time to due time."""
    event = scheduled_events.schedule("Reboot", "web-0")

    happened = scheduled_events.advance_to_next()

    assert [change.what for record in happened for change in record.changes] == ["started: notice ended"]
    scheduled_events.advance_until(lambda: event.status == "Completed")
    with pytest.raises(NotAllowed):
        scheduled_events.advance_to_next()


def test_after_an_event_the_next_update_domain_waits_for_the_recovery(scheduled_events):
    """SPEC §3.4: one update domain at a time, plus recovery_s."""
    scheduled_events.scope(recovery_s=120)
    scheduled_events.vm("web-0", update_domain=0)
    scheduled_events.vm("web-1", update_domain=1)
    first = scheduled_events.schedule("Freeze", "web-0")
    second = scheduled_events.schedule("Freeze", "web-1")
    assert second.status == "Queued"

    scheduled_events.approve(first)
    scheduled_events.advance_until("completed", first)
    scheduled_events.advance(119)
    assert second.status == "Queued"
    scheduled_events.advance(1)

    assert second.status == "Scheduled"


@pytest.mark.scheduled_events(rate_limit_per_s=1, duration_s={"Reboot": 300})
def test_the_fixture_takes_its_options_from_a_mark(scheduled_events):
    """Tests ask fast, so there is no rate limit unless one is wanted."""
    web = scheduled_events.vm("web-0")
    event = scheduled_events.approve(scheduled_events.schedule("Reboot", web))
    scheduled_events.advance(299)
    assert event.status == "Started"

    with pytest.raises(Exception, match="429"):
        for _ in range(50):
            web.document()


def test_a_subprocess_finds_the_server_by_the_environment_it_is_given(scheduled_events):
    assert set(scheduled_events.env) == {"NOTBEFORE_URL", "NOTBEFORE_TOKEN"}
    assert scheduled_events.vm("web-0").env == {"NOTBEFORE_ENDPOINT": scheduled_events.vm("web-0").endpoint}


def test_what_is_no_event_type_no_vm_and_no_span_is_refused(scheduled_events):
    with pytest.raises(Invalid, match="no event type 'Restart'"):
        scheduled_events.schedule("Restart", "web-0")
    with pytest.raises(Invalid, match="of which VM"):
        scheduled_events.schedule("Reboot")
    with pytest.raises(Invalid, match="no span"):
        scheduled_events.advance("soon")


@pytest.mark.parametrize(
    ("span", "seconds"), [(90, 90), ("90", 90), ("1d2h3m4s", 93784), ("1.5s", 1.5), (timedelta(hours=1), 3600)]
)
def test_spans_are_seconds_texts_or_timedeltas(span, seconds):
    assert seconds_of(span) == seconds


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "+0s"), (900, "+15m"), (3725, "+1h 2m 5s"), (86400, "+1d"), (-5, "-5s")]
)
def test_a_storys_times_count_from_its_beginning(seconds, shown):
    assert since_start(timedelta(seconds=seconds)) == shown


def test_the_state_in_a_directory_that_was_given_outlives_the_emulator(tmp_path):
    """As after a restart of the server."""
    with Emulator(directory=tmp_path / "kept") as first:
        event_id = first.schedule("Reboot", "web-0").id
        first.advance("5m")
    with Emulator(directory=tmp_path / "kept") as second:
        second.advance("10m")

        second.assert_status(event_id, "Started")
