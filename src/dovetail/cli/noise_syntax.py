"""Read a noise from the command line: NAME:NUMBERS, and breaks after an @."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dovetail.errors import InvalidParameter

if TYPE_CHECKING:
    from dovetail.noise import Noise


EXAMPLES = "geometric:0.5, mixture:0.2,1,5 or piecewise:0.05,0.1,0.14@9,22"
_LONGEST = 2000


@dataclass(frozen=True, slots=True)
class Form:
    """How one kind of noise is written.

    `make` takes the package of noises, which is loaded when it is used, the numbers and the breaks.
    `counts` says how few and how many numbers there are; None: any, and breaks may follow.
    """

    written: str
    example: str
    make: Callable[[Any, list[str], list[str]], Noise]
    counts: tuple[int, int] | None = None


FORMS = {
    "geometric": Form("EPSILON", "0.5", lambda noise, numbers, _: noise.Geometric(*numbers), (1, 1)),
    "mixture": Form(
        "INNER,OUTER,BREAK", "0.2,1,5", lambda noise, numbers, _: noise.GeometricMixture(*numbers), (3, 3)
    ),
    "piecewise": Form(
        "RATE,RATE,...@BREAK,...",
        "0.05,0.1,0.14@9,22",
        lambda noise, rates, at: noise.PiecewiseGeometric(rates, at),
    ),
    "gaussian": Form("SIGMA", "4", lambda noise, numbers, _: noise.DiscreteGaussian(*numbers), (1, 1)),
    "staircase": Form(
        "EPSILON or EPSILON,GAMMA", "0.5", lambda noise, numbers, _: noise.Staircase(*numbers), (1, 2)
    ),
    "laplace": Form("EPSILON", "0.5", lambda noise, numbers, _: noise.Laplace(*numbers), (1, 1)),
    "laplace-mixture": Form(
        "INNER,OUTER,BREAK", "0.2,1,5", lambda noise, numbers, _: noise.LaplaceMixture(*numbers), (3, 3)
    ),
    "piecewise-laplace": Form(
        "RATE,RATE,...@BREAK,...", "0.1,1@4.5", lambda noise, rates, at: noise.PiecewiseLaplace(rates, at)
    ),
    "rounded-laplace": Form(
        "EPSILON or RATE,RATE,...@BREAK,...",
        "0.5",
        lambda noise, rates, at: noise.PiecewiseLaplace(rates, at).rounded(),
    ),
    "truncated-geometric": Form(
        "EPSILON,BOUND", "0.5,20", lambda noise, numbers, _: noise.TruncatedGeometric(*numbers), (2, 2)
    ),
    "truncated-laplace": Form(
        "EPSILON,BOUND", "0.5,20", lambda noise, numbers, _: noise.TruncatedLaplace(*numbers), (2, 2)
    ),
}


def read_noise(text: str) -> Noise:
    """Return the noise that `text` spells.

    >>> read_noise("mixture:0.2,1,5")
    PiecewiseGeometric(rates=('0.2', 1), breaks=(5,))
    >>> read_noise("piecewise:1/20,0.1,0.14@9,22")
    PiecewiseGeometric(rates=('0.05', '0.1', '0.14'), breaks=(9, 22))
    """
    name, _, rest = text[:_LONGEST].partition(":")
    name = name.strip().lower()
    form = FORMS.get(name)
    if form is None:
        raise _unknown(text, name)
    numbers, at, points = rest.partition("@")
    listed, breaks = _listed(numbers), _listed(points)
    low, high = form.counts or (1, _LONGEST)
    if len(text) > _LONGEST or not low <= len(listed) <= high or (at and (form.counts or not breaks)):
        raise InvalidParameter(
            "noise", text, f"written {name}:{form.written}", f"For example {name}:{form.example}."
        )
    return form.make(import_module("dovetail.noise"), listed, breaks)


def spelled(noise: Noise) -> str:
    """Return a noise as the command line reads it, where it has such a form, or as it prints.

    >>> spelled(read_noise("mixture:0.2,1,5")), spelled(read_noise("gaussian:4"))
    ('mixture:0.2,1,5', 'gaussian:4')
    """
    data = noise.to_dict()
    kind = data["kind"]
    if kind == "piecewise-geometric" and len(data["rates"]) == 2:
        return f"mixture:{','.join(data['rates'])},{data['breaks'][0]}"
    if "rates" in data:
        short = {"piecewise-geometric": "geometric", "piecewise-laplace": "laplace"}
        if len(data["rates"]) == 1:
            return f"{short.get(kind, kind)}:{data['rates'][0]}"
        name = {"piecewise-geometric": "piecewise"}.get(kind, kind)
        return f"{name}:{','.join(data['rates'])}@{','.join(data['breaks'])}"
    if kind == "discrete-gaussian":
        return f"gaussian:{data['sigma']}"
    if kind == "staircase" and data["sensitivity"] == "1":
        return f"staircase:{','.join(filter(None, (data['epsilon'], data['gamma'])))}"
    if "bound" in data:
        return f"{kind}:{data['epsilon']},{data['bound']}"
    return repr(noise)


def _listed(text: str) -> list[str]:
    return text.split(",") if text else []


def _unknown(text: str, name: str) -> InvalidParameter:
    near = get_close_matches(name, FORMS, n=1)
    hint = f"Did you mean {near[0]}:{FORMS[near[0]].example}?" if near else f"For example {EXAMPLES}."
    return InvalidParameter("noise", text, f"NAME:NUMBERS with one of the names {', '.join(FORMS)}", hint)
