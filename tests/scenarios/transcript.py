"""Stories with several actors, told as transcripts and played against a real server on the manual clock.

A story is a text file: `> ` begins a line somebody says, what follows is what is seen. Ids of events are written E1,
E2, … in the order they appear, those of operations O1 and of rollouts R1, times as +H:MM:SS since the story began; a VM
is name@domain/host, with a * when it is a spot VM. The whole file is compared byte for byte;
`NOTBEFORE_REWRITE_SCENARIOS=1 make test` writes what was seen instead.
"""

import re
from datetime import datetime

from lab import lab_settings, open_lab
from notbefore.cli import operation_lines, rollout_lines
from notbefore.cli.event_lines import of_what
from notbefore.cli.replaying import verify
from notbefore.control_client import ControlApi

GUID = re.compile(r"[0-9A-F]{8}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{12}")
# Operations and rollouts: their letter is known when they are made, or by the word before them.
OTHER_ID = re.compile(r"(operation |rollout )?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
RFC1123 = re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT")
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Story:
    def __init__(self, state):
        self._state = state
        self._settings = lab_settings(state)
        self._ids = {}
        self._other_ids = {}
        self._sources = {}
        self._began = None
        self._lab = None

    def play(self, text):
        """The story as it went: every line said, with what was seen after it."""
        told = []
        self._open = open_lab(self._settings)
        self._lab = self._open.__enter__()
        self._began = moment(self._lab.control("GET", "/v1/clock").json["now"])
        try:
            for line in text.splitlines():
                if line.startswith("> "):
                    told += [line, *(self._plain(seen) for seen in self._said(line[2:]))]
                    self._settled()
                    self._history_leads_here()
                elif line.startswith("#") or not line:
                    told.append(line)
        finally:
            self._open.__exit__(None, None, None)
        return "\n".join(told) + "\n"

    def _history_leads_here(self):
        """Whatever was said: history replayed from empty gives the present state."""
        with ControlApi(self._lab.server.control_url, self._lab.server.token) as api:
            verify(api, [])

    # -- who says what

    def _said(self, line):
        for pattern, answer in self.LINES:
            if found := re.fullmatch(pattern, line):
                return answer(self, *found.groups())
        raise ValueError(f"nobody understands: {line}")

    def _scope(self, scope, settings, vms):
        declared = []
        for vm in vms.split():
            spot = vm.endswith("*")
            name, _, place = vm.rstrip("*").partition("@")
            domain, _, host = place.partition("/")
            address = self._sources.setdefault((scope, name), f"127.0.1.{len(self._sources) + 1}")
            declared.append(
                {"name": name, "update_domain": int(domain or 0), "host": host, "addresses": [address], "spot": spot}
            )
        self._lab.declare(scope, *declared, **dict(setting(word) for word in (settings or "").split()))
        return []

    def _asks(self, vm, version):
        reply = self._lab.ask(self._source(vm), version or "2020-07-01")
        if reply.status != 200:
            return [f"{reply.status} {reply.body.decode()}"]
        document = reply.json
        return [f"incarnation {document['DocumentIncarnation']}", *(shown(event) for event in document["Events"])]

    def _approves(self, vm, names):
        reply = self._lab.approve(*(self._id(name) for name in names.split()), source=self._source(vm))
        return [f"{reply.status} {reply.body.decode()}".rstrip()]

    def _operates(self, operation, vm, wanted):
        scope = next(scope for scope, name in self._sources if name == vm)
        return self._controlled("POST", f"/v1/scopes/{scope}/vms/{vm}/{operation}", self._wanted(wanted))

    def _maintains(self, event_type, scope, domains, wanted):
        body = {"type": event_type, **self._wanted(wanted)}
        if domains:
            body["update_domains"] = [int(one) for one in domains.split()]
        return self._controlled("POST", f"/v1/scopes/{scope}/maintenance", body)

    def _maintains_host(self, event_type, host):
        reply = self._lab.control("POST", f"/v1/hosts/{host}/maintenance", {"type": event_type})
        if reply.status >= 400:
            return [f"{reply.status} {reply.json['error']['message']}"]
        operation = reply.json["operation"]["id"]
        self._known_as("O", operation)
        self._settled()
        return self._operation(operation)

    def _rolls_out(self, event_type, over, limits):
        wanted = dict(setting(word) for word in (limits or "").split())
        chosen = {"all": True} if over == "every host" else {"scopes": "*"}
        reply = self._lab.control("POST", "/v1/rollouts", {"type": event_type, **chosen, "limits": wanted})
        if reply.status >= 400:
            return [f"{reply.status} {reply.json['error']['message']}"]
        rollout = reply.json["rollout"]["id"]
        self._known_as("R", rollout)
        self._settled()
        planned = [
            f"plan: wave {wave['number']} of {wave['target']}: {wave['visible']} {wave['not_before']} {wave['ends']}"
            for wave in reply.json["plan"]["waves"]
        ]
        return [*planned, *self._rollout(rollout)]

    def _says_to(self, word, noun, name):
        reply = self._lab.control("POST", f"/v1/{noun}s/{self._other(name)}/{word}")
        self._settled()
        return [f"{reply.status} {reply.json['error']['message']}"] if reply.status >= 400 else []

    def _operation(self, name):
        operation = self._lab.control("GET", f"/v1/operations/{self._other(name)}").json
        events = [
            f"  wave {wave['number']}: {event['event']} of {event['scope']}, {event['stage']}"
            for wave in operation["waves"]
            for event in wave["events"]
        ]
        waits = operation_lines.placed("  waits", operation["waiting"])
        left = operation_lines.placed("  left alone", operation["left"])
        return [*operation_lines.lines_of(operation), *events, *waits, *left]

    def _rollout(self, name):
        rollout = self._lab.control("GET", f"/v1/rollouts/{self._other(name)}").json
        operations = self._lab.control("GET", "/v1/operations").json["operations"]
        return rollout_lines.lines_of(rollout, {one["id"]: one for one in operations})

    def _settled(self):
        """What is driven in the background has gone as far as it goes at this time."""
        self._lab.advance(0)

    def _host_failed(self, host):
        return self._controlled("POST", f"/v1/hosts/{host}/failed")

    def _vms(self, scope):
        vms = self._lab.control("GET", f"/v1/scopes/{scope}").json["vms"]
        return [f"{vm['name']} {vm['state']}{' on ' + vm['host'] if vm['host'] else ''}" for vm in vms] or ["none"]

    def _explains(self, name):
        return [self._lab.control("GET", f"/v1/events/{self._id(name)}/explain").json["explanation"]]

    def _why(self, name):
        told = self._lab.control("GET", f"/v1/events/{self._id(name)}/explain").json
        until = f" until {told['until']}" if told["until"] else ""
        on = f" on {', '.join(told['waits_on'])}" if told["waits_on"] else ""
        return [f"{told['rule']}{on}{until}", *(f"  released by {one}" for one in told["released_by"])]

    def _acts(self, action, name):
        return self._controlled("POST", f"/v1/events/{self._id(name)}/{action}")

    def _controlled(self, method, path, body=None):
        reply = self._lab.control(method, path, body)
        if reply.status >= 400:
            return [f"{reply.status} {reply.json['error']['message']}"]
        several = "events" in reply.json
        events = [*reply.json["events"], *reply.json.get("queued", ())] if several else [reply.json]
        return [standing(event) for event in events]

    def _events(self):
        return [standing(event) for event in self._lab.control("GET", "/v1/events").json["events"]] or ["none"]

    def _advances(self, amount, unit):
        return self._happened(self._lab.advance(int(amount) * UNITS[unit]))

    def _advances_quietly(self, amount, unit):
        """Where scopes go on at the same time, what they tell comes in no certain order."""
        return [f"it is {self._lab.advance(int(amount) * UNITS[unit])['now']}"]

    def _to_next(self):
        reply = self._lab.control("POST", "/v1/clock", {"to_next": True})
        return self._happened(reply.json) if reply.status == 200 else [reply.json["error"]["message"]]

    def _happened(self, turned):
        seen = [
            f"{record['at']} {record['scope'] or of_what(change)}: "
            f"{change['event']['id'] + ' ' if change['event'] else ''}"
            f"{change['what']} ({change['by']}): {change['why']}"
            for record in turned["happened"]
            for change in record["changes"]
        ]
        return [*seen, f"it is {turned['now']}"]

    def _restarts_the_server(self, failing=None):
        failures = {"simulate": {"failure_rate": {failing: 1.0}}} if failing else None
        self._settings = lab_settings(self._state, executor=failures)
        self._open.__exit__(None, None, None)
        self._open = open_lab(self._settings)
        self._lab = self._open.__enter__()
        return []

    def _history(self, name):
        records = self._lab.history(f"event={self._id(name)}")
        return [
            f"{record['at']} {change['what']} ({change['by']}): {change['why']}"
            for record in records
            for change in record["changes"]
            if change["event"] and change["event"]["id"] == self._id(name)
        ]

    LINES = (
        (r"scope (\S+?)(?: with (.+?))?: (.*)", _scope),
        (r"operator (restart|redeploy|freeze|evict|terminate)s? (\S+)(?: not before (\S+))?", _operates),
        (r"operator maintains (\S+) of (\S+?)(?: domains ([\d ]+?))?(?: not before (\S+))?", _maintains),
        (r"operator maintains (\S+) of host (\S+)", _maintains_host),
        (r"operator rolls (\S+) out over (every host|every scope)(?: with (.+))?", _rolls_out),
        (r"operator (pause|resume|cancel)s (operation|rollout) (\S+)", _says_to),
        (r"operator (approve|cancel|complete)s? (\S+)", _acts),
        (r"operator says that host (\S+) failed", _host_failed),
        (r"events", _events),
        (r"vms of (\S+)", _vms),
        (r"why (\S+)", _why),
        (r"explain (\S+)", _explains),
        (r"clock advances (\d+)([smhd])", _advances),
        (r"clock quietly advances (\d+)([smhd])", _advances_quietly),
        (r"clock to next", _to_next),
        (r"server restarts(?:, and every (\S+) fails)?", _restarts_the_server),
        (r"operation (\S+)", _operation),
        (r"rollout (\S+)", _rollout),
        (r"history of (\S+)", _history),
        (r"(\S+) asks(?: (\S+))?", _asks),
        (r"(\S+) approves (.+)", _approves),
    )

    # -- names for ids, addresses and times

    def _source(self, vm):
        return next(address for (_, name), address in self._sources.items() if name == vm)

    def _id(self, name):
        return next((event_id for event_id, known in self._ids.items() if known == name), name)

    def _other(self, name):
        return next((other for other, known in self._other_ids.items() if known == name), name)

    def _known_as(self, letter, other_id):
        number = sum(known.startswith(letter) for known in self._other_ids.values()) + 1
        return self._other_ids.setdefault(other_id, f"{letter}{number}")

    def _wanted(self, not_before):
        if not_before is None:
            return {}
        hours, minutes, seconds = (int(part) for part in not_before.lstrip("+").split(":"))
        at = self._began + hours * 3600 + minutes * 60 + seconds
        return {"not_before": datetime.fromtimestamp(at).astimezone().isoformat()}

    def _plain(self, seen):
        for event_id in GUID.findall(seen):
            self._ids.setdefault(event_id, f"E{len(self._ids) + 1}")
        seen = GUID.sub(lambda found: self._ids[found.group()], seen)
        seen = OTHER_ID.sub(self._other_named, seen)
        seen = ISO.sub(lambda found: self._since(moment(found.group())), seen)
        return RFC1123.sub(lambda found: self._since(rfc1123_moment(found.group())), seen)

    def _other_named(self, found):
        word, other_id = found.groups()
        return f"{word or ''}{self._known_as('R' if word == 'rollout ' else 'O', other_id)}"

    def _since(self, at):
        seconds = round(at - self._began)
        sign, seconds = ("-", -seconds) if seconds < 0 else ("+", seconds)
        return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def shown(event):
    """An event as a VM sees it."""
    when = f", not before {event['NotBefore']}" if event["NotBefore"] else ""
    vms = " ".join(event["Resources"])
    return f"  {event['EventId']} {event['EventType']} {event['EventStatus']} of {vms}{when}"


def standing(event):
    """An event as an operator sees it."""
    vms = " ".join(event["vms"])
    return f"{event['id']} {event['type']} {event['status']} of {vms}; waits for {event['waiting_for']}"


def setting(word):
    name, _, value = word.partition("=")
    if value in ("true", "false"):
        return name, value == "true"
    if value.startswith("{"):
        pairs = (pair.split(":") for pair in value.strip("{}").split(","))
        return name, {key: int(one) if one.isdigit() else one for key, one in pairs}
    if "," in value or ":" in value:
        return name, value.split(",")
    return name, int(value) if value.isdigit() else value


def moment(text):
    return datetime.fromisoformat(text).timestamp()


def rfc1123_moment(text):
    return datetime.strptime(text.replace("GMT", "+0000"), "%a, %d %b %Y %H:%M:%S %z").timestamp()
