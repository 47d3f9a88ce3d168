"""Intervals of a run's answers: each on its own, or all at once; and none where nothing was checked."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from unittest.mock import Mock

import pytest

from dovetail.answers.formula_values import bars_of
from dovetail.answers.table import TableAnswer
from dovetail.errors import InvalidParameter, InvalidQuery
from dovetail.noise import Geometric
from dovetail.online import Guard, ResponseCurve, run_answer
from dovetail.online.base_tables import CountEstimate
from dovetail.online.run import OnlineAnswer
from dovetail.online.run_answer import RunAnswer, check_known
from dovetail.privacy import Budget, Charge
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.field import Field
from dovetail.query.measures import Bar, Rows
from dovetail.query.partitions import Keys
from dovetail.query.sql.formula import Aggregate, Computed, Number
from dovetail.query.sql.order import ResultColumn

NOISE = Geometric("0.1")
GUARD = Guard(Geometric("0.2"), ResponseCurve.pure("0.1"), NOISE, updates=3, distance=90)


def answer(*origins: str) -> RunAnswer:
    parts = tuple(
        OnlineAnswer(100, each, guard=None if each == "unchecked" else GUARD)  # type: ignore[arg-type]
        for each in origins
    )
    question = CheckedQuery(Rows(), (Keys(Field("k", "integer"), tuple(range(len(origins)))),))
    cells, left = tuple((part.value,) for part in parts), Budget.pure(1).remaining(Charge.zero())
    given = (Charge.zero(), "add-remove", datetime.now(UTC), left)
    return RunAnswer("data", question, (NOISE,), cells, *given, plan=7, parts=parts)  # type: ignore[arg-type]


def halves(told: RunAnswer, level: str, *, simultaneous: bool = False) -> list[Fraction]:
    return [(bar.high - bar.low) / 2 for bar in told.bars(level, simultaneous=simultaneous)]


def test_each_number_has_the_interval_of_its_origin() -> None:
    told = answer("measured", "checked")
    assert halves(told, "0.9") == [NOISE.quantile_abs("0.9"), GUARD.alpha("0.9")]
    assert [(bar.low + bar.high) / 2 for bar in told.bars()] == [100, 100]


@pytest.mark.parametrize(
    ("origins", "shares"),
    [
        (("measured",) * 4, 4),
        # However many numbers were checked, one promise is for all of them.
        (("checked",) * 4, 1),
        (("measured", "checked", "checked", "measured"), 3),
    ],
)
def test_all_intervals_hold_at_once_by_a_share_of_the_chance_each(
    origins: tuple[str, ...], shares: int
) -> None:
    each = 1 - Fraction("0.1") / shares
    wanted = {"measured": NOISE.quantile_abs(each), "checked": GUARD.alpha(each)}
    assert halves(answer(*origins), "0.9", simultaneous=True) == [wanted[origin] for origin in origins]
    with pytest.raises(InvalidParameter):
        answer(*origins).bars(2, simultaneous=True)


@pytest.mark.parametrize("wide", [False, True])
def test_what_is_computed_from_a_number_has_its_interval_and_not_that_of_its_noise(wide: bool) -> None:
    """A checked number has no noise of its own: its interval is the promise of the whole run."""
    told, count = answer("checked", "measured"), Aggregate(0)
    less = bars_of(Computed("-", count, Number(Fraction(5))), [told], [0, 1], Fraction(1, 10), wide)
    # Numbers of one run are not independent, so each has an even share of the chance.
    alone = told.bars("0.95" if wide else "0.9")
    assert less == [Bar(bar.low - 5, bar.high - 5) for bar in alone]


def test_where_one_number_of_a_run_chose_the_groups_all_of_its_numbers_hold_at_once() -> None:
    """What a run tells of one count it may have learnt with another: their errors are not independent."""
    told, column = answer("measured", "measured", "measured"), ResultColumn("n", "COUNT(l)", None, 1)
    places = (0, 2)
    chosen = TableAnswer("", (column,), (told, told), places, frozenset([0])).bars(column, "0.9")
    together = told.bars("0.9", simultaneous=True)
    assert chosen == [together[place] for place in places] != [told.bars("0.9")[place] for place in places]
    free = TableAnswer("", (column,), (told, told), places, frozenset()).bars(column, "0.9")
    assert free == [told.bars("0.9")[place] for place in places]


def test_a_number_that_was_not_checked_is_shown_without_an_interval() -> None:
    told = answer("measured", "unchecked")
    with pytest.raises(InvalidQuery, match="unknown"):
        told.bars()
    with pytest.raises(InvalidQuery, match="not shown as a table"):
        check_known(told.parts)
    check_known(answer("measured", "checked").parts)
    known, unknown = told.rows()
    assert (unknown["value"], unknown["low"], unknown["high"]) == ("100", None, None)
    half = int(NOISE.quantile_abs("0.95"))
    assert (known["low"], known["high"]) == (str(100 - half), str(100 + half))
    assert [line.split("  ")[-1] for line in str(told).splitlines()[:2]] == ["measured", "unchecked"]
    assert "±" not in str(told).splitlines()[1]


def test_an_interval_of_a_base_is_written_short_and_never_narrower() -> None:
    third, law = Fraction(100) / 3, Mock(two_sided=lambda chance: 1 / 3)
    estimate = CountEstimate(float(third), 0.2, lambda: law)
    told = replace(answer("measured"), parts=(OnlineAnswer(33, "base", estimate=estimate),))
    (row,), (bar,) = told.rows(), told.bars()
    assert Fraction(row["low"]) <= bar.low < bar.high <= Fraction(row["high"])
    assert max(len(row["low"]), len(row["high"])) <= 18


def test_a_long_answer_says_how_many_cells_are_not_shown() -> None:
    assert "more cells" not in str(answer(*["measured"] * 60))
    assert "... and 2 more cells" in str(answer(*["measured"] * 62))


def test_an_answer_prints_its_numbers_where_they_come_from_and_what_they_are_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = str(answer("measured", "checked", "unchecked")).split("\n")
    assert [line.split()[-1] for line in lines[:3]] == ["measured", "checked", "unchecked"]
    assert ["±" in line for line in lines[:3]] == [True, True, False]
    assert lines[3].startswith("± holds with probability 0.95;")
    assert lines[3].endswith("paid when run 7 was opened")
    assert len(lines) == 4
    monkeypatch.setattr(RunAnswer, "bounded", "At most 3 rows of a person are used.")
    bounded = str(answer("measured")).split("\n")
    assert bounded[1] == "At most 3 rows of a person are used."
    assert bounded[2].startswith("± for the rows used holds")
    for cells, more in ((run_answer._MOST_LINES, None), (run_answer._MOST_LINES + 2, "... and 2 more cells")):
        shown = str(answer(*["checked"] * cells)).split("\n")
        assert (more in shown) == (more is not None)
        assert len(shown) == run_answer._MOST_LINES + 2 + (more is not None)
