"""Read an expression that derives a column: a part of a date, a bin, a case, a value of a lookup.

The text is parsed, checked against the columns and rebuilt from our own values. It is never run. Whatever
could fail on some row (casts, division by a column, functions) is outside of this language.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from dovetail.errors import InvalidQuery, shown
from dovetail.errors.remedies import Declare
from dovetail.query.condition import MOST_COMPARISONS, ColumnComparison, Condition, compared, condition_size
from dovetail.query.derived_columns import (
    PARTS,
    STARTS,
    Cases,
    DatePart,
    DateStart,
    binned,
)
from dovetail.query.field import MOST_CELLS, OTHER, Constant, Derivation, Field, kind_of
from dovetail.query.partitions import MOST_UNEVEN_BINS
from dovetail.query.schema import Table

from .constants import constant_of, positive_number, spelled_node
from .tokens import Unparsable, tokens_of, trees_of

POSSIBLE = (
    "A column can be derived by CASE WHEN ... THEN constant ... END, FLOOR(column / 10) * 10, "
    "EXTRACT(MONTH FROM column), DATE_TRUNC('month', column), column.month, column.month_start and, of a "
    "public lookup, lookup.column."
)
_PART_WORDS = {**{part: part for part in PARTS}, "isodow": "weekday"}
_FUNCTIONS: dict[type, str] = {
    exp.Year: "year",
    exp.Quarter: "quarter",
    exp.Month: "month",
    exp.Day: "day",
    exp.DayOfMonth: "day",
    exp.Hour: "hour",
}
_DOTTED = {
    **{part: (DatePart, part) for part in PARTS},
    **{f"{unit}_start": (DateStart, unit) for unit in STARTS},
}
Conditions = Callable[[Any, Table], Condition]


def derives(node: Any) -> bool:
    """Tell whether a parsed part looks like a derived column rather than a plain one."""
    if isinstance(node, exp.Paren):
        return derives(node.this)
    if isinstance(node, exp.Column):
        return node.args.get("table") is not None
    if isinstance(node, exp.Mul):
        return any(isinstance(side, exp.Floor) for side in (node.this, node.expression))
    if isinstance(node, exp.Anonymous):
        return str(node.this).upper() == "LOOKUP"
    return isinstance(node, exp.Case | exp.Extract | exp.DateTrunc) or type(node) in _FUNCTIONS


def read_field(text: str, table: Table, conditions: Conditions) -> Field:
    """Return the column that an expression derives."""
    try:
        statements = trees_of(text, tokens_of(text))
    except Unparsable as error:
        raise InvalidQuery(f"{shown(text)} cannot be read.", error.problem, POSSIBLE) from None
    if len(statements) != 1 or statements[0] is None or not derives(statements[0]):
        raise InvalidQuery(f"{shown(text)} is not a column of the data.", POSSIBLE)
    return field_of(statements[0], table, conditions)


def field_of(node: Any, table: Table, conditions: Conditions) -> Field:
    """Return the column that a parsed expression derives; its name is a text that reads the same again."""
    if node.comments:
        raise InvalidQuery("An expression may not contain a comment.", POSSIBLE)
    if isinstance(node, exp.Paren):
        return field_of(node.this, table, conditions)
    reader = _Reader(table, conditions)
    derivation, name = reader.read(node)
    if derivation.size > MOST_COMPARISONS:
        raise InvalidQuery(f"{shown(name)} is too complex.", "Derive it in the data beforehand.")
    made = Field(name, derivation.kind, derivation=derivation)
    taken = name in table.stored or name in dict(table.schema.derived)
    # Only a CASE can be long enough that it takes long to read again.
    return table.remember(made, name) if isinstance(derivation, Cases) and not taken else made


def quoted(name: str) -> str:
    """Return the name of a column as it stands in an expression.

    >>> quoted("age"), quoted("born in"), quoted("select")
    ('age', '"born in"', '"select"')
    """
    try:
        tokens = tokens_of(name)
    except Unparsable:
        tokens = ()
    plain = len(tokens) == 1 and tokens[0].token_type == TokenType.VAR and tokens[0].text == name
    return name if plain else '"' + name.replace('"', '""') + '"'


class _Reader:
    def __init__(self, table: Table, conditions: Conditions) -> None:
        self.table = table
        self.conditions = conditions

    def read(self, node: Any) -> tuple[Derivation, str]:
        """Return a derivation and the text of it."""
        if isinstance(node, exp.Column):
            return self._dotted(node)
        if isinstance(node, exp.Case):
            return self._case(node), spelled_node(node)
        if isinstance(node, exp.Mul):
            return self._bins(node)
        if isinstance(node, exp.Extract) and isinstance(node.this, exp.Var):
            return self._part(node.this.name.lower(), self._stored(node.expression, "date"))
        if type(node) in _FUNCTIONS:
            return self._part(_FUNCTIONS[type(node)], self._stored(node.this, "date"))
        if isinstance(node, exp.DateTrunc):
            unit = node.args["unit"]
            if isinstance(unit, exp.Literal) and unit.is_string and not node.args.get("zone"):
                return self._start(unit.this.lower(), self._stored(node.this, "date"))
        if isinstance(node, exp.Anonymous) and len(node.expressions) == 2:
            column, value = node.expressions
            if isinstance(value, exp.Column) and set(_given(value)) == {"this", "table"}:
                return self._looked_up(value.args["table"].name, value.name, self._stored(column, "text"))
        raise InvalidQuery(f"{shown(spelled_node(node))} does not derive a column.", POSSIBLE)

    def _stored(self, node: Any, asked: str) -> Field:
        """Return the stored column that something is derived of."""
        if not isinstance(node, exp.Column) or set(_given(node)) != {"this"} or node.comments:
            raise InvalidQuery(f"{shown(spelled_node(node))} must be a column of the data.", POSSIBLE)
        name = self.table.resolve(node.name)
        return self._plain(name, asked)

    def _plain(self, name: str, asked: str) -> Field:
        # A text that nothing declares is asked about as what is needed, so that the refusal says what to do.
        field = self.table.field(name, asked=asked if self.table.kind(name) is None else "text")
        if field.derivation is not None:
            raise InvalidQuery(f"{field.name} is derived itself.", "Only CASE may use derived columns.")
        return field

    def _dotted(self, node: Any) -> tuple[Derivation, str]:
        if set(_given(node)) != {"this", "table"}:
            raise InvalidQuery(f"{shown(spelled_node(node))} is not a column of the data.", POSSIBLE)
        owner, word = node.args["table"].name, node.name
        lookup = self.table.schema.lookup(owner)
        if lookup is not None:
            if lookup.on is None:
                raise InvalidQuery(
                    f"The column with the keys of lookup {lookup.name} is not declared.",
                    f"Declare it, or write LEFT JOIN {lookup.name} ON column = {lookup.name}.{lookup.key}.",
                )
            return self._looked_up(lookup.name, word, self._plain(self.table.resolve(lookup.on), "text"))
        column = self.table.resolve(owner)
        kind, unit = _DOTTED.get(word.lower(), (None, word))
        if kind is None:
            raise InvalidQuery(
                f"{shown(f'{column}.{word}')} is not a column of the data.",
                f"A day or a time has {', '.join(f'{column}.{each}' for each in _DOTTED)}.",
            )
        field = self._plain(column, "date")
        return self._part(unit, field) if kind is DatePart else self._start(unit, field)

    def _part(self, word: str, field: Field) -> tuple[Derivation, str]:
        part = _PART_WORDS.get(word)
        if part is None:
            instead = "ISODOW counts weekdays, from 1 for Monday." if word in ("dow", "dayofweek") else ""
            raise InvalidQuery(
                f"{shown(word)} is not a part of a date.", f"The parts are {', '.join(PARTS)}.", instead
            )
        _check_moment(field, part)
        low, high = PARTS[part] or (each.year for each in self._limits(field))
        return DatePart(field, part, low, high), f"{quoted(field.name)}.{part}"

    def _start(self, unit: str, field: Field) -> tuple[Derivation, str]:
        if unit not in STARTS:
            raise InvalidQuery(
                f"A date cannot be cut to {shown(unit)}.", f"It can be cut to {', '.join(STARTS)}."
            )
        _check_moment(field, unit)
        made = DateStart(field, unit, *self._limits(field))
        if made.count() > MOST_CELLS:
            raise InvalidQuery(
                f"{field.name} has more than {MOST_CELLS} values of this kind between its bounds.",
                "Declare narrower bounds, or cut to a longer time.",
            )
        return made, f"{quoted(field.name)}.{unit}_start"

    def _limits(self, field: Field) -> list[Any]:
        """Return the declared bounds of a column, from which the values follow."""
        declared = self.table.schema.get(field.name)
        bounds = [getattr(declared, name, None) for name in ("low", "high")]
        if None in bounds:
            raise InvalidQuery(
                f"The bounds of {field.name} are not public, so its values cannot be listed.",
                Declare(field.name, ("low", "high")),
            )
        return bounds

    def _bins(self, node: Any) -> tuple[Derivation, str]:
        """Read FLOOR(column / width) * width, either way round."""
        sides = [node.this, node.expression]
        floors = [side for side in sides if isinstance(side, exp.Floor) and set(_given(side)) == {"this"}]
        widths = [width for side in sides if (width := positive_number(side)) is not None]
        inner = floors[0].this if floors else None
        if len(floors) != 1 or len(widths) != 1 or not isinstance(inner, exp.Div):
            raise InvalidQuery(f"{shown(spelled_node(node))} does not derive a column.", POSSIBLE)
        width = positive_number(inner.expression)
        if width is None or width != widths[0]:
            raise InvalidQuery(
                f"{shown(spelled_node(node))} needs the same number above 0 twice.",
                "For example FLOOR(age / 10) * 10.",
            )
        field = self._stored(inner.this, "number")
        if field.kind not in ("integer", "number"):
            raise InvalidQuery(f"The type of {field.name} is {field.kind}; only numbers have such bins.")
        limits = self._limits(field)
        if width.denominator > 1:
            # Between whole numbers there are edges too.
            field = replace(field, kind="number", cast=field.cast or field.kind == "integer")
        made = binned(field, width, *limits)
        most = MOST_CELLS if made.kind == "integer" else MOST_UNEVEN_BINS
        if made.count > most:
            raise InvalidQuery(f"{made.count} bins of {field.name} are more than {most}.", "Use a wider bin.")
        if max(abs(made.first), made.count) * max(width.numerator, width.denominator) >= 2**52:
            raise InvalidQuery(f"The bins of {field.name} have too many digits.", "Use a plainer width.")
        shown_width = spelled_node(inner.expression)
        return made, f"FLOOR({quoted(field.name)} / {shown_width}) * {shown_width}"

    def _case(self, node: Any) -> Cases:
        operand = node.args.get("this")
        ifs = node.args.get("ifs") or []
        values = [constant_of(each.args["true"]) for each in ifs]
        default = node.args.get("default")
        if isinstance(default, exp.Null):
            default = None
        otherwise = None if default is None else constant_of(default)
        listed: list[Constant] = [*values, *([] if otherwise is None else [otherwise])]
        kind = _common_kind(listed)
        reader = Field("CASE", kind)
        tests = self._tests(ifs, operand)
        made = [reader.constant(value) for value in listed]
        if otherwise is None and OTHER in made:
            # Rows for which nothing is true join the cell that the analyst calls so.
            made.append(OTHER)
            otherwise = OTHER
        branches = tuple(zip(tests, made, strict=False))
        return Cases(kind, branches, None if otherwise is None else made[len(tests)])

    def _tests(self, ifs: list[Any], operand: Any) -> list[Condition]:
        """Return the conditions after WHEN; what they stand for together may not be endless."""
        conditions: list[Condition] = []
        size = 0
        for each in ifs:
            conditions.append(self._test(each.this, operand))
            size += 1 + condition_size(conditions[-1])
            if size > MOST_COMPARISONS:
                raise InvalidQuery("This CASE is too complex.", "Derive it in the data beforehand.")
        return conditions

    def _test(self, node: Any, operand: Any) -> Condition:
        """Return a condition after WHEN: a whole one, or a constant that the operand is compared with."""
        if operand is None:
            return self.conditions(node, self.table)
        value = constant_of(node)
        if derives(operand):
            field = field_of(operand, self.table, self.conditions)
        elif isinstance(operand, exp.Column):
            field = self.table.field(operand.name, asked=kind_of(value))
        else:
            raise InvalidQuery(f"{shown(spelled_node(operand))} must be a column.", POSSIBLE)
        comparison = compared(field, "=", value, self.table)
        assert isinstance(comparison, ColumnComparison)
        return comparison

    def _looked_up(self, name: str, column: str, field: Field) -> tuple[Derivation, str]:
        lookup = self.table.schema.lookup(name)
        if lookup is None:
            known = ", ".join(each.name for each in self.table.schema.lookups) or "none"
            raise InvalidQuery(f"There is no lookup {shown(name)}.", f"The schema declares {known}.")
        columns = list(lookup.columns())
        spelled = next((each for each in columns if each.casefold() == column.casefold()), None)
        if spelled is None:
            raise InvalidQuery(
                f"{shown(column)} is not a column of lookup {lookup.name}.",
                f"Its columns are {', '.join(columns)}.",
            )
        made = lookup.derive(spelled, field)
        text = f"{quoted(lookup.name)}.{quoted(spelled)}"
        own = lookup.on is not None and self.table.resolve(lookup.on) == field.name
        return made, text if own else f"LOOKUP({quoted(field.name)}, {text})"


def _check_moment(field: Field, word: str) -> None:
    if field.kind not in ("date", "timestamp"):
        raise InvalidQuery(
            f"The type of {field.name} is {field.kind}; only days and times have a {word}.",
            Declare(field.name, ("type",)),
        )
    if word == "hour" and field.kind == "date":
        raise InvalidQuery(f"{field.name} holds days, which have no hour.")


def _common_kind(values: list[Constant]) -> str:
    """Return the kind of constants that are all of one."""
    kinds = {
        "number" if isinstance(each, Fraction) and each.denominator > 1 else kind_of(each) for each in values
    }
    if len(kinds) != 1 or kinds & {"number", "timestamp"}:
        given = ", ".join(shown(each) for each in values[:4])
        raise InvalidQuery(
            f"The constants of CASE, {given}, must be texts, whole numbers, days or truth values, all alike."
        )
    return kinds.pop()


def _given(node: Any) -> list[str]:
    return [key for key, value in node.args.items() if value]
