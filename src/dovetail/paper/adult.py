"""The Adult data as contingency tables, and seeded draws of the paper's random queries.

The paper does not define its random queries. Here two distinct attributes are drawn uniformly and their
values are taken from one random record, which matches its figures; uniform values would not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

import dovetail as dv

Ints = NDArray[np.int64]

CATEGORICAL = (
    "workclass",
    "education",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native_country",
)
# The paper counts four integer attributes; without capital gains and losses, 0 for most people, four remain.
INTEGERS = ("age", "fnlwgt", "education_num", "hours_per_week")
ATTRIBUTES = (*CATEGORICAL, *INTEGERS)
PAIRS = tuple(combinations(range(len(ATTRIBUTES)), 2))


@dataclass(frozen=True, slots=True, eq=False)
class Adult:
    """Codes of the twelve attributes, and for each pair of them how many records share a record's values."""

    columns: tuple[str, ...]
    integer_columns: int
    codes: NDArray[np.int32]
    """One row per attribute, one column per record."""
    counts: NDArray[np.int32]
    """One row per pair of attributes, one column per record."""

    @property
    def records(self) -> int:
        """The number of records."""
        return int(self.codes.shape[1])

    def change_probability(self) -> NDArray[np.float64]:
        """Return, exactly, how likely each record's removal is to change a random query."""
        return np.asarray(self.counts.mean(axis=0) / self.records)

    def count_distribution(self) -> tuple[Ints, NDArray[np.float64]]:
        """Return the true counts that a random query can have, and their exact probabilities."""
        values, times = np.unique(self.counts, return_counts=True)
        return values.astype(np.int64), times / self.counts.size

    def changes(self, pairs: Ints, sources: Ints, removed: Ints) -> NDArray[np.bool_]:
        """Say whether removing a record changes the query made of one pair and another record's values."""
        first, second = np.array(PAIRS).T[:, pairs]
        same: NDArray[np.bool_] = (self.codes[first, sources] == self.codes[first, removed]) & (
            self.codes[second, sources] == self.codes[second, removed]
        )
        return same


@cache
def load() -> Adult:
    """Read the data that ship with the package."""
    import pyarrow.parquet

    read = pyarrow.parquet.read_table(dv.datasets.adult().data)
    codes = np.array(
        [read[name].combine_chunks().dictionary_encode().indices.to_numpy() for name in ATTRIBUTES],
        dtype=np.int32,
    )
    integer_columns = sum("int" in str(field.type) for field in read.schema)
    counts = np.array([_shared(codes[a], codes[b]) for a, b in PAIRS], dtype=np.int32)
    return Adult(tuple(read.column_names), integer_columns, codes, counts)


def _shared(first: NDArray[np.int32], second: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return for each record how many records have its values in both attributes."""
    joint = first.astype(np.int64) * (int(second.max()) + 1) + second
    _, place, times = np.unique(joint, return_inverse=True, return_counts=True)
    return np.asarray(times[place])


def whole_numbers(seed: int, stream: str, below: int, size: int) -> Ints:
    """Return repeatable uniform draws from 0 to below - 1; streams of other names are independent.

    Taking the remainder of 64 bits biases it by less than below / 2^64. Never for noise: these are the
    experiment's own draws.

    >>> whole_numbers(1, "pairs", 10, 3).tolist() == whole_numbers(1, "pairs", 10, 4).tolist()[:3]
    True
    """
    from hashlib import sha256

    mixed = int.from_bytes(sha256(f"{seed}/{stream}".encode()).digest()[:16], "big")
    words = np.frombuffer(dv.sampling.experiment_bits(mixed, 8 * max(size, 1)), dtype="<u8")[:size]
    return (words % np.uint64(below)).astype(np.int64)


def random_queries(adult: Adult, seed: int, stream: str, size: int) -> tuple[Ints, Ints]:
    """Return (pair of attributes, record whose values are asked for) for `size` random queries."""
    pairs = whole_numbers(seed, f"{stream}/pairs", len(PAIRS), size)
    return pairs, whole_numbers(seed, f"{stream}/records", adult.records, size)
