"""`dovetail noise`: describe one noise, or several side by side."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dovetail.check import integer, positive
from dovetail.cli.noise_syntax import EXAMPLES, FORMS, read_noise
from dovetail.cli.options import Json, Queries, Sensitivity, examples, listing
from dovetail.cli.terminal import number, printable, privacy_cost, stdout, table

if TYPE_CHECKING:
    from dovetail.noise import Noise

_FORMS = listing(
    "How a noise is written (rates and epsilon are per unit of noise):",
    *(f"{name}:{form.written}" for name, form in FORMS.items()),
)
_EPILOG = examples(
    "dovetail noise geometric:0.5",
    "dovetail noise mixture:0.2,1,5 geometric:0.328 --within 5",
    "dovetail noise piecewise:0.05,0.1,0.14@9,22 gaussian:13.4 --queries 10",
)

Figures = dict[str, float | None]
# The figures that say how large a noise is; all others are what it costs, at most.
_ERRORS = ("mean_abs", "std", "within", "half", "most", "nearly_all", "entropy")


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=f"{_EPILOG}\n\n{_FORMS}")(noise)


def noise(
    noises: Annotated[list[str], typer.Argument(metavar="NOISE", help=f"Such as {EXAMPLES}.")],
    within: Annotated[
        str, typer.Option(metavar="NUMBER", help="Show how often the error stays within this.")
    ] = "5",
    sensitivity: Sensitivity = "1",
    queries: Queries = "1",
    delta: Annotated[str, typer.Option(metavar="NUMBER", help="Show the epsilon of this delta.")] = "1e-6",
    as_json: Json = False,
) -> None:
    """Describe noises: their size and their privacy.

    Several are shown side by side. Only noise on the integers is ever released; the others are for study.
    """
    reach = positive("within", within, "Give an error, for example 5.")
    step = integer("sensitivity", sensitivity, low=1, fix="Give how far one row can move the answer.")
    uses = integer("queries", queries, low=1, fix="Give the number of planned answers.")
    named = {text: figures(read_noise(text), reach, step, uses, delta) for text in noises}
    if as_json:
        typer.echo(json.dumps(named, indent=1))
        return
    rows = {
        key: (label, [_cell(key, each[key]) for each in named.values()])
        for key, label in _labels(float(reach), step, uses, delta).items()
    }
    if rows["zeta"][1] == rows["epsilon"][1]:
        # Zeta says nothing that epsilon does not.
        rows = {key: row for key, row in rows.items() if not key.startswith("zeta")}
    shown = table("", *map(printable, named), numbers=len(named))
    for key, (label, cells) in rows.items():
        shown.add_row(label, *cells, end_section=key == "entropy")
    screen = stdout()
    screen.print(shown)
    if "zeta" in rows:
        screen.print(
            "Zeta is an average over the values of the noise, never a worst case: two noises with equal zeta "
            "can differ in the worst case."
        )


def figures(noise: Noise, within: Any, sensitivity: int, queries: int, delta: str) -> Figures:
    """Return what the command shows of one noise."""
    from dovetail.exact.balls import times_up
    from dovetail.exact.decimals import finite
    from dovetail.privacy import privacy_loss

    loss = privacy_loss(noise, sensitivity=sensitivity)
    together = loss.compose(queries)
    epsilon_at_delta = together.epsilon_at(delta)
    return {
        "mean_abs": noise.mean_abs(),
        "std": noise.std(),
        "within": float(noise.within(float(within))),
        "half": noise.quantile_abs("0.5"),
        "most": noise.quantile_abs("0.95"),
        "nearly_all": noise.quantile_abs("0.99"),
        "entropy": noise.entropy(),
        "epsilon": finite(loss.epsilon),
        "zeta": finite(loss.zeta),
        "renyi_2": finite(loss.renyi(2)),
        "epsilon_all": finite(together.epsilon),
        "zeta_all_at_most": finite(times_up(loss.zeta, queries)),
        "epsilon_at_delta": finite(epsilon_at_delta),
        "chance_of_more": 0.0 if finite(epsilon_at_delta) is None else together.above(epsilon_at_delta),
    }


def _labels(within: float, sensitivity: int, queries: int, delta: str) -> dict[str, str]:
    uses = "one answer" if queries == 1 else f"{queries:,} answers"
    labels = {
        "mean_abs": "mean error",
        "std": "standard deviation",
        "within": f"chance of being within ±{within:g}",
        "half": "half of the errors are within",
        "most": "95 % are within",
        "nearly_all": "99 % are within",
        "entropy": "entropy (nats)",
        "epsilon": "worst case: epsilon",
        "zeta": "average: zeta",
        "renyi_2": "Rényi divergence, order 2",
    }
    if queries > 1:
        labels["epsilon_all"] = f"{uses}, worst case: epsilon"
        labels["zeta_all_at_most"] = f"{uses}, average: zeta, added up"
    if sensitivity > 1:
        labels["epsilon"] += f" (sensitivity {sensitivity})"
    return labels | {
        "epsilon_at_delta": f"{uses}: epsilon at delta {delta}",
        "chance_of_more": "chance of a larger loss",
    }


def _cell(key: str, value: float | None) -> str:
    if value is None:
        return "infinite"
    return number(value) if key in _ERRORS else privacy_cost(value)
