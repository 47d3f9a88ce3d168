"""Months through ledger and session: which questions are sold, and what a row of one month loses by them.

The proof for small tables (`privacy/test_parallel_composition.py`) assumes a rule: a question is charged to
each month that it counts in. Here the ledger is asked every sequence of questions, and must sell what it
says. Then sessions answer, and the true numbers of neighbouring tables tell what was lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import dovetail as dv
from dovetail.errors import BudgetExceeded
from dovetail.ledger import Ledger, vintages
from dovetail.privacy import Charge
from dovetail.release import releaser
from dovetail.release.mechanism import ReleasedCells
from ledger_cases import asked

MONTHS = ("jan", "feb")
QUESTIONS = (("jan",), ("feb",), ("jan", "feb"))
HALF = Charge.approximate("0.5")
NOISE = dv.Geometric("0.5")
ROWS = "a row added or removed"
Sequence = tuple[tuple[str, ...], ...]


def sold_by_rule(sequence: Sequence, disjoint: bool) -> list[bool]:
    """Tell which questions of a half each a budget of 1 pays, by the rule of the proof."""
    spent, found = dict.fromkeys(MONTHS, 0), []
    for labels in sequence:
        borne = labels if disjoint else MONTHS
        found.append(all(spent[label] < 2 for label in borne))
        for label in borne if found[-1] else ():
            spent[label] += 1
    return found


@pytest.mark.parametrize("disjoint", [True, False])
def test_every_sequence_of_questions_is_sold_as_the_proof_assumes(disjoint: bool, tmp_path: Path) -> None:
    differing = 0
    with Ledger.create(tmp_path / "all.ledger") as ledger:
        for number, sequence in enumerate(product(QUESTIONS, repeat=3)):
            account = ledger.account(f"visits {number}", budget=dv.Budget.pure(1), protects=ROWS)
            if disjoint:
                account.declare_disjoint()
            for label in MONTHS:
                account.declare_vintage(label, complete=True)
            sold = []
            for place, labels in enumerate(sequence):
                try:
                    account.reserve(asked(str(place), HALF, vintages=labels))
                    sold.append(True)
                except BudgetExceeded:
                    sold.append(False)
            assert sold == sold_by_rule(sequence, disjoint), sequence
            differing += sold != [True] * 3
        ledger.verify()
    assert differing > 5


def months(folder: Path, rows: dict[str, int]) -> dict[str, Path]:
    for label, count in rows.items():
        (folder / f"{label}.csv").write_text("age\n" + "40\n" * count)
    return {label: folder / f"{label}.csv" for label in rows}


def answered(folder: Path, rows: dict[str, int], sequence: Sequence) -> Iterator[tuple[str, ...]]:
    """Yield the months of the questions that a session answers."""
    folder.mkdir()
    files, place = months(folder, rows), folder / "visits.ledger"
    with Ledger.create(place) as ledger:
        account = ledger.account("visits", budget=dv.Budget.pure(1), protects=ROWS)
        account.declare_disjoint()
        for label in MONTHS:
            account.declare_vintage(label, complete=True)
    for number, labels in enumerate(sequence):
        data = [files[label] for label in labels]
        options: dict[str, Any] = {"name": "visits", "ledger": place, "vintage": list(labels)}
        with dv.Session(data if len(data) > 1 else data[0], **options) as session:
            try:
                session.count(noise=NOISE, where="age = '40'", request=str(number), fresh=True)
                yield labels
            except BudgetExceeded:
                continue


def losses(folder: Path, sequence: Sequence, monkeypatch: pytest.MonkeyPatch, both: bool) -> list[float]:
    """Return what a row more of January, of February, or (it must not be) of both loses in all answers."""
    true: list[int] = []

    def noised(cells: Any, components: Any, noises: Any) -> ReleasedCells:
        true.append(int(cells[0][0]))
        return ReleasedCells(((7,),))

    monkeypatch.setattr(releaser, "noised", noised)
    changes = [{"jan": 1, "feb": 1}] if both else [{"jan": 1, "feb": 0}, {"jan": 0, "feb": 1}]
    found = []
    for number, more in enumerate([dict.fromkeys(MONTHS, 0), *changes]):
        true.clear()
        list(answered(folder / str(number), {label: 2 + more[label] for label in MONTHS}, sequence))
        found.append(list(true))
    first, *others = found
    return [sum(abs(a - b) / 2 for a, b in zip(first, other, strict=True)) for other in others]


MIXED: Sequence = (("jan",), ("jan", "feb"), ("feb",), ("jan", "feb"), ("feb",))


def test_a_row_of_one_month_loses_its_budget_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert losses(tmp_path, MIXED, monkeypatch, both=False) == [1.0, 1.0]


def test_a_row_that_lies_in_two_months_loses_more_which_nobody_but_the_curator_can_prevent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of the three answers counts it, the one over both months twice: 2 in place of 1."""
    assert losses(tmp_path, MIXED, monkeypatch, both=True) == [2.0]


def test_a_ledger_that_charges_one_month_of_several_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    borne = vintages._bearing
    monkeypatch.setattr(vintages, "_bearing", lambda *given: borne(*given)[:1])
    assert max(losses(tmp_path, MIXED, monkeypatch, both=False)) > 1
