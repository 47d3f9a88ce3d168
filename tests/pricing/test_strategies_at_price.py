"""Workloads: one price for counts, histograms, ranges and marginals, shared by what they measure."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import dovetail as dv
from dovetail.noise import Geometric
from dovetail.pricing.accuracy import noises_reaching
from dovetail.pricing.composition import charge_of, joint_losses
from dovetail.pricing.strategies_at_price import (
    _even_noises,
    price_of,
    shapes_under,
    shared_price,
    ways_at_price,
)
from dovetail.privacy import privacy_loss
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.measures import Rows
from dovetail.workloads.planning import keeps

SCHEMA = dv.Schema(
    [
        *(dv.Column(name, "integer", values=list(range(6))) for name in "abcdef"),
        dv.Column("x", "integer", low=0, high=63, step=1),
    ]
)
DATA = pyarrow.table({name: [row % 6 for row in range(60)] for name in "abcdefx"})
ASKED = [dv.Marginals("a", "b", "c", "d", "e"), dv.Count("a = 1"), dv.Histogram("a"), dv.Ranges("x")]
SPEND = dv.Budget.approximate(1, "1e-6")


def opened(folder: Path, **options: Any) -> dv.Session:
    given = {"budget": dv.Budget.approximate(3, "1e-5"), "schema": SCHEMA} | options
    return dv.Session(DATA, name="rows", ledger=folder / "rows.ledger", **given)


def test_a_pure_price_is_shared_by_what_is_measured(tmp_path: Path) -> None:
    """Ten tables, a count, a histogram and two levels of a tree: fourteen numbers move with one row."""
    with opened(tmp_path) as session:
        quote = session.quote(dv.Workload(ASKED), spend=dv.Budget.pure("0.7"))
        noises = {noise for each in quote.asked for noise in each.noises}
        assert noises == {Geometric("0.05")}
        assert quote.charge.epsilon == Decimal("0.7")
        batch = session.quote(ASKED, spend=dv.Budget.pure("0.7"))
        assert batch.asked[1].noises == (Geometric("0.175"),)
        answers = session.workload(ASKED, spend=dv.Budget.pure("0.7"))
        assert answers[0].charge == quote.charge
        assert [type(answer) for answer in answers] == [
            dv.MarginalsAnswer, dv.Answer, dv.Answer, dv.RangeAnswer,
        ]  # fmt: skip
        again = session.workload(iter(ASKED), spend=dv.Budget.pure("0.7"))
        assert all(answer.stored for answer in again)


@pytest.mark.parametrize("rule", ["add-remove", "replace"])
def test_an_approximate_price_is_kept_by_all_together(tmp_path: Path, rule: Any) -> None:
    """Whatever way is chosen, the exact composition over all questions keeps epsilon and delta."""
    asked = [dv.Marginals("a", "b", "c", strategy="residuals"), dv.Count("a = 1"), dv.Histogram("a")]
    with opened(tmp_path, neighbours=rule) as session:
        quote = session.quote(dv.Workload(asked), spend=SPEND)
        marginals = quote.asked[0]
        assert marginals.question.measure.to_dict()["marginals"]["strategy"] == "residuals"
        questions, noises = [e.question for e in quote.asked], [e.noises for e in quote.asked]
        losses = tuple(joint_losses(questions, noises, rule))
        assert keeps(losses, SPEND)
        # Nothing much is left over, and noises a little narrower would not keep the price.
        assert max(loss.delta(1) for loss in losses) > 1e-7
        narrow = [tuple(_narrower(noise) for noise in each) for each in noises]
        assert not keeps(tuple(joint_losses(questions, narrow, rule)), SPEND)
        alone = session.quote(asked[0], spend=SPEND)
        (worst,), (shared, *_) = alone.errors(), quote.errors()
        assert worst is not None
        assert shared is not None
        assert worst < shared < Fraction(worst) * 2


def _narrower(noise: Any) -> Any:
    from dovetail.workloads.planning import scaled

    return scaled(noise, 0.9)


def test_persons_get_one_noise_for_all(tmp_path: Path) -> None:
    people = DATA.append_column("p", pyarrow.array([row % 20 for row in range(60)]))
    with dv.Session(
        people, name="p", schema=SCHEMA, budget=SPEND, ledger=tmp_path / "p.ledger", unit="p", max_rows=3
    ) as session:
        quote = session.quote(dv.Workload(ASKED[:3]), spend=SPEND)
        assert len({noise for each in quote.asked for noise in each.noises}) == 1
        assert quote.asked[0].question.measure.to_dict()["marginals"]["strategy"] == "joint"


def test_a_workload_that_cannot_keep_its_price_falls_back_on_even_noise() -> None:
    """Ways that promise too much, as a wrong plan would, are not believed."""
    table = SCHEMA.table()
    questions = [dv.Marginals("a", "b").checked(table), dv.Count().checked(table)]
    from dataclasses import replace

    from dovetail.query.measures import Way

    measure = dv.Marginals("a", "b", strategy="residuals").checked(table).measure
    loud = Way(measure, (Geometric(5),) * len(measure.components()), "residuals", {"a × b": 0.1})
    chosen, noises = shared_price(questions, [[loud], []], SPEND, "add-remove")
    assert keeps(tuple(joint_losses(chosen, noises, "add-remove")), SPEND)
    assert chosen == [replace(each, measure=each.measure.settled()) for each in questions]


@pytest.mark.parametrize(
    ("queries", "problem"),
    [
        ([], "1 to 10000 queries"),
        ("abc", "1 to 10000 queries"),
        ([dv.Count(), 3], "1 to 10000 queries"),
        ([dv.Count(), dv.Histogram("x", keys="discover")], "separate question"),
        ([dv.Count(), dv.Marginals("a")], "way"),
    ],
)
def test_what_is_no_workload_is_refused_and_spends_nothing(
    tmp_path: Path, queries: Any, problem: str
) -> None:
    with opened(tmp_path) as session:
        with pytest.raises(dv.DovetailError, match=problem):
            session.workload(queries, spend=SPEND)
        assert not session.begun


def test_a_delta_beside_a_price_is_refused_for_marginals_too(tmp_path: Path) -> None:
    with opened(tmp_path) as session, pytest.raises(dv.InvalidParameter, match="no keys are found"):
        session.quote(dv.Marginals("a", "b"), spend=dv.Budget.pure(1), delta="1e-8")


def test_an_accuracy_of_many_tables_is_bought_where_it_leaves_most(tmp_path: Path) -> None:
    with opened(tmp_path, budget=dv.Budget.approximate(20, "1e-5")) as session:
        columns = ("a", "b", "c", "d", "e", "f")
        best = session.quote(dv.Marginals(*columns), within=30)
        joint = session.quote(dv.Marginals(*columns, strategy="joint"), within=30)
        left = [session.budget.remaining(quote.charge).epsilon for quote in (best, joint)]
        assert best.asked[0].question.measure.strategy == "residuals"
        assert left[0] > left[1]
        for quote in (best, joint):
            error = quote.asked[0].error(Fraction(19, 20))
            assert error is not None
            assert 29 <= error <= 30
        # A delta pays for noise of another shape, which leaves more than the geometric.
        question = joint.asked[0].question
        plain = noises_reaching(question, Fraction(30), Fraction(19, 20))
        cost = charge_of([question], [plain], "add-remove")
        assert session.budget.remaining(cost).epsilon < left[1]
        few = session.quote(dv.Marginals("a", "b"), within=30)
        assert few.asked[0].question.measure.strategy == "joint"
        # With every row of a person counted, tables are joined.
        measure = dv.Marginals(*columns).checked(SCHEMA.table()).measure
        assert [each.strategy for each, _ in measure.alternatives("persons")] == ["joint"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("persons", [{}, {"unit": "p", "max_rows": 3}], ids=["rows", "persons"])
def test_no_other_tree_keeps_an_accuracy_for_less(tmp_path: Path, persons: dict[str, Any]) -> None:
    within, people = 20, DATA.append_column("p", pyarrow.array([row % 20 for row in range(60)]))
    given = {"schema": SCHEMA, "budget": dv.Budget.pure(100), "ledger": tmp_path / "rows.ledger"}
    with dv.Session(people, name="rows", **given, **persons) as session:
        asked = dv.Ranges("x", low=0, high=199, step=1)
        quote = session.quote(asked, within=within)
        question = quote.asked[0].question
        whole = "persons" if persons else "add-remove"
        for measure, _ in question.measure.alternatives(whole):
            noises = noises_reaching(replace(question, measure=measure), Fraction(within), Fraction(19, 20))
            other = charge_of([replace(question, measure=measure)], [noises], "add-remove")
            assert quote.charge.epsilon_units <= other.epsilon_units * 1.01  # type: ignore[operator]


def test_a_tree_among_other_questions_is_chosen_for_its_share_of_the_price(tmp_path: Path) -> None:
    with opened(tmp_path, budget=dv.Budget.pure(100)) as session:
        asked = dv.Ranges("x", low=0, high=99, step=1)
        for epsilon in (1, 40):
            tree = session.quote([asked, dv.Count()], spend=dv.Budget.pure(2 * epsilon)).asked[0]
            alone = session.quote(asked, spend=dv.Budget.pure(epsilon)).asked[0]
            assert (tree.question, tree.noises) == (alone.question, alone.noises)


def test_numbers_that_move_together_get_a_shape_where_it_is_narrower() -> None:
    questions = [CheckedQuery(Rows())] * 20
    for price, least in ((dv.Budget.approximate(1, "1e-6"), 0.6), (dv.Budget.pure(1), 1.0)):
        found = _even_noises(questions, price, "add-remove", uses=20)
        assert len({noise for (noise,) in found}) == 1
        assert found[0][0].variance() <= least * Geometric("0.05").variance()
        assert _even_noises(questions[:1], price, "add-remove", uses=20) == found[:1]


@pytest.mark.parametrize("price", [dv.Budget.approximate(1, "1e-6"), dv.Budget.pure(1)], ids=str)
def test_a_price_pays_for_the_move_of_most_integers(price: dv.Budget) -> None:
    """A replaced row moves two cells of `a` and of `b`, one that is left out also the one cell of `one`."""
    columns = [dv.Column(name, "integer", values=list(range(3))) for name in "ab"]
    table = dv.Schema([*columns, dv.Column("one", "integer", values=[0])]).table()
    asked = dv.Marginals("a", "b", "one", way=1, strategy="joint").checked(table)
    for way in ways_at_price(asked, price, price, "replace"):
        in_a, in_b, in_one = (privacy_loss(noise) for noise in way.noises)
        for loss in (in_a.compose(2).then(in_b.compose(2)), in_a.then(in_b).then(in_one)):
            assert loss.delta(1) <= price.delta_limit, way.name


def test_questions_that_move_differently_share_a_price_by_the_move_of_most_integers() -> None:
    """A replaced row moves four cells of these tables, one left out three: the price pays for four."""
    columns = [dv.Column(name, "integer", values=list(range(3))) for name in "ab"]
    table = dv.Schema([*columns, dv.Column("one", "integer", values=[0])]).table()
    asked = [dv.Marginals("a", "b", "one", way=1, strategy="joint").checked(table)] * 4
    price = dv.Budget.approximate(1, "1e-6")
    chosen, noises = shared_price(asked, [[]] * 4, price, "replace")
    assert keeps(tuple(joint_losses(chosen, noises, "replace")), price)


def test_only_where_a_delta_is_paid_other_shapes_than_the_geometric_are_tried() -> None:
    assert set(shapes_under(SPEND)) == {"geometric", "designed", "Gaussian"}
    for budget in (dv.Budget.pure(1), dv.Budget.zeta(1, max_epsilon=2)):
        assert set(shapes_under(budget)) == {"geometric"}


def test_a_price_in_zeta_is_compared_at_the_smaller_of_its_limits() -> None:
    """Geometric noise of rate r costs at most r in both."""
    for zeta, most in (("0.3", 2), (2, "0.3")):
        assert price_of(dv.Budget.zeta(zeta, max_epsilon=most), SPEND) == dv.Budget.pure("0.3")


@pytest.mark.parametrize("spend", ["1e-10", "9.9e-10"])
def test_less_than_a_ledger_counts_is_no_price(spend: str) -> None:
    with pytest.raises(dv.InvalidParameter, match="at least 1e-9"):
        price_of(dv.Budget.pure(spend), dv.Budget.pure(1))
    assert price_of(dv.Budget.pure("1.9e-9"), dv.Budget.pure(1)) == dv.Budget.pure("1e-9")
