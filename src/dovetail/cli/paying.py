"""How an answer is paid, and the session that pays for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dovetail.check import integer
from dovetail.errors import InvalidParameter, MissingPrice

from .budgets import chosen, read_budget
from .noises import read_noise
from .places import ledger_of

if TYPE_CHECKING:
    from dovetail.ledger import Ledger
    from dovetail.release import Source
    from dovetail.session import Session


def read_pay(
    *,
    within: str | None,
    probability: str | None,
    spend: tuple[str | None, str | None, str | None, str | None],
    noise: str | None,
    queries: str | None,
) -> dict[str, Any]:
    """Return how the answer is paid, as `Session` takes it; exactly one way."""
    budget = chosen(*spend)
    ways = {"--within": within, "--epsilon or --zeta": budget, "--noise": noise, "--queries": queries}
    given = [way for way, value in ways.items() if value is not None]
    if not given:
        raise MissingPrice(
            "Nothing says how this answer is paid for. Choose one:\n"
            "  --within 5                      the error you can live with, 95 times of 100\n"
            "  --epsilon 0.1                   the worst-case privacy loss it may cost\n"
            "  --noise mixture:0.2,1,5         a noise of your own\n"
            "  --queries 20                    an equal share of the whole budget, planned for 20 answers"
        )
    if len(given) > 1:
        raise InvalidParameter("payment", " and ".join(given), "one way to pay", "Leave out the others.")
    if within is not None:
        return {"within": within, "probability": probability or "0.95"}
    if probability is not None:
        raise InvalidParameter("probability", probability, "given together with --within")
    if budget is not None:
        return {"spend": budget}
    return {} if noise is None else {"noise": read_noise(noise)}


def open_session(
    source: Source, *, budget: str | None, ledger: Ledger | str | None, queries: str | None, **options: Any
) -> Session:
    """Return a session on the source; without a budget, its ledger must know the data already."""
    from dovetail.session import Session

    limit = read_budget(budget) if budget is not None else None
    shares = None if queries is None else integer("queries", queries, low=1, fix="For example --queries 20.")
    if limit is None and ledger is None and not ledger_of(source).exists():
        # Found out before the session would leave an empty ledger behind.
        raise _no_budget(source.name)
    try:
        return Session(source, budget=limit, ledger=ledger, queries=shares, **options)
    except InvalidParameter as error:
        if error.name == "budget" and limit is None:
            raise _no_budget(source.name) from None
        raise


def _no_budget(name: str) -> InvalidParameter:
    return InvalidParameter(
        "budget",
        None,
        f"given the first time that {name} is asked",
        "It is all that these data may ever spend, kept in a ledger: add, for example, --budget epsilon=1.",
    )
