"""Adult as contingency tables, against counting row by row."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.paper.adult import PAIRS, load, random_queries, whole_numbers


def test_contingency_tables_count_what_a_scan_counts() -> None:
    adult = load()
    pairs, records = random_queries(adult, 7, "test", 60)
    for pair, record in zip(pairs, records, strict=True):
        first, second = PAIRS[pair]
        same = (adult.codes[first] == adult.codes[first, record]) & (
            adult.codes[second] == adult.codes[second, record]
        )
        assert adult.counts[pair, record] == same.sum()


def test_a_removed_record_changes_exactly_the_queries_it_answers() -> None:
    adult = load()
    pairs, sources = random_queries(adult, 3, "test", 2000)
    removed = whole_numbers(3, "removed", adult.records, 2000)
    changed = adult.changes(pairs, sources, removed)
    for i in np.flatnonzero(changed)[:20]:
        # The two records share both values, so they have the same count.
        assert adult.counts[pairs[i], sources[i]] == adult.counts[pairs[i], removed[i]]
    assert adult.changes(pairs, sources, sources).all()


def test_the_exact_distributions_are_distributions() -> None:
    adult = load()
    values, shares = adult.count_distribution()
    assert shares.sum() == pytest.approx(1)
    assert values.min() == 1
    # A query and a record, both random: the mean count over N is the mean chance of a change.
    assert adult.change_probability().mean() == pytest.approx(float(values @ shares) / adult.records)


def test_draws_are_repeatable_and_streams_differ() -> None:
    assert whole_numbers(1, "a", 1000, 50).tolist() == whole_numbers(1, "a", 1000, 50).tolist()
    assert whole_numbers(1, "a", 1000, 50).tolist() != whole_numbers(1, "b", 1000, 50).tolist()
    assert whole_numbers(1, "a", 1000, 50).tolist() != whole_numbers(2, "a", 1000, 50).tolist()
    assert set(whole_numbers(1, "a", 6, 2000).tolist()) == set(range(6))
