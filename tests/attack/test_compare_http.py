"""Ask neighbouring tables over HTTP: only what is released may tell them apart, and it is paid for.

All tables are datasets of one service, and an analyst sends each of them the same requests. What would be
released is replaced by numbers that are the same for all tables, so every byte that still differs comes from
the rows by another way: status, headers, bodies, sizes, order, events, statements and log lines are compared.
The true integers are kept aside. What they differ by, under the noise that was chosen, must lose no more than
was charged. Both together are the promise of a release, through everything that stands before the analyst.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

import dovetail as dv
from dovetail.query.measures.marginal_tables import MarginalTables
from dovetail.query.measures.measure import Measure
from dovetail.query.query_json import to_dict
from dovetail.service.endpoints import questions
from neighbour_replies import Seen, excesses, observed, opened_tables, watch
from service.conftest import Desk

NOISE = {"noise": dv.Geometric("0.5").to_dict()}
SPENT = {"spend": {"epsilon": "2"}}
TABLES: list[Any] = [("k", "c"), ("c",)]
BY: Any = {"by": ("k",)}
ASKED: dict[str, tuple[Any, dict[str, Any]]] = {
    "count": (dv.Count("x > 1"), NOISE),
    "histogram": (dv.Histogram("k", "size"), NOISE),
    "sums by group": (dv.Sum("pay", **BY), NOISE),
    "means by group": (dv.Mean("x", **BY), NOISE),
    "mean that is paid": (dv.Mean("pay"), SPENT),
    "median": (dv.Median("pay"), NOISE),
    "quantiles by group": (dv.Quantiles("x", ("0.25", "0.9"), **BY), NOISE),
    "ranges": (dv.Ranges("y"), NOISE),
    "ranges that are paid": (dv.Ranges("x"), SPENT),
    "minimum": (dv.Minimum("y"), NOISE),
    "maximum by group": (dv.Maximum("x", **BY), NOISE),
    "variance": (dv.Variance("x", where="k = 'a'"), NOISE),
    "deviation by group": (dv.Std("x", **BY), NOISE),
    "linear": (dv.Linear("k", {"a": 1, "b": "-1/2"}, "1/2"), NOISE),
    "plain tables": (dv.Marginals(tables=TABLES, strategy="plain"), NOISE),
    "joint tables": (dv.Marginals(tables=TABLES, strategy="joint"), SPENT),
    "residuals": (dv.Marginals(tables=TABLES, strategy="residuals"), NOISE),
    "residuals that are paid": (dv.Marginals(tables=TABLES, strategy="residuals"), SPENT),
}
OF_PERSONS: dict[str, tuple[Any, dict[str, Any]]] = {
    "count": (dv.Count("x > 1"), NOISE),
    "persons": (dv.CountDistinct("k"), NOISE),
    "contributions": (dv.Contributions(("k",), most_rows=3), NOISE),
    "sums by group": (dv.Sum("pay", **BY), NOISE),
    "median": (dv.Median("x"), NOISE),
    "joint tables": (dv.Marginals(tables=TABLES, strategy="joint"), NOISE),
}
REFUSED: list[dict[str, Any]] = [
    {"question": {"ask": "count", "where": "nobody = 1"}, "pay": NOISE},
    {"question": {"ask": "count", "where": "1/(x-4) > 0"}, "pay": NOISE},
    {"question": {"ask": "histogram", "columns": ["x"]}, "pay": NOISE},
    {"question": {"ask": "median", "column": "x"}, "pay": {"within": 1}},
    {"question": {"ask": "count"}, "pay": {"spend": {"epsilon": "100000"}}},
    {"sql": "SELECT k, COUNT(*) FROM t GROUP BY k; SELECT 1", "pay": NOISE},
]
SQL = "SELECT k, COUNT(*) AS n, AVG(x) FROM {} GROUP BY k HAVING COUNT(*) > 0 ORDER BY n DESC LIMIT 1"


def ask_each(desk: Desk, name: str, seen: Seen, asked: dict[str, tuple[Any, dict[str, Any]]]) -> None:
    """Ask for quotes and answers, again for what is stored, and for files of it."""
    home = f"/v1/datasets/{name}"
    for number, (query, pay) in enumerate(asked.values()):
        body = {"question": to_dict(query), "pay": pay}
        offer = seen.note(desk.post(f"{home}/quotes", body)).json()
        before = len(seen.true)
        given = seen.note(
            desk.post(f"{home}/answers", body | {"quote": offer["digest"]}, key=f"{name} {number}")
        )
        assert given.status_code == 200, given.text
        assert len(seen.true) == before + 1
        seen.charges.append(Fraction(given.json()["price"]["epsilon"]))
        seen.note(desk.post(f"{home}/answers", body))
        place = f"/v1/answers/{given.json()['id']}"
        for format_ in ("json", "csv"):
            seen.note(desk.get(f"{place}?level=0.8&format={format_}"))
    assert len(seen.true) == len(asked), "a stored answer reads no data"


def ask_more(desk: Desk, name: str, seen: Seen) -> None:
    """Ask what is refused, and look around."""
    home = f"/v1/datasets/{name}"
    for body in REFUSED:
        assert seen.note(desk.post(f"{home}/answers", body)).status_code in (400, 409)
    for path in (home, f"/v1/plans?dataset={name}", f"/v1/runs?dataset={name}", "/v1/me"):
        seen.note(desk.get(path))


def ask_together(desk: Desk, name: str, seen: Seen) -> None:
    """Send what pays for several things at once: SQL, a workload, a plan."""
    home = f"/v1/datasets/{name}"
    seen.note(desk.post(f"{home}/answers", {"sql": SQL.format(name), "pay": NOISE}))
    several = [to_dict(dv.Histogram("k", "c")), to_dict(dv.Count())]
    seen.note(desk.post(f"{home}/answers", {"question": several, "pay": SPENT, "workload": True}))
    plan = seen.note(
        desk.post(f"{home}/plans", {"noise": dv.Geometric("0.1").to_dict(), "queries": 9})
    ).json()
    for query in (dv.Count(), dv.Median("x")):
        seen.note(desk.post(f"{home}/answers", {"question": to_dict(query), "pay": {"plan": plan["id"]}}))


def ask_run(desk: Desk, name: str, seen: Seen) -> None:
    """Open a run and ask it, also what makes it fire, and what is asked twice."""
    wish = {"columns": ["k", "c"], "queries": 9, "ways": 2, "updates": 2, "spend": {"epsilon": "3"}}
    seen.note(desk.post(f"/v1/datasets/{name}/runs/quotes", wish))
    opened = seen.note(desk.post(f"/v1/datasets/{name}/runs", wish))
    assert opened.status_code == 201, opened.text
    place = f"/v1/runs/{opened.json()['id']}/answers"
    for where in ("k = 'a'", "c = 1", "k = 'a'", "x = 1", "k = 'b' AND c = 2"):
        seen.note(desk.post(place, {"question": {"ask": "count", "where": where}}))
    seen.note(desk.post(place, {"sql": f"SELECT k, COUNT(*) FROM {name} GROUP BY k"}))
    seen.note(desk.post(place, {"question": {"ask": "histogram", "columns": ["c"]}, "unchecked": True}))


def check(found: list[Seen], asked: dict[str, Any], every: bool = False) -> None:
    for seen in found[1:]:
        for mine, yours in zip(seen.shown(), found[0].shown(), strict=True):
            assert mine == yours
    for name, worst, charged in excesses(found, asked, every):
        assert worst <= charged, name


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> list[Seen]:
    return watch(monkeypatch)


@pytest.mark.parametrize("rule", ["add-remove", "replace"])
def test_nothing_but_what_is_paid_for_tells_tables_apart(
    rule: str, tmp_path: Path, watched: list[Seen], capfd: Any
) -> None:
    some = ASKED if rule == "add-remove" else {name: ASKED[name] for name in list(ASKED)[2::3]}
    house = opened_tables(tmp_path, neighbours=rule)
    with house.client:
        found = observed(house, watched, capfd, partial(ask_each, asked=some), ask_more)
    assert len(found[0].replies) > 5 * len(some)
    assert len(found[0].sql) == len(some)
    check(found, some, every=rule == "replace")
    if rule == "add-remove":
        # The comparison has power: most questions lose all that was charged, to some row.
        full = [
            name
            for name, worst, charged in excesses(found, some, False)
            if worst > charged * Fraction(99, 100)
        ]
        assert len(full) > len(some) // 2


def test_nothing_but_what_is_paid_for_tells_persons_apart(
    tmp_path: Path, watched: list[Seen], capfd: Any
) -> None:
    house = opened_tables(tmp_path, unit="who", max_rows=2, max_cells=1)
    with house.client:
        check(observed(house, watched, capfd, partial(ask_each, asked=OF_PERSONS)), OF_PERSONS)


def test_sql_workloads_plans_and_runs_tell_nothing_else(
    tmp_path: Path, watched: list[Seen], capfd: Any
) -> None:
    house = opened_tables(tmp_path)
    with house.client:
        found = observed(house, watched, capfd, ask_together, ask_run)
    statuses = [status for status, _, _ in found[0].replies]
    # Run out of updates is refused (409), a column that a run does not know, too (400).
    assert (set(statuses), statuses.count(200)) == ({200, 201, 400, 409}, 9)
    check(found, {})


def one_cell_alone(patch: pytest.MonkeyPatch) -> None:
    """Price a residual as if a row moved its own cell only."""
    whole = MarginalTables.moves

    def moves(self: MarginalTables, contribution: Any) -> Any:
        by_part = [{shift.component: shift for shift in reversed(move)} for move in whole(self, contribution)]
        return tuple(tuple(shifts.values()) for shifts in by_part)

    patch.setattr(MarginalTables, "moves", moves)


def one_level_alone(patch: pytest.MonkeyPatch) -> None:
    """Price a tree as if a row were counted on one level."""
    whole = Measure.moves
    patch.setattr(Measure, "moves", lambda self, of: tuple(move[:1] for move in whole(self, of)))


def bounds_of_the_rows(patch: pytest.MonkeyPatch) -> None:
    """Take an upper bound from the rows."""
    quoted = dv.Session.quoted

    def hasty(self: dv.Session, queries: Any, payment: Any, **more: Any) -> Any:
        most = max(
            value for value in parquet.read_table(self.source.data)["x"].to_pylist() if value is not None
        )
        return quoted(self, [replace(query, low=0, high=min(most, 9)) for query in queries], payment, **more)

    patch.setattr(dv.Session, "quoted", hasty)


def number_of_rows(patch: pytest.MonkeyPatch) -> None:
    """Tell in a header how many rows were read."""
    reply = questions.reply
    rows = iter(range(100))
    patch.setattr(
        questions, "reply", lambda made, *more, **named: reply(made, *more, **named, X_Rows=str(next(rows)))
    )


@pytest.mark.parametrize(
    ("mistake", "name"),
    [
        (one_cell_alone, "residuals"),
        (one_level_alone, "ranges"),
        (bounds_of_the_rows, "ranges that are paid"),
        (number_of_rows, "count"),
    ],
)
def test_a_service_that_tells_or_charges_wrongly_is_caught(
    mistake: Callable[..., None],
    name: str,
    tmp_path: Path,
    watched: list[Seen],
    capfd: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house = opened_tables(tmp_path)
    some = {name: ASKED[name]}
    mistake(monkeypatch)
    with house.client:
        found = observed(house, watched, capfd, partial(ask_each, asked=some))
    with pytest.raises(AssertionError):
        check(found, some)
