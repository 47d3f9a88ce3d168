"""The audit from the command line."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import dovetail as dv


def test_a_certificate_shows_tables_worst_case_and_zeta(run) -> None:
    text = run("audit", "mixture:0.2,1,5").stdout
    assert "65,536 cells" in text
    assert "charged epsilon 1" in text
    assert "charged zeta 0.328" in text
    assert "verdict     holds" in text


def test_a_failing_audit_is_exit_code_1(run, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = replace(dv.audit.sampler(dv.Geometric(1)), findings=("threshold 3 is off by one",))
    monkeypatch.setattr("dovetail.audit.sampler", lambda noise: broken)
    assert "FAILS: threshold 3 is off by one" in run("audit", "geometric:1", code=1).stdout


def test_an_infinite_loss_is_null_in_json(run) -> None:
    (found,) = json.loads(run("audit", "truncated-geometric:0.5,10", "--json").stdout)
    assert found["charged_epsilon"] is None


def test_noise_on_the_reals_has_no_sampler_to_audit(run) -> None:
    run("audit", "laplace:1", code=2)
