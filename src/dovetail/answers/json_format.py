"""Read an answer back from its JSON: the present format, and the first one as far as it tells enough."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from importlib.resources import files
from typing import Any

from dovetail.check import choice, integer
from dovetail.errors import DovetailError, InvalidParameter
from dovetail.noise import IntegerNoise
from dovetail.privacy import Charge, Remaining
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.measures import half_width
from dovetail.query.neighbours import NEIGHBOURS
from dovetail.query.partitions import Axis, Cell, Discovered, public_cells

from .number_formats import written_key
from .plan import Plan
from .threshold import Threshold

FORMAT = "dovetail.answer/2"
FIRST = "dovetail.answer/1"
# What a text that nobody wrote so may end in.
_UNREADABLE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    DovetailError,
)
_PUBLISHED = {f"dovetail.{name}/2": name for name in ("answer", "table", "quote", "online")}


def json_schema(of: str = FORMAT) -> dict[str, Any]:
    """Return the JSON Schema of a format: answer, table, quote or online, for example "dovetail.answer/2".

    >>> json_schema()["$ref"]
    '#/$defs/answer'
    """
    choice("of", of, tuple(_PUBLISHED))
    kept = json.loads(files(__package__).joinpath("formats.json").read_text(encoding="utf-8"))
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "title": of, "$ref": f"#/$defs/{_PUBLISHED[of]}", **kept}


def read_document(text: str | bytes, formats: Sequence[str]) -> dict[str, Any]:
    """Read a JSON text of one of these formats."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict) or data.get("schema") not in formats:
        raise InvalidParameter("text", text, f"JSON of the format {' or '.join(formats)}")
    return data


def answer_fields(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the answer that a document of either format describes."""
    try:
        made = _fields(data)
        _check_whole(made)
        return made
    except _UNREADABLE as error:
        if isinstance(error, InvalidParameter) and error.parameter == "schema":
            raise
        raise InvalidParameter("text", data, f"a whole answer of the format {data['schema']}") from error


def _check_whole(made: Mapping[str, Any]) -> None:
    """Refuse an answer that has not as many numbers as its question: nobody wrote it so."""
    question, noises, cells = made["query"], made["noises"], made["cells"]
    components = question.measure.components()
    expected = len(made["found"]) if question.discovers else public_cells(question.axes)
    each = sum(component.parts for component in components)
    whole = len(noises) == len(components) and len(cells) == expected
    if not whole or any(len(cell) != each for cell in cells) or made["neighbours"] not in NEIGHBOURS:
        raise ValueError("the numbers are not those of the question")
    integer("together", made["together"], low=1)


def _fields(data: Mapping[str, Any]) -> dict[str, Any]:
    from dovetail.query.canonical_form import read_question  # loads every measure

    question = read_question(data["query"])
    noises = tuple(map(read_noise, data["noises"]))
    level = Fraction(data["level"])
    threshold = None if data["threshold"] is None else Threshold.from_dict(data["threshold"])
    keys = _found(question, data["rows"]) if question.discovers else None
    made: dict[str, Any] = {
        "dataset": data["dataset"],
        "query": question,
        "noises": noises,
        "neighbours": data["neighbours"],
        "answered_at": datetime.fromisoformat(data["answered_at"]),
        "charge": Charge.from_dict(data["charge"]),
        "remaining": Remaining.from_dict(data["remaining"]),
        "stored": data["stored"],
        "stale": data.get("stale", False),
        "versioned": data.get("versioned", True),
        "vintages": tuple(data.get("vintages", ())),
        "clamp": data["clamped"],
        "plan": data["plan"],
        "level": level,
        "together": data["together"],
        "found": keys,
        "threshold": threshold,
    }
    if data["schema"] == FIRST:
        return made | _released_in_first(question, noises[0], level, data)
    adjusted = data["adjusted"]
    made["paid_by"] = None if data["paid_by"] is None else Plan.from_dict(data["paid_by"])
    made["cells"] = tuple(tuple(map(int, cell)) for cell in data["released"])
    return made | {"adjusted": None if adjusted is None else tuple(map(int, adjusted))}


def read_noise(data: Mapping[str, Any]) -> IntegerNoise:
    """Read a noise that was released, so one on the integers."""
    from dovetail.noise import from_dict

    noise = from_dict(data)
    assert isinstance(noise, IntegerNoise), "only integer noise is released"
    return noise


def _found(question: CheckedQuery, rows: Sequence[Mapping[str, Any]]) -> tuple[Cell, ...]:
    return tuple(tuple(_place(axis, row["keys"][axis.field.name]) for axis in question.axes) for row in rows)


def _place(axis: Axis, key: Any) -> Any:
    if isinstance(axis, Discovered):
        return None if key is None else axis.field.constant(key)
    return [written_key(each) for each in axis.labels].index(key)


def _released_in_first(
    question: CheckedQuery, noise: IntegerNoise, level: Fraction, data: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the released integers: the first format did not hold them, but its intervals end at them."""
    if not question.measure.one_integer():
        raise InvalidParameter(
            "schema",
            data["schema"],
            f"{FORMAT} for this measure: the first format does not hold what was released",
            "Ask again: the stored answer is free.",
        )
    width, step = half_width(noise, 1 - level, 1), question.step
    cells = []
    for row in data["rows"]:
        high = Fraction(row["high"])
        if data["clamped"] and high == 0:
            raise InvalidParameter("schema", data["schema"], f"{FORMAT}: clamping has hidden a cell")
        cells.append((int(high / step) - width,))
    values = [Fraction(row["value"]) for row in data["rows"]]
    shown = [max(cell[0] * step, Fraction(0)) if data["clamped"] else cell[0] * step for cell in cells]
    adjusted = None if values == shown else tuple(map(int, values))
    return {"cells": tuple(cells), "adjusted": adjusted, "paid_by": None}
