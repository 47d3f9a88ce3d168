"""Table I of the paper: all 69 rows and 15 value columns, and the rows for c_t = 7 that it leaves out.

A column agrees as far as it is known how it was made: those for Laplace noise give E|x| and the variance of
the noise rounded to integers, but the entropy of the continuous one.
"""

from __future__ import annotations

import csv
from fractions import Fraction
from functools import cache
from math import exp, expm1, fsum, log, tanh
from pathlib import Path

import pytest

from dovetail.noise import Geometric, GeometricMixture, Laplace, LaplaceMixture
from dovetail.privacy import equivalent_epsilon, privacy_loss, published_zeta

ROWS = list(csv.DictReader((Path(__file__).parent.parent / "data" / "table1.csv").read_text().splitlines()))
THIRDS = {text: Fraction(text).limit_denominator(6) for text in ("0.167", "0.333", "0.667", "0.833", "1.67")}


def parameter(text: str) -> Fraction:
    return THIRDS.get(text, Fraction(text))


@cache
def computed(c: str, inner: str, outer: str) -> dict[str, float]:
    """Compute one row, by the public objects alone."""
    e, s = parameter(inner), parameter(outer)
    geometric, mixture = GeometricMixture(e, s, c), LaplaceMixture(e, s, c)
    zeta_geometric, zeta_laplace = privacy_loss(geometric).zeta, published_zeta(mixture.rounded())
    epsilon_laplace = equivalent_epsilon("rounded_laplace", zeta_laplace)
    standard, laplace = Geometric(zeta_geometric), Laplace(epsilon_laplace)
    row = {
        "zeta_geom_mix": zeta_geometric,
        "zeta_lap_mix": zeta_laplace,
        "epsilon_laplace_equivalent": epsilon_laplace,
    }
    for name, whole, real in (
        ("geom_mix", geometric, geometric),
        ("lap_mix", mixture.rounded(), mixture),
        ("geom", standard, standard),
        ("lap", laplace.rounded(), laplace),
    ):
        row[f"eabs_{name}"] = whole.mean_abs()
        row[f"var_{name}"] = whole.variance()
        row[f"entropy_{name}"] = real.entropy()
    return row


def to_the_digit(printed: str, value: float) -> bool:
    """Tell whether `value` rounds to what is printed; a tie may go either way."""
    digits = len(printed.partition(".")[2])
    return abs(value - float(printed)) <= 0.5000001 * 10**-digits


# column -> (rows that agree to the printed digit, largest relative and absolute difference of the others)
AGREEMENT = {
    "zeta_geom_mix": (69, 0, 0),
    "zeta_lap_mix": (69, 0, 0),
    "epsilon_laplace_equivalent": (67, 0, 0.0006),
    "eabs_geom_mix": (69, 0, 0),
    "var_geom_mix": (69, 0, 0),
    "entropy_geom_mix": (69, 0, 0),
    "eabs_geom": (69, 0, 0),
    "var_geom": (67, 0.0002, 0),
    "entropy_geom": (69, 0, 0),
    "eabs_lap_mix": (0, 0, 0.006),
    "eabs_lap": (0, 0, 0.006),
    "var_lap_mix": (0, 0.0017, 0),
    "var_lap": (0, 0.0017, 0),
    "entropy_lap_mix": (0, 0, 0.006),
    "entropy_lap": (0, 0, 0.006),
}


def test_the_table_has_69_rows_and_15_value_columns():
    assert len(ROWS) == 69
    assert set(ROWS[0]) == {"c_t", "epsilon", "r_epsilon", *AGREEMENT}


@pytest.mark.parametrize("column", AGREEMENT)
def test_a_column_agrees_with_the_paper(column):
    to_digit, relative, absolute = AGREEMENT[column]
    agreeing = 0
    for row in ROWS:
        value = computed(row["c_t"], row["epsilon"], row["r_epsilon"])[column]
        printed = row[column]
        if to_the_digit(printed, value):
            agreeing += 1
        else:
            # a half of the last printed digit belongs to the print, not to the difference
            print_error = 0.5 * 10 ** -len(printed.partition(".")[2])
            difference = abs(value - float(printed))
            assert difference <= max(relative * value + print_error, absolute), (column, row, value)
    assert agreeing >= to_digit


@pytest.mark.parametrize(("inner", "outer"), sorted({(row["epsilon"], row["r_epsilon"]) for row in ROWS}))
def test_the_rows_for_break_point_7_continue_the_table(inner, outer):
    """The text speaks of 4 <= c_t <= 7, the table ends at 6: compare with closed forms and plain sums."""
    row = computed("7", inner, outer)
    e, s = float(parameter(inner)), float(parameter(outer))
    assert min(e, s) <= row["zeta_geom_mix"] <= max(e, s)
    # the standard geometric in closed form: E|x| = 1/sinh(zeta), variance = 1/(2·sinh²(zeta/2))
    zeta = row["zeta_geom_mix"]
    q = -expm1(-zeta)
    assert row["eabs_geom"] == pytest.approx(2 * (1 - q) / (q * (2 - q)), rel=1e-10)
    assert row["var_geom"] == pytest.approx(2 * (1 - q) / q**2, rel=1e-10)
    assert row["entropy_geom"] == pytest.approx(-log(tanh(zeta / 2)) + zeta * row["eabs_geom"], rel=1e-10)
    # and the mixture by plain sums
    phi = [e * min(k, 7) + s * max(k - 7, 0) for k in range(int(60 / min(s, 1)) + 400)]
    weights = [exp(-x) for x in phi]
    total = 2 * fsum(weights) - weights[0]
    first, second = (2 * fsum(k**n * w for k, w in enumerate(weights)) / total for n in (1, 2))
    assert row["eabs_geom_mix"] == pytest.approx(first, rel=1e-9)
    assert row["var_geom_mix"] == pytest.approx(second, rel=1e-9)
