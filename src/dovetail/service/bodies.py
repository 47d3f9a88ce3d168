"""What requests say: their members, and how the library's values are read from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field

from dovetail.answers.payment import Payment
from dovetail.answers.plan import Plan
from dovetail.check import integer, positive
from dovetail.errors import InvalidParameter, MissingPrice
from dovetail.errors.remedies import Give, SeePlans
from dovetail.noise import Noise, from_dict
from dovetail.privacy import Budget
from dovetail.query import Query
from dovetail.query.query_json import from_dict as read_query
from dovetail.release.account import PlanState
from dovetail.release.plans import is_plan, stored_plan

from .problems import Refused
from .reply_types import Published
from .settings import Limits

_PAID = (
    "within",
    "probability",
    "spend",
    "noise",
    "plan",
    "queries",
    "delta",
    "clamp",
    "fresh",
    "sensitivity",
)
# Members of questions that are read as conditions and expressions.
_READ = ("where", "column", "columns", "by")
_LONGEST_TICK = 60
_MOST_NOISES, _LONGEST_WORDS = 200, 1000
_noises: dict[str, Noise] = {}
_EXAMPLE_PAY: Any = {"within": 10, "probability": 0.95}


GivenQuestion = Annotated[dict[str, Any], Published("Question")]
# The first wrong item says enough: to describe each of 300,000 of them took two seconds.
GivenQuestions = Annotated[list[GivenQuestion], Field(fail_fast=True)]
Names = Annotated[list[str], Field(fail_fast=True)]
GivenBudget = Annotated[dict[str, Any], Published("GivenBudget")]
GivenNoise = Annotated[dict[str, Any], Published("GivenNoise")]


VINTAGES: Any = Field(
    default_factory=list, max_length=100, description="Which rows are meant, by the labels of their vintages."
)


class Body(BaseModel):
    """A body: every member is known, and nothing is guessed."""

    model_config = ConfigDict(extra="forbid", strict=True)


class QuoteBody(Body):
    """A question, or several to be priced together, and how the answer is paid."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "examples": [
                {"question": {"ask": "count", "where": "age >= 40"}, "pay": _EXAMPLE_PAY},
                {"sql": "SELECT sex, COUNT(*) FROM adult GROUP BY sex", "pay": {"spend": {"epsilon": 0.1}}},
            ]
        },
    )

    question: GivenQuestion | GivenQuestions | None = None
    sql: str | None = None
    pay: Annotated[dict[str, Any], Published("Pay")] = Field(default_factory=dict)
    workload: bool = Field(False, description="The questions share a price by what they measure.")
    vintages: Names = VINTAGES


class AnswerBody(QuoteBody):
    """What is asked, for the price of a quote where one is named."""

    quote: str | None = None


def read_queries(question: Any, limits: Limits) -> list[Query]:
    """Return the queries that a body names.

    To read a condition takes time that grows with its length: 100 of the longest took seven seconds.
    """
    listed = question if isinstance(question, list) else [question]
    if len(listed) > limits.batch:
        raise Refused(413, "too-large", f"At most {limits.batch} questions are asked together.")
    check_length(
        listed, limits, "The conditions and columns of all questions together", "Ask in several requests."
    )
    return [read_query(each) for each in listed]


def check_length(listed: list[dict[str, Any]], limits: Limits, what: str, fix: str) -> None:
    """Refuse members that together take too long to read as conditions and expressions."""
    # Tables name the same columns very often; each is read once.
    names = {name for each in listed for name in _names(each)}
    conditions = sum(_length(each.get(name)) for each in listed for name in _READ)
    if conditions + sum(map(len, names)) > limits.sql:
        raise Refused(413, "too-large", f"{what} are longer than {limits.sql} characters.", fix)


def _names(said: dict[str, Any]) -> Iterator[str]:
    """Yield the columns that the tables, keys and bins of a question or a run name."""
    for member in (said.get("keys"), said.get("bins")):
        yield from member if isinstance(member, dict) else ()
    tables = said.get("tables")
    for each in tables if isinstance(tables, list) else ():
        yield from (name for name in (each if isinstance(each, list) else [each]) if isinstance(name, str))


def _length(said: Any) -> int:
    """Return how many characters the words and values of a member have."""
    if isinstance(said, list | dict):
        return sum(map(_length, said.values() if isinstance(said, dict) else said))
    return len(str(said)) if said is not None else 0


def check_sql(text: str, limits: Limits) -> str:
    """Return the text of a SELECT that is not too long to be read."""
    if len(text) > limits.sql:
        raise Refused(413, "too-large", f"The SQL is longer than {limits.sql} characters.")
    return text


def one_of(asked: Any) -> None:
    """Refuse a body with both a question and SQL, or neither."""
    if (asked.question is None) == (asked.sql is None):
        raise Refused(400, "invalid-body", 'Give either "question" or "sql".')


def read_budget(name: str, said: Any) -> Budget:
    """Return a budget or a price: of the members epsilon, delta and zeta, those that it has.

    >>> print(read_budget("budget", {"epsilon": 1, "delta": "1e-6"}))
    epsilon at most 1 at delta 1e-6
    """
    if not isinstance(said, Mapping) or set(said) - {"currency", "epsilon", "delta", "zeta"}:
        raise InvalidParameter(name, said, "an object with epsilon, and delta or zeta", Give(name))
    epsilon, delta, zeta = (said.get(each) for each in ("epsilon", "delta", "zeta"))
    if delta in (0, "0"):
        delta = None
    if epsilon is None:
        raise InvalidParameter(name, dict(said), "an object with an epsilon, the worst case", Give(name))
    if zeta is not None and delta is not None:
        raise InvalidParameter(name, dict(said), "an object with delta or zeta, not with both", Give(name))
    made = (
        Budget.zeta(zeta, max_epsilon=epsilon)
        if zeta is not None
        else Budget.pure(epsilon)
        if delta is None
        else Budget.approximate(epsilon, delta)
    )
    if said.get("currency") not in (None, made.currency):
        raise InvalidParameter("currency", said["currency"], f"{made.currency}, as the other members say")
    return made


def read_pacing(said: Any) -> float | None:
    """Return the seconds between the moments at which answers leave; 0 is at once, None not said."""
    if said is None or (said == 0 and not isinstance(said, bool)):
        return None if said is None else 0.0
    seconds = float(positive("pacing", said, "Seconds, such as 2."))
    if seconds > _LONGEST_TICK:
        raise InvalidParameter("pacing", said, f"at most {_LONGEST_TICK} seconds")
    return seconds


def read_noise(said: Any) -> Noise:
    """Return the noise that a body describes; the same one again for the same words.

    To check it, and to find its tables and its price, takes longer than to look at one that is known.
    """
    words = repr(said)
    known = _noises.get(words)
    if known is not None:
        return known
    made = from_dict(said)
    if len(_noises) >= _MOST_NOISES:
        _noises.clear()
    if len(words) <= _LONGEST_WORDS:
        _noises[words] = made
    return made


def read_payment(pay: Mapping[str, Any], plans: list[PlanState], request: str | None) -> Payment:
    """Return how an answer is paid; plans go by their public identifiers."""
    unknown = sorted(set(pay) - set(_PAID))
    if unknown:
        raise InvalidParameter("pay", unknown, f"of these members: {', '.join(_PAID)}")
    said = {name: value for name, value in pay.items() if value is not None}
    if "queries" in said and not {"within", "noise"} & set(said):
        # The plan of a whole budget is everybody's, so no analyst may open it.
        raise MissingPrice("A plan of several answers needs an accuracy or a noise.", Give("within", "noise"))
    sensitivity = integer("sensitivity", said.pop("sensitivity", 1), low=1, high=2**52)
    if "spend" in said:
        said["spend"] = read_budget("spend", said["spend"])
    if "noise" in said:
        said["noise"] = read_noise(said["noise"])
    if "plan" in said:
        said["plan"] = find_plan(said["plan"], plans)
    payment = Payment.of(request=request, **said)
    return payment if payment.noise is None else replace(payment, sensitivity=sensitivity)


def find_plan(public: object, plans: list[PlanState]) -> Plan:
    """Return the plan of an identifier, if it is one that the caller may use."""
    plan = next((each for each in plans if each.public == public and is_plan(each)), None)
    if plan is None:
        raise InvalidParameter("plan", public, "a plan that you may use", SeePlans())
    return stored_plan(plan)


def idempotency_key(request: Request) -> str:
    """Return the key under which a retry finds what was done."""
    key = request.headers.get("idempotency-key")
    if key is None:
        raise Refused(
            400,
            "missing-idempotency-key",
            "This request changes something, so it needs the header Idempotency-Key.",
            "Choose a random one for each request, and repeat it in a retry.",
        )
    if not 0 < len(key) <= 200 or not key.isascii() or not key.isprintable():
        raise Refused(
            400, "invalid-parameter", "Idempotency-Key must be 1 to 200 printable ASCII characters."
        )
    return key
