"""Which dataset a name or a source means: the same source does not get a second budget by mistake."""

from __future__ import annotations

import warnings
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, select

from dovetail.check import choice
from dovetail.engines.identity import is_server_name, overlap
from dovetail.errors import BudgetMismatch, DovetailWarning, InvalidParameter, LedgerError
from dovetail.errors.remedies import ChangeBudget, Give, LeaveOut
from dovetail.privacy.budget import Budget
from dovetail.privacy.charge import Charge
from dovetail.sampling import random_bytes

from .balances import SHARED, Row, budget_of, dataset_row, most_spent, open_balance
from .chain import canonical
from .principals import by_whom
from .record_writer import RecordWriter
from .schema import datasets, names, sources
from .text import composed, plain


class SharedBudget(DovetailWarning):
    """A second name was given for a source that has a budget already."""


def settled(connection: Connection, name: str, at: tuple[str, ...]) -> int | None:
    """Return the dataset of a name when nothing new has to be recorded, else None."""
    dataset = _named(connection, name)
    known = dataset is not None and all(dataset in _exactly_at(connection, source) for source in at)
    return dataset if known else None


def registered(
    writer: RecordWriter,
    name: str,
    at: tuple[str, ...],
    budget: Budget | None,
    share: bool | None,
    protects: str | None,
) -> int:
    """Return the dataset of a name, recording what is new about it; `at` are the names of its source."""
    dataset = _named(writer.connection, name)
    if share is not False:
        owner = _owner(writer.connection, name, dataset, at)
        if dataset is None and owner is not None:
            dataset = owner
            writer.insert(names, {"name": name, "dataset": dataset, "shown": 0})
            writer.record("name", dataset, {"name": name})
    if dataset is None:
        dataset = _created(writer, name, at, budget, protects)
    for source in at:
        if dataset not in _exactly_at(writer.connection, source):
            writer.insert(sources, {"source": source, "dataset": dataset})
            writer.record("source", dataset, {"source": source})
    return dataset


def _owner(connection: Connection, name: str, dataset: int | None, at: tuple[str, ...]) -> int | None:
    """Return the dataset whose budget these data are charged to; refuse data that several are charged for."""
    exact = _all_at(connection, at)
    if dataset in exact or _apart_before(connection, dataset, at):
        return dataset
    near = known_at(connection, at)
    if dataset is not None and near and (exact or dataset not in near):
        raise BudgetMismatch(
            "These data are charged to the budget of "
            f"{first_name(connection, (exact or near)[0])!r}, not to that of {name!r}.",
            "Open them under that name: two budgets would add up.",
        )
    if not exact and len(near) > 1:
        listed = ", ".join(repr(first_name(connection, each)) for each in near)
        raise BudgetMismatch(
            f"Parts of these data have budgets of their own: {listed}.",
            "Ask about each of them separately: one more budget would add to theirs.",
        )
    return min(exact or near, default=None)


def _all_at(connection: Connection, at: tuple[str, ...]) -> list[int]:
    """Return the datasets that all of these names are on record for."""
    return sorted(set.intersection(*(set(_exactly_at(connection, source)) for source in at)) if at else ())


def _apart_before(connection: Connection, dataset: int | None, at: tuple[str, ...]) -> bool:
    """Tell whether only what the server says of itself is new, and leads to nobody but those known before."""
    told = tuple(source for source in at if is_server_name(source))
    spelled = tuple(source for source in at if not is_server_name(source))
    others = set(known_at(connection, told)) - set(known_at(connection, spelled))
    return dataset in _all_at(connection, spelled) and not others


def _created(
    writer: RecordWriter, name: str, at: tuple[str, ...], budget: Budget | None, protects: str | None
) -> int:
    if budget is None:
        raise missing_budget(name)
    number, secret = writer.next, random_bytes(32)
    content: dict[str, Any] = {
        "name": name,
        "budget": budget.to_dict(),
        "secret_sha256": sha256(secret).hexdigest(),
    }
    if protects is not None:
        content["protects"] = plain("protects", protects)
    others = known_at(writer.connection, at)
    if others:
        # The curator's own decision: what the budgets of one source allow adds up.
        content["apart_from"] = others
    row = {"id": number, "budget": canonical(budget.to_dict()), "protects": protects, "secret": secret}
    writer.insert(datasets, row | {"answers": "shared", "access": "anyone", "vintages": "shared"})
    open_balance(writer, number, SHARED, budget, Charge.zero())
    writer.insert(names, {"name": name, "dataset": number, "shown": number})
    writer.record("dataset", number, content)
    return number


def missing_budget(name: str) -> InvalidParameter:
    """Return what is said where nobody named a budget."""
    return InvalidParameter(
        "budget", None, f"given when the dataset {name!r} is first opened", Give("budget")
    )


def check_name(connection: Connection, dataset: int, name: str, share: bool | None) -> None:
    """Warn that a name is a second one, or refuse it when a budget of its own was wanted."""
    first = first_name(connection, dataset)
    if first == name or share:
        return
    if share is False:
        raise LedgerError(f"{name!r} already shares the budget of {first!r}.", "Choose another name.")
    warnings.warn(
        SharedBudget(
            f"{name!r} is a second name for the source of {first!r}, for a part of it or for something that "
            "contains it, and shares its budget.",
            f"Open it as {first!r}, or say that they share: two budgets would add up.",
            Give("share"),
        ),
        stacklevel=3,
    )


def changeable(connection: Connection, dataset: int, protects: str | None) -> bool:
    """Tell whether another one may be protected than was said: while nothing is charged or made disjoint."""
    row = dataset_row(connection, dataset)
    if protects is None or row["protects"] == protects or row["vintages"] == "disjoint":
        return False
    return row["protects"] is None or most_spent(connection, dataset) == Charge.zero()


def settle_protects(writer: RecordWriter, dataset: int, protects: str | None) -> None:
    """Record whom a dataset's charges protect, where nobody has said it or nothing was charged yet."""
    row = dataset_row(writer.connection, dataset)
    if protects is not None and changeable(writer.connection, dataset, protects):
        writer.update(datasets, row, {"protects": plain("protects", protects)})
        writer.record("protects", dataset, {"protects": protects})


def set_policy(
    writer: RecordWriter, dataset: int, answers: str | None, access: str | None, by: int | None = None
) -> None:
    """Say whose stored answers are given again (`shared` or `own`) and who may ask (`anyone`, `granted`)."""
    row = dataset_row(writer.connection, dataset)
    new = {
        "answers": row["answers"] if answers is None else choice("answers", answers, ("shared", "own")),
        "access": row["access"] if access is None else choice("access", access, ("anyone", "granted")),
    }
    if any(row[name] != value for name, value in new.items()):
        writer.update(datasets, row, new)
        writer.record("policy", dataset, new | by_whom(by))


def rename(writer: RecordWriter, dataset: int, name: str, by: int | None = None) -> None:
    """Show a dataset under another name; the names that it had still find it."""
    name = composed("name", name)
    if _named(writer.connection, name) not in (None, dataset):
        raise InvalidParameter("name", name, "a name that no other dataset of this ledger has")
    query = select(names).where(names.c.name == name)
    kept = writer.connection.execute(query).mappings().one_or_none()
    row = {"name": name, "dataset": dataset, "shown": writer.next}
    if kept is None:
        writer.insert(names, row)
    else:
        writer.update(names, dict(kept), row)
    writer.record("rename", dataset, {"name": name} | by_whom(by))


def retire(writer: RecordWriter, dataset: int, by: int | None = None) -> None:
    """Answer nothing more about a dataset; its record is kept."""
    row = dataset_row(writer.connection, dataset)
    if row["retired"] is None:
        writer.update(datasets, row, {"retired": writer.next})
        writer.record("retired", dataset, by_whom(by))


def check_budget(
    connection: Connection, dataset: int, budget: Budget | None, protects: str | None = None
) -> None:
    """Refuse a budget, or something that it protects, other than the one on record."""
    if not changeable(connection, dataset, protects):
        check_protects(dataset_row(connection, dataset), first_name(connection, dataset), protects)
    kept = connection.execute(select(datasets.c.budget).where(datasets.c.id == dataset)).scalar_one()
    if budget is not None and canonical(budget.to_dict()) != kept:
        raise BudgetMismatch(
            f"The budget of {first_name(connection, dataset)!r} on record is {budget_of(kept)}, "
            f"not {budget}.",
            "To use the recorded one, give none.",
            LeaveOut("budget"),
            ChangeBudget(),
        )


def check_protects(dataset: Row, name: str, protects: str | None) -> None:
    """Refuse charges that are computed for others than those whom the budget protects."""
    said = dataset["protects"]
    if None not in (said, protects) and said != protects:
        raise BudgetMismatch(
            f"The budget of {name!r} protects {said}, not {protects}; charges of both do not add up.",
            "The first charge fixed it. Ask with the same unit and neighbours as before, or open another "
            "budget under another name; the two budgets add up.",
        )


def first_name(connection: Connection, dataset: int) -> str:
    """Return the name that a dataset was created with, or was given last by its curator."""
    query = select(names.c.name).where(names.c.dataset == dataset).order_by(names.c.shown.desc()).limit(1)
    return str(connection.execute(query).scalar_one())


def find(connection: Connection, name: str) -> int:
    """Return the dataset of a name that must be on record."""
    dataset = _named(connection, composed("dataset", name))
    if dataset is None:
        known = (
            connection.execute(select(names.c.name).order_by(names.c.shown, names.c.name).limit(10))
            .scalars()
            .all()
        )
        listed = ", ".join(map(repr, known)) or "none yet"
        raise InvalidParameter("dataset", name, "a dataset of this ledger", f"It holds {listed}.")
    return dataset


def _named(connection: Connection, name: str) -> int | None:
    return connection.execute(select(names.c.dataset).where(names.c.name == name)).scalar_one_or_none()


def known_at(connection: Connection, at: tuple[str, ...]) -> list[int]:
    """Return the datasets that hold some of the same rows, oldest first."""
    if not at:
        return []
    rows = connection.execute(select(sources.c.source, sources.c.dataset)).all()
    return sorted({row.dataset for row in rows if any(overlap(row.source, source) for source in at)})


def sources_of(connection: Connection) -> dict[str, tuple[str, ...]]:
    """Return where the rows of each dataset are, by each of its names."""
    by_dataset: dict[int, list[str]] = {}
    for row in connection.execute(select(sources.c.source, sources.c.dataset)).all():
        by_dataset.setdefault(row.dataset, []).append(row.source)
    named = connection.execute(select(names.c.name, names.c.dataset).order_by(names.c.dataset)).all()
    return {row.name: tuple(by_dataset.get(row.dataset, ())) for row in named}


def is_new(connection: Connection, name: str, at: tuple[str, ...]) -> bool:
    """Tell whether neither the name nor any of the rows has a budget."""
    return _named(connection, name) is None and not known_at(connection, at)


def _exactly_at(connection: Connection, source: str) -> list[int]:
    query = select(sources.c.dataset).where(sources.c.source == source).order_by(sources.c.dataset)
    return list(connection.execute(query).scalars())
