"""A fleet of a size that people have: one command, and the same again is nothing."""

from cli_runs import PROGRAM

SCOPES, VMS_PER_SCOPE, DOMAINS, HOSTS = 20, 10, 5, 8


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


def test_two_hundred_vms_in_twenty_scopes_apply_in_one_command_and_the_same_again_changes_nothing(real, lab, fleet):
    """Issue: a 200-VM, 20-scope, 5-UD fleet.toml applies in one command; applied again it changes nothing."""
    file = fleet(large_fleet())

    ran = real.apart(PROGRAM, "apply", file)

    assert ran.code == 0, ran
    assert ran.lines[-1] == f"Applied: {HOSTS} hosts created, {SCOPES} scopes created."
    scopes = lab.control("GET", "/v1/scopes").json["scopes"]
    assert sum(len(scope["vms"]) for scope in scopes) == SCOPES * VMS_PER_SCOPE
    assert {vm["update_domain"] for scope in scopes for vm in scope["vms"]} == set(range(DOMAINS))

    before = lab.history("limit=1000")
    again = real.apart(PROGRAM, "apply", file)
    assert again.lines == [f"Applied: nothing to change, {SCOPES + HOSTS} things unchanged."]
    assert lab.history("limit=1000") == before
