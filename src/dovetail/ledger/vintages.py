"""Vintages say which rows are meant, versions which state of them; both decide what a charge is added to.

By default all vintages share the dataset's budget. Where rows are protected and the curator declares the
vintages disjoint, each row lies in one of them, so charges on different vintages compose in parallel: each
vintage bears its own. While rows may still enter a vintage, that holds for pure budgets only (Henzinger,
Safavi and Vadhan, arXiv 2411.03299); charges on open vintages then add up over all that are open, and those
declared later bear them too.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, select

from dovetail.errors import InvalidParameter, LedgerError
from dovetail.errors.remedies import DeclareVintage, Give
from dovetail.privacy.charge import Charge
from dovetail.query.neighbours import NEIGHBOURS, protected

from .balances import SHARED, Row, balance, budget_of, dataset_row, open_balance, spent_of
from .budgets import ExPost
from .grants import grants_of
from .prepared_statements import run
from .principals import by_whom
from .record_writer import RecordWriter
from .schema import datasets, vintages
from .text import composed

_LISTED = select(vintages).where(vintages.c.dataset == bindparam("of")).order_by(vintages.c.id)


@dataclass(frozen=True, slots=True)
class Vintage:
    """Some of a dataset's rows, by the label that the curator gave them."""

    id: int
    label: str
    complete: bool
    version: str | None


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a question is about: the vintages, the version of the data, and the balances that bear it."""

    vintages: str
    version: str | None
    bearing: tuple[int, ...]


def listed(connection: Connection, dataset: int) -> list[Vintage]:
    """Return the vintages of a dataset, oldest first."""
    rows = run(connection, _LISTED, {"of": dataset}).rows
    return [Vintage(row.id, row.label, row.complete is not None, row.version) for row in rows]


def choose(connection: Connection, dataset: Row, labels: Sequence[str], version: str | None) -> Chosen:
    """Return what a question about these vintages is charged to; undeclared labels are refused."""
    if not labels and dataset["vintages"] == "shared":
        return Chosen("", dataset["version"] if version is None else version, (SHARED,))
    known = {each.label: each for each in listed(connection, dataset["id"])}
    if not labels:
        raise InvalidParameter(
            "vintage", None, f"named: each row belongs to one of them ({_few(known)})", Give("vintage")
        )
    chosen = _found(known, labels)
    if version is None:
        version = state_label(dataset["version"], [each.version for each in chosen])
    return Chosen(_numbers(chosen), version, _bearing(dataset, chosen, known.values()))


def state_label(whole: str | None, parts: Sequence[str | None]) -> str | None:
    """Return one label for the versions of a dataset and of some of its vintages, None where none is named.

    As a version is never unnamed, whatever changes in them changes the label.

    >>> state_label(None, ["2", "2"]), state_label(None, ["2", "3"]), state_label("7", ["2", None])
    ('2', '2; 3', '["7", "2", null]')
    """
    named = [each for each in (whole, *parts) if each is not None]
    plain = not any("; " in each or each.startswith("[") for each in named)
    if plain and (whole is None or len(named) == 1):
        if len({*parts}) == 1:
            return parts[0] if whole is None else whole
        if None not in parts:
            return "; ".join(named)
    return json.dumps([whole, *parts], ensure_ascii=False) if named else None


def numbers(connection: Connection, dataset: int, labels: Sequence[str]) -> str:
    """Return how requests and plans about these vintages are marked."""
    known = {each.label: each for each in listed(connection, dataset)} if labels else {}
    return _numbers(_found(known, labels)) if labels else ""


def labels(connection: Connection, dataset: int, marked: str) -> tuple[str, ...]:
    """Return the labels of the vintages that requests and plans are marked with; none stands for all rows."""
    if not marked:
        return ()
    known = {each.id: each.label for each in listed(connection, dataset)}
    return tuple(known[number] for number in json.loads(marked))


def _found(known: Mapping[str, Vintage], labels: Sequence[str]) -> list[Vintage]:
    for label in labels:
        if label not in known:
            raise undeclared(label, known)
    return sorted({known[label] for label in labels}, key=lambda each: each.id)


def undeclared(label: str, known: Iterable[str] = ()) -> InvalidParameter:
    """Return what is said where a vintage is named that nobody has declared."""
    return InvalidParameter("vintage", label, f"declared before ({_few(known)})", DeclareVintage(label))


def _few(known: Iterable[str]) -> str:
    """Return the newest labels."""
    listed = list(known)
    return ", ".join(["...", *listed[-5:]] if len(listed) > 5 else listed) or "none is"


def _numbers(chosen: Sequence[Vintage]) -> str:
    return json.dumps([each.id for each in chosen])


def _bearing(dataset: Row, chosen: Sequence[Vintage], known: Any) -> tuple[int, ...]:
    """Return the balances that a charge on the chosen vintages is added to."""
    if dataset["vintages"] == "shared":
        return (SHARED,)
    bearing = {each.id for each in chosen}
    if budget_of(dataset["budget"]).currency != "pure" and not all(each.complete for each in chosen):
        bearing |= {SHARED} | {each.id for each in known if not each.complete}
    return tuple(sorted(bearing))


def declare(writer: RecordWriter, dataset: int, label: str, complete: bool, by: int | None) -> int:
    """Record a vintage. It bears what its dataset has borne for all vintages, those to come included."""
    label = composed("vintage", label)
    row = dataset_row(writer.connection, dataset)
    if any(each.label == label for each in listed(writer.connection, dataset)):
        raise InvalidParameter("vintage", label, "a label that this dataset does not have yet")
    number = writer.next
    closed = number if complete else None
    writer.insert(vintages, {"id": number, "dataset": dataset, "label": label, "complete": closed})
    if row["vintages"] == "disjoint":
        _open_balances(writer, row, number)
    writer.record("vintage", dataset, {"label": label, "complete": complete} | by_whom(by))
    return number


def _open_balances(writer: RecordWriter, dataset: Row, vintage: int) -> None:
    """Begin what a vintage bears: of the budget, and of every allotment."""
    limits = {dataset["id"]: budget_of(dataset["budget"])}
    limits |= {each.id: each.allotment for each in grants_of(writer.connection, dataset=dataset["id"])}
    for subject, limit in limits.items():
        open_balance(writer, subject, vintage, limit, spent_of(balance(writer.connection, subject)))


def complete(writer: RecordWriter, dataset: int, label: str, by: int | None) -> None:
    """Record that no row will enter a vintage any more."""
    row = _row(writer.connection, dataset, label)
    if row["complete"] is None:
        writer.update(vintages, row, {"complete": writer.next})
        writer.record("complete", dataset, {"vintage": row["id"]} | by_whom(by))


def declare_disjoint(writer: RecordWriter, dataset: int, by: int | None) -> None:
    """Let charges on different vintages compose in parallel from now on; there is no way back."""
    row = dataset_row(writer.connection, dataset)
    if row["vintages"] == "disjoint":
        return
    if row["protects"] not in {protected(neighbours, None) for neighbours in NEIGHBOURS}:
        raise LedgerError(
            f"This dataset protects {row['protects'] or 'nobody in particular yet'}.",
            "Vintages can be disjoint only where single rows are protected; the rows of a person may lie in "
            "several, so charges add up.",
        )
    writer.update(datasets, row, {"vintages": "disjoint"})
    for each in listed(writer.connection, dataset):
        _open_balances(writer, row, each.id)
    ex_post = spent_of(balance(writer.connection, dataset)) != Charge.zero()
    writer.record("disjoint", dataset, {"ex_post": ex_post} | by_whom(by))
    if ex_post:
        warnings.warn(
            ExPost(
                "Answers were given before the vintages were declared disjoint (ex post), so they count for "
                "all vintages. The record says so."
            ),
            stacklevel=4,
        )


def set_version(writer: RecordWriter, dataset: int, version: str, label: str | None, by: int | None) -> None:
    """Record which state of the data is there from now on: of a vintage, or of the whole dataset."""
    version = composed("version", version)
    if label is None:
        row, table, number = dataset_row(writer.connection, dataset), datasets, None
    else:
        row, table = _row(writer.connection, dataset, label), vintages
        number = row["id"]
    if row["version"] != version:
        writer.update(table, row, {"version": version})
        writer.record("version", dataset, {"vintage": number, "version": version} | by_whom(by))


def _row(connection: Connection, dataset: int, label: str) -> Row:
    for row in run(connection, _LISTED, {"of": dataset}).rows:
        if row.label == label:
            as_dict: Row = row._asdict()
            return as_dict
    raise undeclared(label, (each.label for each in listed(connection, dataset)))
