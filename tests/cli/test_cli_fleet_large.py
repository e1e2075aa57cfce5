"""A fleet of a size that people have: one command, under two seconds, and the same again is nothing."""

from cli_runs import PROGRAM

from notbefore.clock import SystemClock

SCOPES, VMS_PER_SCOPE, DOMAINS, HOSTS = 20, 10, 5, 8
APPLY_MAX_S = 2.0


def large_fleet():
    lines = [f'[hosts.rack{n}]\nexecutor = "simulate"\n' for n in range(HOSTS)]
    for s in range(SCOPES):
        lines.append(f'[scopes.svc-{s}]\nkind = "availability-set"\n[scopes.svc-{s}.settings]\nrecovery_s = 60\n')
        lines += [
            f'[[scopes.svc-{s}.vms]]\nname = "vm-{v}"\nupdate_domain = {v % DOMAINS}\nhost = "rack{v % HOSTS}"\n'
            f'addresses = ["10.1.{s}.{v + 1}"]\ntags = {{ tier = "front" }}\n'
            for v in range(VMS_PER_SCOPE)
        ]
    return "\n".join(lines)


def test_two_hundred_vms_in_twenty_scopes_apply_in_under_two_seconds(real, lab, fleet):
    """Issue: a 200-VM, 20-scope, 5-UD fleet.toml applies in one command in under 2 s; applied again it changes nothing."""
    file = fleet(large_fleet())

    clock = SystemClock()
    began = clock.steady_s()
    ran = real.apart(PROGRAM, "apply", file)
    took_s = clock.steady_s() - began

    assert ran.code == 0, ran
    assert ran.lines[-1] == f"Applied: {HOSTS} hosts created, {SCOPES} scopes created."
    scopes = lab.control("GET", "/v1/scopes").json["scopes"]
    assert sum(len(scope["vms"]) for scope in scopes) == SCOPES * VMS_PER_SCOPE
    assert {vm["update_domain"] for scope in scopes for vm in scope["vms"]} == set(range(DOMAINS))
    assert took_s < APPLY_MAX_S

    before = lab.history("limit=1000")
    again = real.apart(PROGRAM, "apply", file)
    assert again.lines == [f"Applied: nothing to change, {SCOPES + HOSTS} things unchanged."]
    assert lab.history("limit=1000") == before
