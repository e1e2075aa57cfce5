"""`haproxy` with a real HAProxy and two real backends: nobody's request is lost, and nobody else's wish is undone."""

import socket
import threading

import pytest
from balanced import Load, balanced_by_haproxy
from step_runs import Aside, made, run, until

from notbefore.agent.steps.haproxy import HaproxyStep
from notbefore.agent.steps.haproxy_socket import RuntimeSocket
from notbefore.agent.steps.step import Phase

pytestmark = pytest.mark.part("haproxy")


@pytest.fixture
def balanced(tmp_path):
    with balanced_by_haproxy(tmp_path) as opened:
        yield opened


def step_of(balanced, *servers, **table):
    return made("haproxy", **{"socket": balanced.socket, "servers": list(servers or ["web/two"]), **table})


def held_at(balanced, name):
    """A request that is under way at this backend."""
    backend = getattr(balanced, name)
    others = {"one": "two", "two": "one"}
    balanced.said(f"set server web/{others[name]} state drain")
    answers = []
    thread = threading.Thread(target=lambda: answers.append(balanced.get("/hold")), daemon=True)
    thread.start()
    assert backend.is_held.wait(60)
    balanced.said(f"set server web/{others[name]} state ready")
    return lambda: (thread.join(60), answers[0])[1]


def test_a_backend_leaves_and_comes_back_under_load_and_no_request_fails(balanced):
    """Real HAProxy and two real backends under load: 0 failed requests, before, during and after."""
    step = step_of(balanced)
    load = Load(balanced)
    load.until_more(name="two")

    done = run(step)
    balanced.two.stop()
    load.until_more(100)
    balanced.two.start()
    undone = run(step, Phase.UNDO)
    load.until_more(name="two")

    answers = load.over()
    assert (done.ok, done.sentence) == (True, "web/two is drained")
    assert (undone.ok, undone.sentence) == (True, "web/two is ready")
    assert {answer for answer in answers if answer not in {(200, "one"), (200, "two")}} == set()


def test_a_drained_server_gets_nothing_new_and_is_waited_for(balanced):
    """Finish work in flight: done when its last session has ended."""
    answered = held_at(balanced, "two")
    aside = Aside(step_of(balanced))
    until(lambda: balanced.status("two") == "DRAIN")
    assert {balanced.get() for _ in range(10)} == {(200, "one")}
    assert not aside.is_over

    balanced.two.let_go.set()

    assert aside.result().ok
    assert answered() == (200, "two")


def test_sessions_that_do_not_end_fail_the_step_and_undo_takes_it_back(balanced):
    """Fail-closed: what is in flight would be lost."""
    answered = held_at(balanced, "two")

    done = run(step_of(balanced), limit_s=2)
    undone = run(step_of(balanced), Phase.UNDO)
    balanced.two.let_go.set()

    assert not done.ok
    assert done.sentence == "web/two still has 1 sessions when its time of 2 s was over"
    assert undone.ok
    assert answered() == (200, "two")
    assert balanced.status("two") == "UP"


def test_a_drain_that_is_lost_meanwhile_is_no_success(balanced):
    """As by a reload of HAProxy: the server gets requests again, so it must not go down."""
    answered = held_at(balanced, "two")
    aside = Aside(step_of(balanced), limit_s=4)
    until(lambda: balanced.status("two") == "DRAIN")
    balanced.said("set server web/two state ready")
    balanced.two.let_go.set()

    result = aside.result()

    assert answered() == (200, "two")
    assert not result.ok
    assert "web/two is drained no longer" in result.sentence


class Meddled(RuntimeSocket):
    """Somebody else acts between the two questions of the first look at a drain; the run is cut off after that look."""

    def __init__(self, address, meddle, cut_off):
        super().__init__(address)
        self._acts = [meddle, cut_off.set]
        self._is_drained = False

    def ask(self, command, until):
        said = super().ask(command, until)
        if self._is_drained and self._acts:
            self._acts.pop(0)()
        self._is_drained = self._is_drained or command.endswith("state drain")
        return said


def test_a_drain_that_is_lost_between_two_questions_is_no_success(balanced):
    """Its last session ends after the drain was lost: whoever saw the drain before and the sessions after is wrong."""
    answered, cut_off = held_at(balanced, "two"), threading.Event()

    def lose_it():
        balanced.said("set server web/two state ready")
        balanced.two.let_go.set()
        assert answered() == (200, "two")
        until(lambda: balanced.sessions("two") == 0)

    runtime = Meddled(balanced.socket, lose_it, cut_off)
    result = run(HaproxyStep(runtime, ("web/two",), wait_sessions=True, wait_up=True), cut_off=cut_off)

    assert not result.ok
    assert result.sentence == "web/two is drained no longer when it was cut off"


class Slow(RuntimeSocket):
    """Its third question after the drain is under way when the run is cut off, and not answered before."""

    def __init__(self, address, cut_off):
        super().__init__(address)
        self._cut_off = cut_off
        self._questions = 0

    def ask(self, command, until):
        self._questions += bool(self._questions) or command.endswith("state drain")
        if self._questions > 3:
            self._cut_off.set()
        return super().ask(command, until)

    def _asked(self, command):
        if self._cut_off.is_set():
            threading.Event().wait(60)
        return super()._asked(command)


def test_what_was_still_lacking_is_told_though_the_last_answer_came_too_late(balanced):
    """The administrator hears of the session that did not end, not of HAProxy's silence."""
    answered, cut_off = held_at(balanced, "two"), threading.Event()
    step = HaproxyStep(Slow(balanced.socket, cut_off), ("web/two",), wait_sessions=True, wait_up=True)

    result = run(step, cut_off=cut_off)
    balanced.two.let_go.set()

    assert not result.ok
    assert result.sentence == "web/two still has 1 sessions when it was cut off"
    assert answered() == (200, "two")


def test_a_drain_is_cut_off_while_it_waits(balanced):
    answered = held_at(balanced, "two")
    aside = Aside(step_of(balanced))
    until(lambda: balanced.status("two") == "DRAIN")
    aside.cut_off.set()

    assert not aside.result().ok
    balanced.two.let_go.set()
    assert answered() == (200, "two")


def test_sessions_are_not_waited_for_when_the_table_says_so(balanced):
    answered = held_at(balanced, "two")

    assert run(step_of(balanced, wait_sessions=False)).ok
    assert balanced.status("two") == "DRAIN"
    balanced.two.let_go.set()
    assert answered() == (200, "two")


def test_undo_waits_until_the_health_checks_have_the_server_up(balanced):
    step = step_of(balanced)
    assert run(step).ok
    balanced.two.stop()
    until(lambda: balanced.status("two").startswith("DOWN"))

    late = run(step, Phase.UNDO, limit_s=2)
    balanced.two.start()
    in_time = run(step, Phase.UNDO)

    assert not late.ok
    assert "web/two is still DOWN" in late.sentence
    assert in_time.ok
    assert balanced.status("two") == "UP"


def test_a_server_without_health_checks_is_back_at_once(balanced):
    step = step_of(balanced, "web/one")

    assert run(step).ok
    assert balanced.status("one") == "DRAIN"
    assert run(step, Phase.UNDO).ok
    assert balanced.status("one") == "no check"


def test_what_somebody_else_put_into_maintenance_stays_there(balanced):
    balanced.said("set server web/two state maint")
    step = step_of(balanced)

    done, undone = run(step), run(step, Phase.UNDO)

    assert (done.ok, done.sentence) == (True, "web/two is in maintenance already, and left so")
    assert (undone.ok, undone.sentence) == (True, "web/two is in maintenance, and left so")
    assert balanced.status("two") == "MAINT"


def test_undo_of_what_was_never_drained_changes_nothing(balanced):
    """HAProxy may have been restarted meanwhile."""
    assert run(step_of(balanced), Phase.UNDO).ok
    assert balanced.status("two") == "UP"


def test_a_server_that_there_is_not_fails_the_step_and_is_a_problem_beforehand(balanced):
    """Every other server is seen to all the same."""
    step = step_of(balanced, "web/nope", "nope/two", "web/two")

    result = run(step)

    assert step.problems() == ["HAProxy has no server web/nope", "HAProxy has no server nope/two"]
    assert (result.ok, result.sentence) == (False, "HAProxy has no server web/nope; HAProxy has no server nope/two")
    assert balanced.status("two") == "DRAIN"
    assert step_of(balanced).problems() == []


def test_every_answer_counts_as_a_refusal_unless_it_is_empty(balanced):
    """A socket without the level for it answers `Permission denied`, and goes on as if nothing were wrong."""
    socket_path = balanced.socket.replace("admin", "operator")
    step = step_of(balanced, socket=socket_path)

    result = run(step)

    assert not result.ok
    assert result.sentence.startswith("HAProxy refused `set server web/two state drain`: Permission denied")
    assert step.problems() == [f"the socket {socket_path} needs `level admin`, it has operator"]
    assert balanced.status("two") == "UP"


def test_a_port_of_this_machine_will_do_as_well(balanced):
    step = step_of(balanced, socket=f"127.0.0.1:{balanced.admin_port}")

    assert step.problems() == []
    assert run(step).ok
    assert run(step, Phase.UNDO).ok


def test_no_haproxy_there_is_a_failure_and_a_problem(balanced):
    step = step_of(balanced)
    balanced.process.kill()
    balanced.process.wait()

    assert "HAProxy does not answer at" in run(step).sentence
    assert "HAProxy does not answer at" in step.problems()[0]


def test_one_that_does_not_answer_keeps_nobody_past_a_cut_off():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        aside = Aside(made("haproxy", socket=f"127.0.0.1:{silent.getsockname()[1]}", servers=["web/two"]))
        line, _ = silent.accept()
        with line:
            aside.cut_off.set()

            assert aside.result().sentence == "no answer yet when it was cut off"
