"""The audit passes every sampler we ship and rejects each kind of broken one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dovetail import audit
from dovetail.audit import certificate
from dovetail.audit.certificate import certify
from dovetail.audit.rejection import wrong_rejections
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
from dovetail.sampling.blocks import Blocks
from dovetail.sampling.build import build
from dovetail.sampling.draws import sampler_for
from dovetail.sampling.place_rejection import checks_of
from dovetail.sampling.rejection import RejectionSampler

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
    PiecewiseGeometric(("1e-25", "0.1"), (100,)),
    PiecewiseGeometric(("1e-30", "1e-6"), (10**7,)),
    Staircase(1),
    Staircase(1).stretched(10),
    Staircase("0.5", "0.3").stretched(4000),
    DiscreteGaussian(5),
    TruncatedGeometric(1, 10),
]


@pytest.mark.parametrize("noise", SHIPPED, ids=repr)
def test_every_shipped_sampler_is_certified(noise):
    found = audit.sampler(noise)
    assert found.holds, found.findings
    assert found.thresholds >= found.blocks
    assert found.table_bytes <= 2 * 1024**2
    assert "holds" in str(found)


REJECTING = [DiscreteGaussian(1500), DiscreteGaussian(10**9), Staircase(1).stretched(10_000)]


@pytest.mark.parametrize("noise", REJECTING, ids=repr)
def test_a_law_drawn_by_rejection_is_certified(noise):
    tables = sampler_for(noise)
    assert isinstance(tables, RejectionSampler)
    assert audit.sampler(noise).holds


@pytest.mark.parametrize("noise", REJECTING, ids=repr)
@pytest.mark.parametrize("from_", [0.0, 6.0])
def test_exponents_that_are_wrong_far_out_fail(noise, from_, monkeypatch):
    """Draws beyond so many standard deviations are kept a little too often; the floats follow."""
    start, exact, floats = (
        from_ * noise.std(),
        type(noise).rejection_exponent,
        type(noise).rejection_exponents,
    )
    monkeypatch.setattr(
        type(noise),
        "rejection_exponent",
        lambda self, k: exact(self, k) * (Fraction(999, 1000) if abs(k) > start else 1),
    )
    monkeypatch.setattr(
        type(noise),
        "rejection_exponents",
        lambda self, k: floats(self, k) * np.where(np.abs(k) > start, 0.999, 1.0),
    )
    assert "the exponents of rejecting do not make the distribution" in wrong_rejections(
        noise, sampler_for(noise)
    )


@pytest.mark.parametrize("noise", REJECTING, ids=repr)
@pytest.mark.parametrize("from_", [0.0, 6.0])
def test_floats_that_are_not_the_exact_exponents_fail(noise, from_, monkeypatch):
    start, floats = from_ * noise.std(), type(noise).rejection_exponents
    monkeypatch.setattr(
        type(noise),
        "rejection_exponents",
        lambda self, k: floats(self, k) + np.where(k > start, 2.0**-30, 0.0),
    )
    assert "wrong as floats" in str(wrong_rejections(noise, sampler_for(noise)))


@pytest.mark.parametrize("noise", SHIPPED[:17], ids=repr)
def test_the_audit_and_the_accounting_agree_on_epsilon_and_zeta(noise):
    found = audit.sampler(noise)
    assert found.worst_ratio == pytest.approx(found.charged_epsilon, rel=1e-14)
    assert found.zeta == pytest.approx(found.charged_zeta, rel=1e-9)


def test_finite_support_has_no_finite_ratio():
    assert audit.sampler(TruncatedGeometric(1, 10)).worst_ratio == float("inf")


def test_a_real_valued_noise_is_refused_kindly():
    with pytest.raises(InvalidParameter, match="on a lattice"):
        audit.sampler(Laplace(1))


def _moved(steps, index, by):
    low, high = steps.low.copy(), steps.high.copy()
    low[index] = int(low[index]) + by
    high[index] = int(high[index]) + by
    return steps._replace(low=low, high=high)


def _cells(tables, change):
    cells = tables.cells.copy()
    change(cells)
    return tables._replace(cells=cells)


def test_tables_of_a_rate_off_by_5_percent_fail():
    wrong = build(Geometric(Fraction(1, 3) * Fraction(105, 100)))
    assert "thresholds are wrong" in str(certify(NARROW, wrong))
    # Even if draws beyond the tables ask the right law.
    repaired = wrong._replace(blocks=Blocks(NARROW, wrong.blocks.segments))
    assert not certify(NARROW, repaired).holds


def test_tables_of_finite_support_fail():
    wrong = build(TruncatedGeometric("1/3", 60))
    assert not certify(NARROW, wrong._replace(blocks=Blocks(NARROW, wrong.blocks.segments))).holds
    # Cut where the mass beyond is below 2^-64: the thresholds are right, the law behind them is not.
    far = build(TruncatedGeometric(1, 60))
    found = certify(Geometric(1), far)
    assert "draws beyond the tables use another distribution" in found.findings


@pytest.mark.parametrize("noise", [NARROW, WIDE], ids=repr)
@pytest.mark.parametrize("part", [1, 2, 30, 64, 65, 66, 128])
def test_one_threshold_off_by_one_unit_in_2_to_64_fails(noise, part):
    """Those of blocks and those where checks begin, on both sides."""
    tables = sampler_for(noise)
    steps = _moved(tables.steps, part * (tables.steps.low.size - 1) // 129, 1)
    assert "1 thresholds are wrong" in certify(noise, tables._replace(steps=steps)).findings


def test_thresholds_of_which_one_is_missing_fail():
    tables = sampler_for(NARROW)
    steps = tables.steps._replace(low=tables.steps.low[1:], high=tables.steps.high[1:])
    assert "thresholds for" in str(certify(NARROW, tables._replace(steps=steps)))


@pytest.mark.parametrize(("name", "index"), [("low", 0), ("high", -1)])
def test_extreme_words_that_are_decided_by_the_tables_fail(name, index):
    """Beyond the last threshold only rigorous arithmetic knows the value."""
    tables = sampler_for(NARROW)
    column = getattr(tables.steps, name).copy()
    column[index] = tables.steps.high[0] if index == 0 else tables.steps.low[-1]
    wrong = tables._replace(steps=tables.steps._replace(**{name: column}))
    assert "the extreme words do not lead to the exact tails" in certify(NARROW, wrong).findings


def test_a_search_that_begins_too_late_fails():
    tables = sampler_for(WIDE)
    first = tables.steps.first.copy()
    first[40_000] += 1
    assert "begins too late" in str(certify(WIDE, tables._replace(steps=tables.steps._replace(first=first))))


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


def test_a_cell_that_answers_though_a_check_is_due_fails():
    """Places without any check would be uniform in their block, and large noise too frequent."""
    tables = sampler_for(WIDE)
    steps = tables.steps.cells()
    checked = (steps >= 0) & (tables.spans.rows[steps] > 0)
    assert checked.sum() > 500

    def answer(cells):
        cells[checked] = tables.spans.lowest[steps[checked]]

    assert "a check is due" in str(certify(WIDE, _cells(tables, answer)))


def test_masks_of_another_block_fail():
    tables = sampler_for(WIDE)
    masks = tables.cell_masks.copy()
    masks[np.flatnonzero(tables.cells != tables.unset)[77]] >>= 1
    assert "cells lead elsewhere" in str(certify(WIDE, tables._replace(cell_masks=masks)))
    single = sampler_for(Geometric("1e-6"))
    assert not certify(Geometric("1e-6"), single._replace(mask=single.mask >> 1)).holds


def _with_checks(**change):
    tables = sampler_for(WIDE)
    return tables._replace(checks=tables.checks._replace(**change))


def test_checks_of_another_rate_fail():
    rows = tuple((rate * Fraction(21, 20), bits) for rate, bits in sampler_for(WIDE).checks.rows[1:])
    found = certify(WIDE, sampler_for(WIDE)._replace(checks=checks_of(rows)))
    assert "not parts of one run" in str(found)
    # The right rates are claimed, and the numbers are those of others.
    wrong = checks_of(rows)._replace(rows=sampler_for(WIDE).checks.rows)
    assert not certify(WIDE, sampler_for(WIDE)._replace(checks=wrong)).holds


@pytest.mark.parametrize(
    ("name", "factor", "finding"),
    [
        ("shares", Fraction(97, 100), "checked too rarely"),
        ("shares", Fraction(101, 100), "decided too early"),
        ("over", Fraction(97, 100), "decided too early"),
        ("units", Fraction(1, 2), "another unit"),
    ],
)
def test_checks_with_wrong_numbers_fail(name, factor, finding):
    column = getattr(sampler_for(WIDE).checks, name)
    wrong = np.array([int(number * factor) for number in column.tolist()], np.uint64)
    assert finding in str(certify(WIDE, _with_checks(**{name: wrong})))


@pytest.mark.parametrize("name", ["lowest", "masks", "rows"])
def test_spans_of_other_blocks_fail(name):
    tables = sampler_for(WIDE)
    column = getattr(tables.spans, name).copy()
    column[tables.spans.rows.size // 2 + 5] ^= 1
    found = certify(WIDE, tables._replace(spans=tables.spans._replace(**{name: column})))
    assert "the spans are not those of the blocks" in found.findings
    assert "the spans left and right of 0 differ" in found.findings


def test_blocks_that_overlap_or_mix_runs_fail():
    tables = sampler_for(WIDE)
    first, second, *others = tables.blocks.segments
    moved = (first, second._replace(start=second.start + 1), *others)
    wrong = tables._replace(blocks=Blocks(tables.blocks.law, moved))
    assert "do not meet" in str(certify(WIDE, wrong))
    # One segment for all integers: its blocks go across the joint of the runs.
    wrong = tables._replace(blocks=Blocks(tables.blocks.law, (first,)))
    assert "not parts of one run" in str(certify(WIDE, wrong))
    wrong = tables._replace(row_of_run=tables.row_of_run[::-1])
    assert "not parts of one run" in str(certify(WIDE, wrong))
    wrong = tables._replace(place_kind=np.dtype(np.uint8))
    assert "not parts of one run" in str(certify(WIDE, wrong))


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
