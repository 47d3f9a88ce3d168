"""How a run is chosen, and what is said of the choice."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dovetail.errors import InvalidParameter
from dovetail.online import design_online
from dovetail.online import planner as module
from dovetail.online.planner import OnlineDesign, _tables
from dovetail.privacy import Budget

WIDE, ONE = (9, 16, 7, 2, 2), Budget.pure(1)


def designed(shape: tuple[int, ...] = (2, 3), **more: Any) -> OnlineDesign:
    return design_online(shape, **({"queries": 100, "budget": ONE, "ways": 2} | more))


@pytest.mark.parametrize(
    ("given", "base", "updates", "tables", "why"),
    [
        ({"shape": WIDE, "ways": 3}, 3, 0, 10, "Measuring all 3-way tables once"),
        ({}, "histogram", 0, 1, "Measuring the whole histogram once"),
        ({"queries": 1}, "histogram", 0, 1, "So few questions"),
        ({"shape": WIDE, "ways": 3, "base": 2, "updates": 1}, 2, 1, 10, "Measuring all 2-way tables is not"),
        ({"base": "histogram", "updates": 1, "ways": 1}, "histogram", 1, 1, "Measuring the whole histogram"),
        ({"base": 2}, 2, 0, 1, "Measuring all 2-way tables once"),
        ({"base": None, "updates": 2}, None, 2, 0, "Without a base"),
    ],
    ids=str,
)
def test_a_run_has_the_base_and_the_updates_that_were_asked_for_or_are_best(
    given: dict[str, Any], base: Any, updates: int, tables: int, why: str
) -> None:
    found = designed(**given)
    assert (found.base, found.updates, found.tables) == (base, updates, tables)
    assert found.why.startswith(why)
    assert (found.guard is None) == (updates == 0)
    assert (found.strategy is None) == (base is None)
    assert 0.99 < found.charge.epsilon <= 1


def test_without_a_base_fifty_answers_may_be_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    terms: list[Any] = []
    monkeypatch.setattr(module, "_calibrated", lambda _budget, wanted: terms.append(wanted) or 1 / 0)
    for given in ({"base": None}, {"base": None, "updates": 7}, {}, {"updates": 7}):
        with pytest.raises(ZeroDivisionError):
            designed(**given, promise="0.9", neighbours="replace", rows=3)
    assert [(each.updates, each.tables) for each in terms] == [(50, 0), (7, 0), (0, 1), (7, 1)]
    assert {(each.queries, each.neighbours, each.rows) for each in terms} == {(100, "replace", 3)}
    assert {Fraction(each.promise) for each in terms} == {Fraction(9, 10)}


def test_the_parts_of_a_guard_are_told_where_there_is_one() -> None:
    guarded, plain = designed(base=None, updates=2), designed()
    assert guarded.guard is not None
    parts = (guarded.guard.threshold, guarded.guard.curve, guarded.guard.answers)
    assert (guarded.threshold, guarded.curve, guarded.answers) == parts
    assert guarded.alpha == guarded.guard.alpha("0.95")
    assert (plain.threshold, plain.curve, plain.answers, plain.alpha) == (None, None, None, None)
    assert plain.strategy is not None
    assert plain.strategy.noises == (plain.base_noise,)


def test_a_design_says_what_is_measured_checked_and_promised_and_what_else_there_was() -> None:
    both = designed(WIDE, base=1, updates=2, ways=3)
    lines = both.explain().split("\n")
    assert lines[0] == "The run: 100 questions on up to 3 of 5 columns"
    assert lines[1].startswith("  base: tables 5, each cell with ")
    assert lines[2].startswith("  guard: 2 updates, measured with ")
    assert lines[3] == f"  answers that pass: all within ±{both.alpha} with probability 0.95"
    assert lines[4:7] == ["", "Why", f"  {both.why}"]
    assert lines[9:] == [f"  {each.name:<10} {each.bar:>10.1f}" for each in both.alternatives]
    plain = designed().explain()
    assert "guard" not in plain
    assert "base" not in designed(base=None, updates=1).explain().split("Why")[0]


def test_a_budget_whose_delta_tells_nothing_is_a_pure_one() -> None:
    assert designed(budget=Budget.approximate(1, "1e-400")).budget == ONE
    assert designed(budget=Budget.approximate(1, "1e-6")).budget == Budget.approximate(1, "1e-6")


@pytest.mark.parametrize(
    ("wrong", "parameter"),
    [
        *(({"queries": each}, "queries") for each in (0, 10**9 + 1)),
        *(({"ways": each}, "ways") for each in (0, 3)),
        *(({"promise": each}, "promise") for each in ("0.49", 1)),
        *(({"base": each}, "base") for each in (0, 3, "all")),
        *(({"updates": each}, "updates") for each in (-1, 10**6 + 1, "some")),
        *(({"shape": each}, "shape") for each in ((), (2, 0), (10**4, 10**3 + 1), (2, "x"))),
        ({"form": "line"}, "form"),
        ({"base": None, "updates": 0}, "updates"),
        ({"budget": Budget.pure("1e101")}, "epsilon"),
    ],
    ids=str,
)
def test_what_cannot_be_designed_is_refused_by_its_name(
    wrong: dict[str, Any], parameter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if wrong != {"base": None, "updates": 0}:
        monkeypatch.setattr(module, "_calibrated", lambda *_given: pytest.fail("it was designed"))
    with pytest.raises(InvalidParameter) as refused:
        designed(**wrong)
    assert refused.value.parameter == parameter


def test_as_many_updates_as_may_be_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        module, "_calibrated", lambda _budget, terms: 1 / 0 if terms.updates == 10**6 else None
    )
    with pytest.raises(ZeroDivisionError):
        designed(updates=10**6)


def test_a_neighbour_that_replaces_a_row_moves_two_cells_of_each_table() -> None:
    one, two = (designed(WIDE, ways=3, neighbours=each) for each in ("add-remove", "replace"))
    bars = [{each.name: each.bar for each in plan.alternatives} for plan in (one, two)]
    assert bars[1]["histogram"] == pytest.approx(2 * bars[0]["histogram"])
    assert bars[1]["3-way"] == pytest.approx(2 * bars[0]["3-way"])


def test_what_just_can_be_designed_is() -> None:
    for given in (
        *(
            {"queries": 1},
            {"queries": 10**9},
            {"ways": 1},
            {"promise": "0.5"},
            {"base": 1},
            {"shape": (1, 1)},
        ),
        *({"shape": (10**4, 10**3)}, {"form": "point"}),
    ):
        assert designed(**given).updates == 0
    with pytest.raises(InvalidParameter, match="at least 1 without a base"):
        designed(base=None, updates=0)


def test_tables_of_a_base_are_counted() -> None:
    assert [_tables(WIDE, base) for base in (None, "histogram", 1, 2, 3, 5)] == [0, 1, 5, 10, 10, 1]
