"""Runs of online querying on Adult: repeatable, and counted from the table itself."""

from __future__ import annotations

import numpy as np

import dovetail as dv
from dovetail.paper.online_runs import COLUMNS, domain, questions, simulate, simulate_textbook

GUARD = dv.online.Guard(
    dv.Geometric("0.5"), dv.online.ResponseCurve.pure("0.3"), dv.Geometric("0.1"), updates=5, distance=40
)


def test_the_domain_is_every_combination_of_five_columns() -> None:
    whole = domain()
    assert whole.table.size == 4032
    assert whole.table.sum() == whole.records == 32561
    assert whole.table.ndim == len(COLUMNS)


def test_a_question_counts_the_records_that_meet_three_conditions() -> None:
    whole = domain()
    for region in questions(3, 20):
        assert len(region.factors) == 3
        met = np.all([mask[whole.codes[axes[0]]] for axes, mask in region.factors], axis=0)
        assert whole.count(region) == met.sum() > 0


def test_a_run_stops_with_its_updates_and_repeats() -> None:
    asked = questions(1, 60)
    first = simulate(1, asked, GUARD)
    assert first == simulate(1, asked, GUARD)
    assert first != simulate(2, asked, GUARD)
    assert first.updates == 5
    assert 5 <= first.answered < 60


def test_the_textbook_updates_where_the_noisy_answer_is_far() -> None:
    asked = questions(1, 60)
    never = simulate_textbook(1, asked, dv.Geometric(1), 10**6)
    assert (never.updates, never.answered) == (0, 60)
    always = simulate_textbook(1, asked, dv.Geometric(1), -1)
    assert always.updates == 60
    assert always.mean_error < 3 < never.mean_error
