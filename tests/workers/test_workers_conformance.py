"""The metadata API with workers, asked from outside, sentence by sentence."""

import pytest

from lab import lab_settings, open_lab
from notbefore.conformance.check import Verdict
from notbefore.conformance.exchange import Endpoint
from notbefore.conformance.subject import Subject
from notbefore.conformance.suite import run


@pytest.mark.parametrize("version", ["2017-03-01", "2020-07-01"])
def test_a_server_with_workers_passes_every_check(tmp_path, version):
    """Issue: the conformance suite passes with workers on."""
    with open_lab(lab_settings(tmp_path / "state", workers=2)) as lab:
        vms = [{"name": "web-0", "addresses": ["127.0.0.1"], "spot": True}, {"name": "web-1", "spot": True}]
        lab.declare("shop", *vms, listening="always", notice_s={"Freeze": 60})
        for operation in ("restart", "redeploy", "evict", "terminate"):
            lab.made("shop", "web-0", operation)
        lab.made("shop", "web-1", "restart")
        assert lab.approve(lab.made("shop", "web-1", "redeploy")["id"]).status == 200

        findings = run(Subject(Endpoint("http://{}:{}".format(*lab.metadata)), version), approve=True)

    assert [(one.check.name, one.says) for one in findings if one.verdict is not Verdict.PASS] == []
