"""The page on nginx, carried out: an agent beside a real nginx takes VMs out and brings them back, under load."""

import http.client
import socket
import subprocess
import threading
from contextlib import contextmanager

import pytest
from backend_process import BackendProcess
from balanced import Backend, Load, second_goes_and_comes_back
from howto_pages import files_of, install, swapped
from served_fleet import served_fleet
from step_runs import WAIT_MAX_S, until

pytestmark = pytest.mark.part("nginx")

PAGE = "agent-nginx.md"
VMS = {"web-1": "one", "web-2": "two"}
CONFIG = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log notice;
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  {upstream}
  server {{
    listen unix:{folder}/front.sock;
    location / {{
      proxy_pass http://web;
      proxy_next_upstream off;
    }}
  }}
}}
"""


class FrontLine(http.client.HTTPConnection):
    """To nginx by a socket file: no port is taken, so none can be taken by another."""

    def __init__(self, path):
        super().__init__("web.example", timeout=WAIT_MAX_S)
        self._path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(WAIT_MAX_S)
        self.sock.connect(self._path)


class Nginx:
    """`proxy_next_upstream off`: what goes wrong at a backend is not tried again, it is seen."""

    def __init__(self, folder, made_backend):
        self.folder = folder
        self.one, self.two = made_backend("one"), made_backend("two")
        self.names = {"/etc/nginx/web.d": str(folder / "web.d"), "/run/nginx.pid": str(folder / "nginx.pid")}
        (folder / "web.d").mkdir(parents=True)
        folder.chmod(0o755)
        for vm, name in VMS.items():
            self.file_of(vm).write_text(f"server 127.0.0.1:{getattr(self, name).port};\n")
        upstream = swapped(files_of(PAGE)["nginx-upstream.conf"], self.names)
        (folder / "nginx.conf").write_text(CONFIG.format(folder=folder, upstream=upstream))
        words = ["nginx", "-c", str(folder / "nginx.conf"), "-p", str(folder), "-e", str(folder / "error.log")]
        self.process = subprocess.Popen(words)
        until(self._answers)

    def _answers(self):
        try:
            return self.get()
        except OSError:
            return None

    def file_of(self, vm):
        return self.folder / "web.d" / f"{vm}.conf"

    def get(self, path="/"):
        line = FrontLine(self.folder / "front.sock")
        try:
            line.request("GET", path)
            answer = line.getresponse()
            return answer.status, answer.read().decode()
        finally:
            line.close()

    def close(self):
        self.one.close()
        self.two.close()
        self.process.terminate()
        self.process.wait(WAIT_MAX_S)


@contextmanager
def balanced_by_nginx(folder, made_backend=BackendProcess):
    nginx = Nginx(folder, made_backend)
    try:
        yield nginx
    finally:
        nginx.close()


@pytest.fixture
def fleet(tmp_path):
    with served_fleet(tmp_path, *VMS, "lb-1") as opened:
        yield opened


@pytest.fixture
def nginx(tmp_path):
    with balanced_by_nginx(tmp_path / "nginx") as opened:
        yield opened


def agent_in(fleet, nginx, place):
    install(PAGE, place / "lb-1", nginx.names)
    return fleet.agent_in("lb-1")


def failed(answers):
    return [answer for answer in answers if answer not in {(200, "one"), (200, "two")}]


def test_a_redeploy_of_a_vm_behind_nginx_gives_no_failed_request(fleet, nginx, tmp_path):
    """Taken out, approved for, really gone, and back."""
    agent = agent_in(fleet, nginx, tmp_path)
    before = nginx.file_of("web-2").read_text()
    load = Load(nginx, at_once=8)
    load.until_more(name="two")

    event = fleet.operate("web-2", "redeploy")
    assert agent.says("is now Started"), agent.log
    second_goes_and_comes_back(nginx, load, fleet, agent)

    assert failed(load.over()) == []
    assert fleet.approvals_of(event) == ["vm lb-1"]
    assert nginx.file_of("web-2").read_text() == before


def test_a_request_in_flight_is_waited_for(fleet, tmp_path):
    """Not approved while the VM still works for somebody."""
    with balanced_by_nginx(tmp_path / "nginx", Backend) as nginx:
        agent = agent_in(fleet, nginx, tmp_path)
        answers = []
        asking = [threading.Thread(target=lambda: answers.append(nginx.get("/hold")), daemon=True) for _ in VMS]
        for thread in asking:
            thread.start()
        assert nginx.two.is_held.wait(WAIT_MAX_S)

        event = fleet.operate("web-2", "redeploy")
        assert agent.says("step 'take-out' begins"), agent.log
        until(lambda: " down;" in nginx.file_of("web-2").read_text())
        assert fleet.status_of(event) == "Scheduled"
        nginx.one.let_go.set()
        nginx.two.let_go.set()

        assert agent.says("is now Started"), agent.log
        for thread in asking:
            thread.join(WAIT_MAX_S)
        assert sorted(answers) == [(200, "one"), (200, "two")]


def test_the_last_server_is_not_taken_out(fleet, nginx, tmp_path):
    """Fail-closed; and what somebody else has marked down stays so."""
    nginx.file_of("web-1").write_text(f"server 127.0.0.1:{nginx.one.port} down;\n")
    agent = agent_in(fleet, nginx, tmp_path)

    event = fleet.operate("web-2", "redeploy")
    assert agent.says("step 'take-out' failed"), agent.log
    fleet.cancel(event)
    assert agent.says("nothing is left to do"), agent.log

    assert fleet.approvals_of(event) == []
    assert " down;" not in nginx.file_of("web-2").read_text()
    assert nginx.file_of("web-1").read_text().endswith(" down;\n")
    assert nginx.get() == (200, "two")


def test_two_events_at_once_take_out_one_vm_each_time(fleet, nginx, tmp_path):
    """`shared = false`: the second is refused here because nobody would be left, not taken for done."""
    agent = agent_in(fleet, nginx, tmp_path)

    fleet.operate("web-1", "redeploy")
    assert agent.says("Redeploy of web-1: is now Started"), agent.log
    second = fleet.operate("web-2", "redeploy")

    assert agent.says("Redeploy of web-2: not approved: step 'take-out' failed"), agent.log
    assert fleet.approvals_of(second) == []
    assert nginx.get() == (200, "two")
