"""What curators, auditors and the public are replied, as types."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from .reply_types import Amount, BudgetForm, ColumnForm, Noise, Remaining, Role, StandingForm


class Who(TypedDict):
    """Somebody; the name is null once it is erased."""

    id: str
    name: str | None
    role: Role


class PersonForm(Who):
    """Somebody with an address."""

    address: str | None


class PersonList(TypedDict):
    """Everybody."""

    people: list[PersonForm]
    next: str | None


class KeyForm(TypedDict):
    """A key without its text."""

    id: str
    person: Who
    expires: str | None
    revoked: bool


class MadeKey(KeyForm):
    """A key that was just made; `key` is its text, shown this once."""

    key: str


class KeyList(TypedDict):
    """Keys."""

    keys: list[KeyForm]
    next: str | None


class GrantForm(TypedDict):
    """An allotment, and what was spent of it; warnings where it was just given."""

    person: Who
    dataset: str
    standing: StandingForm
    expires: str | None
    revoked: bool
    warnings: NotRequired[list[str]]


class Grants(TypedDict):
    """Grants."""

    grants: list[GrantForm]
    next: str | None


class Root(TypedDict):
    """A data root, with what is at its top."""

    name: str
    files: list[str]


class ConnectionForm(TypedDict):
    """A server of the configuration; its password is not shown."""

    name: str
    kind: str
    address: str


class UnpublishedSourceForm(TypedDict):
    """What the service was started with, until it is published."""

    name: str
    source: dict[str, Any]
    budget: BudgetForm | None


class Sources(TypedDict):
    """Where data may be served from."""

    roots: list[Root]
    connections: list[ConnectionForm]
    shipped: list[str]
    first: UnpublishedSourceForm | None


class Draft(TypedDict):
    """Columns that wait for a review."""

    columns: list[ColumnForm]
    encoding: str | None


class BudgetChange(TypedDict):
    """A budget that was changed; ex post where answers were given before."""

    dataset: str
    before: BudgetForm
    after: BudgetForm
    ex_post: bool
    reason: str


class Share(TypedDict):
    """What somebody has of a dataset."""

    person: str | None
    standing: StandingForm
    state: str


class SpentOnDay(TypedDict):
    """What was spent on one day."""

    day: str
    epsilon: str | None


class DatasetOverview(TypedDict):
    """What became of a budget; `refusals` since this worker started."""

    name: str
    standing: StandingForm
    shares: list[Share]
    spent_by_day: list[SpentOnDay]
    epsilon_per_day: str | None
    days_left: float | None
    answers: int
    failed: int
    refusals: int


class EntryForm(TypedDict):
    """An entry of the record."""

    at: str
    dataset: str | None
    who: str | None
    what: str
    state: str
    price: Amount | None


class Overview(TypedDict):
    """What was spent, by whom, how fast."""

    datasets: list[DatasetOverview]
    entries: list[EntryForm]
    head: str


class RecordList(TypedDict):
    """The datasets whose record you may read."""

    datasets: list[str]


class RaiseForm(TypedDict):
    """A change of the budget."""

    at: str
    before: BudgetForm
    after: BudgetForm
    ex_post: bool
    reason: str


class ReleaseForm(TypedDict):
    """One release; never its answer."""

    day: str
    words: list[str]
    noise: list[Noise]
    price: Amount | None
    state: str


class RecordForm(TypedDict):
    """What was promised, spent and released."""

    schema: Literal["dovetail.record/1"]
    dataset: str
    title: str | None
    description: str | None
    contact: str | None
    licence: str | None
    protects: str | None
    unit: str | None
    max_rows: int | None
    budget: BudgetForm
    spent: Amount
    remaining: Remaining
    opened_at: str
    raises: list[RaiseForm]
    releases: list[ReleaseForm]
    head: str | None


class CertificateForm(TypedDict):
    """Whether a sampler is what is charged for; null is without bound, or not computed."""

    noise: Noise
    holds: bool
    certified: bool
    findings: list[str]
    text: str
    thresholds: int | None
    cells: int | None
    blocks: int | None
    table_bytes: int | None
    worst_ratio: float | None
    charged_epsilon: float | None
    zeta: float | None
    charged_zeta: float | None


class Verified(TypedDict):
    """The record was read from its first event to its head."""

    ok: Literal[True]
    head: str
    events: int
    witness: bool
    checked_at: str
