"""Hold a `where` as a frozen value in one canonical form, however it was spelled.

Every condition compares one column with constants, so none of them can fail on a row. SQL's three-valued
logic is kept: a comparison with a missing value is unknown, and only rows for which the whole is true count.
The rewritings made here (a negation pushed inwards, sorted operands) hold in that logic too.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from dovetail.errors import InvalidQuery, shown
from dovetail.errors.remedies import Give

from .field import KINDS, Constant, Field, written

if TYPE_CHECKING:
    from .schema import Table


_NEGATED = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
OPERATORS = tuple(_NEGATED)
_HOLDS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
# What a derived column stands for is spelled anew wherever it is compared.
MOST_COMPARISONS = 20_000
# A few parts tell conditions apart, and a SELECT looks its WHERE up for each aggregate.
_HASHED = 8


class _Canonical:
    """Keeps what takes long: its text, which nested joins ask for on every level, and that it was checked."""

    __slots__ = ("_table", "_text")
    _table: Table
    _text: str

    def to_dict(self) -> dict[str, Any]:
        raise NotImplementedError

    @property
    def text(self) -> str:
        """Return the canonical form as JSON."""
        try:
            return self._text
        except AttributeError:
            made = self._spelled()
            object.__setattr__(self, "_text", made)
            return made

    def _spelled(self) -> str:
        return json.dumps(self.to_dict(), sort_keys=True)


@dataclass(frozen=True, slots=True)
class ColumnComparison(_Canonical):
    """`field operator value`."""

    field: Field
    operator: str
    value: Constant

    def to_dict(self) -> dict[str, Any]:
        return {"compare": self.operator, "column": self.field.written(), "value": written(self.value)}


@dataclass(frozen=True, slots=True)
class Member(_Canonical):
    """`field IN (values)`, or NOT IN."""

    field: Field
    values: tuple[Constant, ...]
    negated: bool = False

    def __hash__(self) -> int:
        return hash((self.field, self.values[:_HASHED], len(self.values), self.negated))

    def to_dict(self) -> dict[str, Any]:
        word = "not in" if self.negated else "in"
        return {"compare": word, "column": self.field.written(), "value": [written(v) for v in self.values]}


@dataclass(frozen=True, slots=True)
class Missing(_Canonical):
    """`field IS NULL`, or IS NOT NULL."""

    field: Field
    negated: bool = False

    def to_dict(self) -> dict[str, Any]:
        return {"compare": "is not null" if self.negated else "is null", "column": self.field.written()}


@dataclass(frozen=True, slots=True)
class Every(_Canonical):
    """All parts hold."""

    parts: tuple[Condition, ...]

    def __hash__(self) -> int:
        return hash((Every, self.parts[:_HASHED], len(self.parts)))

    def to_dict(self) -> dict[str, Any]:
        return {"all": [part.to_dict() for part in self.parts]}

    def _spelled(self) -> str:
        return f'{{"all": [{", ".join(part.text for part in self.parts)}]}}'


@dataclass(frozen=True, slots=True)
class Some(_Canonical):
    """At least one part holds."""

    parts: tuple[Condition, ...]

    def __hash__(self) -> int:
        return hash((Some, self.parts[:_HASHED], len(self.parts)))

    def to_dict(self) -> dict[str, Any]:
        return {"any": [part.to_dict() for part in self.parts]}

    def _spelled(self) -> str:
        return f'{{"any": [{", ".join(part.text for part in self.parts)}]}}'


Condition: TypeAlias = ColumnComparison | Member | Missing | Every | Some


def member(field: Field, values: Iterable[Constant]) -> Condition:
    """Return `field IN values`, sorted and without repeats; one value is a plain comparison.

    >>> member(Field("age", "integer"), [30, 20, 30]).values
    (20, 30)
    """
    kept = tuple(sorted(set(values)))
    return ColumnComparison(field, "=", kept[0]) if len(kept) == 1 else Member(field, kept)


def compared(field: Field, sign: str, value: object, table: Table) -> Condition:
    """Return a comparison; equality with what no row can hold is refused, an order may name any bound.

    The order of derived texts is that of their letters, in every engine: they are listed.
    """
    if sign in ("=", "<>"):
        return ColumnComparison(field, sign, table.constant(field, value))
    bound = field.constant(value)
    if field.derivation is None or field.kind != "text":
        return ColumnComparison(field, sign, bound)
    labels = [label for label in table.labels(field) if _HOLDS[sign](label, bound)]
    if not labels:
        raise InvalidQuery(f"No value of {field.name} is {sign} {shown(value)}.")
    return member(field, labels)


def condition_size(condition: Condition) -> int:
    """Return about how many comparisons it takes to spell a condition.

    >>> condition_size(ColumnComparison(Field("age", "integer"), ">", 40))
    1
    """
    if isinstance(condition, Every | Some):
        return sum(map(condition_size, condition.parts))
    return getattr(condition.field.derivation, "size", 1)


def every(parts: Iterable[Condition]) -> Condition:
    """Join by AND: nested joins flattened, parts sorted, repeats dropped."""
    return _joined(Every, parts)


def some(parts: Iterable[Condition]) -> Condition:
    """Join by OR: nested joins flattened, parts sorted, repeats dropped."""
    return _joined(Some, parts)


def negated(condition: Condition) -> Condition:
    """Return NOT `condition`, with the negation pushed down to the comparisons.

    >>> negated(ColumnComparison(Field("age", "integer"), ">", 40)).operator
    '<='
    """
    if isinstance(condition, ColumnComparison):
        return ColumnComparison(condition.field, _NEGATED[condition.operator], condition.value)
    if isinstance(condition, Member):
        return Member(condition.field, condition.values, not condition.negated)
    if isinstance(condition, Missing):
        return Missing(condition.field, not condition.negated)
    join = some if isinstance(condition, Every) else every
    return join(negated(part) for part in condition.parts)


def checked(condition: object, table: Table) -> Condition:
    """Return a condition with its columns and constants read against the table, as those of a text are.

    A column whose kind was made up could make some rows fail, and so tell that they are there.

    >>> from dovetail.query import Column, Schema
    >>> table = Schema([Column("age", "integer")]).table()
    >>> checked(ColumnComparison(Field("AGE", "text"), ">", 40), table).field
    Field(name='age', kind='integer', cast=False)
    """
    if isinstance(condition, _Canonical) and getattr(condition, "_table", None) is table:
        return cast("Condition", condition)
    try:
        if isinstance(condition, Every | Some) and condition.parts:
            join = every if isinstance(condition, Every) else some
            return join([checked(part, table) for part in condition.parts])
        if isinstance(condition, ColumnComparison) and condition.operator in OPERATORS:
            return compared(_known(condition.field, table), condition.operator, condition.value, table)
        if isinstance(condition, Member) and condition.values:
            field = _known(condition.field, table)
            membership = member(field, [table.constant(field, value) for value in condition.values])
            return negated(membership) if condition.negated else membership
        if isinstance(condition, Missing):
            return Missing(_known(condition.field, table), bool(condition.negated))
    except RecursionError:
        raise InvalidQuery(
            "The condition is nested too deeply.", "Use IN (...) for a list of values."
        ) from None
    raise InvalidQuery(f"{shown(condition)} is not a condition.", Give("where"), parameter="where")


def known_to(table: Table, condition: Condition) -> Condition:
    """Return a condition whose columns and constants were all read against a table: it is not read again.

    A SELECT has one WHERE and up to 150 aggregates, each of which is checked with it.
    """
    object.__setattr__(condition, "_table", table)
    return condition


def _known(field: object, table: Table) -> Field:
    if not isinstance(field, Field) or field.kind not in KINDS:
        raise InvalidQuery(f"{shown(field)} must be a column of the data.")
    return table.field(field.name, asked=field.kind)


def _joined(join: type[Every] | type[Some], parts: Iterable[Condition]) -> Condition:
    flat: dict[str, Condition] = {}
    size = 0
    for part in parts:
        size += condition_size(part)
        if size > MOST_COMPARISONS:
            raise InvalidQuery(
                "This condition compares derived columns too often.", "Use IN (...), or ask in parts."
            )
        for piece in part.parts if isinstance(part, join) else (part,):
            flat[piece.text] = piece
    kept = tuple(flat[text] for text in sorted(flat))
    return kept[0] if len(kept) == 1 else join(kept)
