"""The audit passes every sampler we ship and rejects each kind of broken one."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dovetail import audit
from dovetail.audit import certificate
from dovetail.audit.certificate import certify
from dovetail.errors import InvalidParameter
from dovetail.noise import (
    DiscreteGaussian,
    Geometric,
    GeometricMixture,
    Laplace,
    LaplaceMixture,
    PiecewiseGeometric,
    Staircase,
    TruncatedGeometric,
)
from dovetail.privacy import privacy_loss
from dovetail.sampling.build import build
from dovetail.sampling.digits import Group, digits_of
from dovetail.sampling.draws import sampler_for
from dovetail.sampling.steps import Steps

NARROW = Geometric("1/3")
WIDE = GeometricMixture("1e-5", "5e-5", 100_003)
SHIPPED = [
    NARROW,
    WIDE,
    GeometricMixture("0.2", 1, 5),
    GeometricMixture(1, "0.2", 3),
    Geometric(60),
    Geometric("0.001"),
    Geometric("1e-6"),
    Geometric("1e-15"),
    Laplace("0.7").rounded(),
    LaplaceMixture("0.2", 1, "4.3").rounded(),
    LaplaceMixture("1e-4", "7e-4", "12345.6").rounded(),
    PiecewiseGeometric([f"{i}e-6" for i in range(1, 9)], [100_000 * i for i in range(1, 8)]),
    Staircase(1),
    DiscreteGaussian(5),
    TruncatedGeometric(1, 10),
]


@pytest.mark.parametrize("noise", SHIPPED, ids=repr)
def test_every_shipped_sampler_is_certified(noise):
    found = audit.sampler(noise)
    assert found.holds, found.findings
    assert found.thresholds >= 2 * sampler_for(noise).depth
    assert found.table_bytes <= 2 * 1024**2
    assert "holds" in str(found)


def test_a_law_drawn_by_refusals_is_certified():
    assert audit.sampler(DiscreteGaussian(1500)).holds


@pytest.mark.parametrize("noise", SHIPPED[:13], ids=repr)
def test_the_audit_and_the_accounting_agree_on_epsilon_and_zeta(noise):
    found = audit.sampler(noise)
    assert found.worst_ratio == pytest.approx(found.charged_epsilon, rel=1e-14)
    assert found.zeta == pytest.approx(found.charged_zeta, rel=1e-9)


def test_finite_support_has_no_finite_ratio():
    assert audit.sampler(TruncatedGeometric(1, 10)).worst_ratio == float("inf")


def test_a_real_valued_noise_is_refused_kindly():
    with pytest.raises(InvalidParameter, match="on_lattice"):
        audit.sampler(Laplace(1))


def _moved(steps, index, by):
    low, high = steps.low.copy(), steps.high.copy()
    low[index] = int(low[index]) + by
    high[index] = int(high[index]) + by
    return Steps(low, high)


def _cells(tables, change):
    cells = tables.cells.copy()
    change(cells)
    return replace(tables, cells=cells)


def test_tables_of_a_rate_off_by_5_percent_fail():
    wrong = build(Geometric(Fraction(1, 3) * Fraction(105, 100)))
    assert "thresholds are wrong" in str(certify(NARROW, wrong))
    # Even if draws beyond the tables ask the right law.
    repaired = replace(wrong, blocks=replace(wrong.blocks, law=NARROW))
    assert not certify(NARROW, repaired).holds


def test_tables_of_finite_support_fail():
    wrong = build(TruncatedGeometric("1/3", 60))
    assert not certify(NARROW, replace(wrong, blocks=replace(wrong.blocks, law=NARROW))).holds
    # Cut where the mass beyond is below 2^-64: the thresholds are right, the law behind them is not.
    far = build(TruncatedGeometric(1, 60))
    found = certify(Geometric(1), far)
    assert "draws beyond the tables ask another law" in found.findings


@pytest.mark.parametrize("index", [0, 1, 100, 131, 132, 133, 263])
def test_one_threshold_off_by_one_unit_in_2_to_64_fails(index):
    tables = sampler_for(NARROW)
    steps = _moved(tables.steps, index, -1 if index == 263 else 1)
    assert "1 thresholds are wrong" in certify(NARROW, replace(tables, steps=steps)).findings


@pytest.mark.parametrize("noise", [NARROW, WIDE], ids=repr)
def test_values_off_by_one_fail(noise):
    tables = sampler_for(noise)

    def shift(cells):
        cells[cells != tables.unset] += 1

    def one(cells):
        cells[np.flatnonzero(cells != tables.unset)[77]] -= 1

    for change in (shift, one):
        assert "cells lead elsewhere" in str(certify(noise, _cells(tables, change)))


def test_a_cut_cell_that_answers_fails():
    tables = sampler_for(NARROW)

    def answer(cells):
        cells[np.flatnonzero(cells == tables.unset)[50]] = 1

    assert "a threshold cuts" in str(certify(NARROW, _cells(tables, answer)))


def test_a_cut_cell_that_is_left_open_is_no_error():
    tables = sampler_for(NARROW)

    def forget(cells):
        cells[::7] = tables.unset

    assert certify(NARROW, _cells(tables, forget)).holds


def _with_offsets(**change):
    tables = sampler_for(WIDE)
    return replace(tables, offsets=replace(tables.offsets, **change))


def test_digits_of_another_rate_fail():
    digits = sampler_for(WIDE).offsets.digits
    groups = tuple(Group(group.rate * Fraction(21, 20), group.width) for group in digits.groups)
    assert not certify(WIDE, _with_offsets(digits=digits_of(groups, 16))).holds


def test_digit_tables_off_by_one_fail():
    digits = sampler_for(WIDE).offsets.digits
    table = digits.table.copy()
    table[0, np.flatnonzero(table[0] == 5)[3]] = 6
    assert "cells of digits" in str(certify(WIDE, _with_offsets(digits=replace(digits, table=table))))
    steps = (_moved(digits.steps[0], 9, 1), *digits.steps[1:])
    assert "thresholds of digits" in str(certify(WIDE, _with_offsets(digits=replace(digits, steps=steps))))


@pytest.mark.parametrize("name", ["sure", "least", "most"])
def test_rejections_decided_too_early_fail(name):
    ground = sampler_for(WIDE).offsets.ground
    value = getattr(ground, name)
    wrong = {"sure": value + 120, "least": value + value // 500, "most": value - 1}[name]
    changed = replace(ground, **{name: wrong if name == "sure" else wrong.astype(np.uint64)})
    assert "decided too early" in str(certify(WIDE, _with_offsets(ground=changed)))


def test_ground_without_rejection_fails():
    ground = replace(sampler_for(WIDE).offsets.ground, sure=1 << 16)
    assert not certify(WIDE, _with_offsets(ground=ground)).holds


def test_blocks_that_overlap_or_mix_runs_fail():
    tables = sampler_for(WIDE)
    masks = tables.masks.copy()
    masks[tables.depth + 5] = 2 * masks[tables.depth + 5] + 1
    assert "leave a gap or overlap" in str(certify(WIDE, replace(tables, masks=masks)))
    rows = tables.rows.copy()
    rows[tables.depth + 5] = 1 - rows[tables.depth + 5]
    assert "not a part of one run" in str(certify(WIDE, replace(tables, rows=rows)))


def test_a_charge_below_the_true_loss_fails(monkeypatch):
    monkeypatch.setattr(certificate, "privacy_loss", lambda noise: privacy_loss(Geometric("0.33")))
    found = audit.sampler(NARROW)
    assert not found.holds
    assert "exceeds the charged epsilon" in str(found)
    assert "zeta is at least" in str(found)


class Bent(PiecewiseGeometric):
    """A law whose tails do not fall as its runs say."""

    def tail_ball(self, k, bits):
        straight = super().tail_ball(k, bits)
        return straight * Fraction(99, 100).numerator / 100 if k == 7 else straight


def test_runs_that_do_not_match_the_tails_fail():
    noise = Bent(("1/3",))
    assert "the ratio at" in str(certify(noise, build(noise)))
