"""What replies hold, as types: mypy compares them with the code, and the OpenAPI is made from them.

Nothing is checked or converted when a request is answered. The forms that the library publishes itself are
named, not repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, NotRequired, TypeVar

from fastapi.responses import Response

# Pydantic reads this one on every Python.
from typing_extensions import TypedDict

T_co = TypeVar("T_co", covariant=True)
PUBLISHED = "https://dovetail.invalid/formats/"


class Reply(Response, Generic[T_co]):
    """A reply in JSON whose members are those of a type."""


@dataclass(frozen=True, slots=True)
class Published:
    """A form of `dovetail.answers.json_schema`; with `more`, the members of the type stand beside its own."""

    name: str
    more: bool = False

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        """Return the schema: a name, which the description resolves."""
        own = {"$ref": PUBLISHED + self.name}
        return {"allOf": [own, handler(core)]} if self.more else own


Number = Annotated[str, Published("number")]
Decimal = Annotated[str, Published("decimal")]
Noise = Annotated[dict[str, Any], Published("noise")]
Charge = Annotated[dict[str, Any], Published("charge")]
Remaining = Annotated[dict[str, Any], Published("remaining")]
Table = Annotated[dict[str, Any], Published("table")]
ColumnType = Literal["integer", "number", "text", "boolean", "date", "timestamp"]
State = Literal["answered", "running", "failed"]
Role = Literal["curator", "analyst", "auditor"]


class PlaceForm(TypedDict):
    """Where something stands in a text, from 1."""

    line: int
    column: int


class Problem(TypedDict):
    """Every error, in the form of RFC 9457.

    `detail` and `fix` are for people, `code` and `remedies` for programs. `id` is the
    request, as the operator finds it in the log.
    """

    type: str
    title: str
    status: int
    detail: str
    code: str
    fix: list[str]
    remedies: list[dict[str, Any]]
    parameter: str | None
    given: str | None
    allowed: str | None
    place: PlaceForm | None
    requested: NotRequired[str | None]
    remaining: NotRequired[str | None]
    asked: NotRequired[int | None]
    updates: NotRequired[int | None]
    quote: NotRequired[QuoteForm]
    made: NotRequired[str | None]
    id: str | None


class Status(TypedDict):
    """Whether the process works."""

    status: str


class Me(TypedDict):
    """Who asks; `expires` is when the cookie ends."""

    id: str
    name: str | None
    role: Role
    expires: str | None
    version: str


class BudgetForm(TypedDict):
    """A limit in its currency; null is no limit in that sense."""

    currency: Literal["pure", "approximate", "zeta"]
    epsilon: Number
    delta: Number
    zeta: Number | None


class Amount(TypedDict):
    """What was charged; null is without bound."""

    epsilon: Decimal | None
    zeta: Decimal | None
    delta: Decimal


class StandingText(TypedDict):
    """A standing in words."""

    budget: str
    spent: str
    remaining: str


class StandingForm(TypedDict):
    """A limit, what was spent of it and what is left."""

    budget: BudgetForm
    spent: Amount
    remaining: Remaining
    text: StandingText


class ColumnForm(TypedDict):
    """What is public about a column; bounds are texts."""

    name: str
    type: ColumnType
    low: str | None
    high: str | None
    step: str | None
    values: list[str | int | bool] | None
    other: str | None
    reviewed: bool
    decimal: str | None
    missing_words: list[str]
    kind: Literal["id"] | None
    note: str | None


class Derived(TypedDict):
    """A column that is computed from others."""

    name: str
    expression: str


class SchemaForm(TypedDict):
    """What is public about a table; `toml` is the same as a file."""

    columns: list[ColumnForm]
    encoding: str | None
    derived: list[Derived]
    toml: str


class DatasetSummary(TypedDict):
    """A dataset: `mine` is your allotment, `all` the whole budget where you may know it."""

    name: str
    title: str | None
    description: str | None
    contact: str | None
    licence: str | None
    protects: str | None
    neighbours: Literal["add-remove", "replace"]
    unit: str | None
    max_rows: int | None
    max_cells: int | None
    answers: Literal["own", "shared"]
    public: bool
    retired: bool
    pacing: float | None
    version: str | None
    budget: BudgetForm
    mine: StandingForm | None
    all: StandingForm | None
    vintages: list[str]
    sql_name: str


class DatasetForm(DatasetSummary):
    """A dataset with its columns."""

    schema: SchemaForm


class Datasets(TypedDict):
    """A page of datasets."""

    datasets: list[DatasetSummary]
    next: str | None


class VintageForm(TypedDict):
    """Some rows of a dataset, such as a month; `complete` if no row will enter it any more."""

    label: str
    complete: bool
    version: str | None
    mine: StandingForm | None
    all: StandingForm | None


class Vintages(TypedDict):
    """The vintages of a dataset; where they are disjoint, each has a budget of its own."""

    vintages: list[VintageForm]
    disjoint: bool
    next: str | None


class QuoteStanding(TypedDict):
    """Where the allotment stands, exactly."""

    budget: BudgetForm
    spent: Charge


class QuoteMembers(TypedDict):
    """What the service adds to a quote; `digest` names exactly this offer."""

    digest: str
    dataset: str
    vintages: list[str]
    price: Amount
    remaining_now: Remaining
    words: list[str]
    cells: list[int | None]
    standing: QuoteStanding
    text: dict[str, str]


QuoteForm = Annotated[QuoteMembers, Published("quote", more=True)]


class AnswerMembers(TypedDict):
    """What the service adds to an answer: low and high of each row that all hold at once."""

    simultaneous: list[list[str]] | None
    words: str


AnswerForm = Annotated[AnswerMembers, Published("answer", more=True)]


class Answered(TypedDict):
    """A question that was answered, and what it cost when it was new."""

    id: str | None
    dataset: str
    state: Literal["answered"]
    stored: bool
    price: Amount | None
    remaining: Remaining
    answered_at: str | None
    sql: str | None
    answers: list[AnswerForm]
    table: Table | None


class Running(TypedDict):
    """An answer that takes long: look at its Location."""

    id: str
    state: Literal["running"]


class HistoryLine(TypedDict):
    """One question of yours."""

    id: str
    dataset: str
    asked_at: str
    answered_at: str | None
    state: State
    words: list[str]
    price: Amount | None
    plan: str | None
    run: str | None
    vintages: list[str]


class Recalled(Answered):
    """An answer of your history."""

    asked_at: str
    words: list[str]
    plan: str | None
    run: str | None
    vintages: list[str]


class History(TypedDict):
    """A page of your history, newest first."""

    answers: list[HistoryLine]
    next: str | None


class PlanMembers(TypedDict):
    """What the service adds to a plan."""

    id: str | None
    dataset: str
    name: str | None
    vintages: list[str]
    price: Amount
    shared: bool
    text: str


PlanForm = Annotated[PlanMembers, Published("plan", more=True)]


class PlanQuoteMembers(PlanMembers):
    """What the service adds to a plan that is not open: whether it can be paid, and what it would leave."""

    affordable: bool
    remaining: Remaining | None
    remaining_now: Remaining


PlanQuoteForm = Annotated[PlanQuoteMembers, Published("plan", more=True)]


class Plans(TypedDict):
    """The plans that you may use."""

    plans: list[PlanForm]
    next: str | None


class RunOffer(TypedDict):
    """A run that is not open: what it would cost and promise."""

    id: None
    dataset: str
    vintages: list[str]
    queries: int
    base: Any
    updates: int
    within: Number | None
    promise: Number | None
    price: Amount
    text: str


class RunForm(TypedDict):
    """An online run; `updates_left` is how often it can still learn, null in the list of a paced dataset."""

    id: str
    dataset: str
    vintages: list[str]
    columns: list[str]
    queries: int
    base: Any
    updates: int
    updates_left: int | None
    within: Number | None
    promise: Any
    price: Amount
    text: str


class Runs(TypedDict):
    """The runs that you may ask."""

    runs: list[RunForm]
    next: str | None


class RunAnswerMembers(TypedDict):
    """What the service adds to an answer of a run."""

    run: str
    words: str


RunAnswerForm = Annotated[RunAnswerMembers, Published("online", more=True)]


class RunAnswered(TypedDict):
    """Answers of a run."""

    run: str
    answers: list[RunAnswerForm]
    table: dict[str, Any] | None
    updates_left: int
