"""Days and times as numbers: days, or seconds, since the start of 1970."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction

from dovetail.check import rational
from dovetail.errors import InvalidParameter, InvalidQuery
from dovetail.errors.remedies import Declare

from .column import Column
from .field import Constant, Field
from .lattice import Lattice

TIMES = ("date", "timestamp")
_DAY, _SECOND = date(1970, 1, 1), datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_UNITS = {"date": "days", "timestamp": "seconds"}


def number_of(moment: Constant) -> Fraction:
    """Return the days up to a day, the seconds up to a time.

    >>> number_of(date(1970, 1, 31)), number_of(datetime(1970, 1, 1, 0, 1, 0, 500_000))
    (Fraction(30, 1), Fraction(121, 2))
    """
    if isinstance(moment, datetime):
        return Fraction((moment - _SECOND) // _MICROSECOND, 10**6)
    assert isinstance(moment, date)
    return Fraction((moment - _DAY).days)


def moment_of(kind: str, number: Fraction) -> date | datetime:
    """Return the day, or the time to the microsecond, that `number_of` would return this of.

    >>> moment_of("date", Fraction(30)), moment_of("timestamp", Fraction(121, 2))
    (datetime.date(1970, 1, 31), datetime.datetime(1970, 1, 1, 0, 1, 0, 500000))
    """
    if kind == "date":
        return _DAY + timedelta(days=round(number))
    return _SECOND + round(number * 10**6) * _MICROSECOND


def kind_of_time(value: object) -> str | None:
    """Return whether a value is, or spells, a day or a time; None for anything else.

    >>> kind_of_time("2024-01-31"), kind_of_time("2024-01-31 12:00"), kind_of_time("-5")
    ('date', 'timestamp', None)
    """
    if not isinstance(value, date) and not (isinstance(value, str) and "-" in value):
        return None
    for kind in TIMES:
        with suppress(InvalidQuery):
            Field("", kind).constant(value)
            return kind
    return None


def value_at(lattice: Lattice, place: Fraction | float) -> Fraction:
    """Return the value at a place of a lattice, counted in steps from its low end: as `number_of` counts."""
    start = Fraction(0) if lattice.origin is None else number_of(lattice.origin)
    return start + (lattice.low + Fraction(place)) * lattice.step


def place_of(lattice: Lattice, name: str, value: object) -> Fraction:
    """Return the place of a value of the column, in steps from the low end; it may lie between two."""
    if lattice.origin is None:
        number = rational(name, value, "Give a value of the column.")
    else:
        number = number_of(lattice.field.constant(value))
    return (number - value_at(lattice, 0)) / lattice.step


def marked(lattice: Lattice, values: Collection[Constant]) -> Lattice:
    """Return a lattice that tells whether it alters some of the values that its derived column has."""
    if lattice.field.kind == "integer" and lattice.step.numerator == 1 and values:
        values = (min(values), max(values))
    places = (place_of(lattice, lattice.field.name, value) for value in values)
    last = lattice.high - lattice.low
    off = any(place.denominator != 1 or not 0 <= place <= last for place in places)
    return replace(lattice, alters=True) if off else lattice


def constant_of(lattice: Lattice, number: Fraction) -> Fraction | date:
    """Return a number as a value of the column: a day or a time where it holds them."""
    return number if lattice.origin is None else moment_of(lattice.field.kind, number)


def time_lattice(field: Field, declared: Column | None, low: object, high: object, step: object) -> Lattice:
    """Check the bounds of days or times: public, apart, and a whole number of steps apart.

    A step counts days or seconds. Times are rounded to steps from `low` on.
    """
    known = {name: getattr(declared, name, None) for name in ("low", "high")}
    known["step"] = getattr(declared, "step", None) or (1 if field.kind == "date" else None)
    given = {"low": low, "high": high, "step": step}
    bounds = {name: known[name] if value is None else value for name, value in given.items()}
    missing = tuple(name for name, value in bounds.items() if value is None)
    if missing:
        raise InvalidQuery(
            f"The bounds of {field.name} are not public: each row is clamped to [low, high] and rounded to "
            f"steps from low, counted in {_UNITS[field.kind]}.",
            f"Give {', '.join(missing)}, or declare them in the schema.",
            Declare(field.name, missing),
        )
    first, last = field.constant(bounds["low"]), field.constant(bounds["high"])
    unit, start = time_step(field, bounds["step"]), number_of(first)
    steps = (number_of(last) - start) / unit
    if steps <= 0:
        raise InvalidParameter(
            "high", str(last), f"after low, which is {first}", "Are they the wrong way round?"
        )
    if steps.denominator != 1:
        end = moment_of(field.kind, start + (steps.numerator // steps.denominator) * unit)
        raise InvalidParameter(
            "high", str(last), f"a whole number of steps after {first}", f"For example {end}."
        )
    assert isinstance(first, date)
    return Lattice(field, 0, int(steps), unit, first)


def time_step(field: Field, step: object) -> Fraction:
    """Return a step in days, or in seconds; days are whole, and a microsecond is the least step of times.

    >>> time_step(Field("at", "timestamp"), timedelta(hours=1))
    Fraction(3600, 1)
    """
    kind = field.kind
    if isinstance(step, timedelta):
        step = Fraction(step // _MICROSECOND, 10**6 * (86400 if kind == "date" else 1))
    number = rational("step", step, f"Give a number of {_UNITS[kind]}.")
    least = Fraction(1) if kind == "date" else Fraction(1, 10**6)
    if number <= 0 or (number / least).denominator != 1:
        whole = "whole days" if kind == "date" else "seconds, down to 0.000001"
        raise InvalidParameter(
            "step", step, f"a number above 0 of {whole}", f"The type of {field.name} is {kind}."
        )
    return number
