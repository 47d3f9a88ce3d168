"""`dovetail demo`: the whole story on public data, in under a minute."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dovetail.cli.chart import draw
from dovetail.cli.error_report import worded
from dovetail.cli.noise_figures import NoiseFigures, change
from dovetail.cli.noise_syntax import spelled
from dovetail.cli.options import examples
from dovetail.cli.terminal import privacy_cost, say, stdout, table, working
from dovetail.errors import BudgetExceeded, InvalidParameter

if TYPE_CHECKING:
    from rich.console import Console

    from dovetail.answers import Answer
    from dovetail.answers.chart import Line
    from dovetail.designer import Design
    from dovetail.engines import Source
    from dovetail.noise import Noise
    from dovetail.session import Session

WITHIN, PROBABILITY, QUERIES, DELTA, EPSILON = 5, "0.95", 20, "1e-6", 9
WIDER = 25


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=examples("dovetail demo", "dovetail demo --out my-demo", "dovetail demo --service"))(
        demo
    )


def demo(
    out: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Where to leave the ledger and the picture.")
    ] = None,
    service: Annotated[bool, typer.Option("--service", help="Show a service that analysts ask.")] = False,
) -> None:
    """Show a whole release on public data, in under a minute."""
    from dovetail import datasets

    folder = _folder(out)
    if service:
        from dovetail.cli.service_demo import show_service

        show_service(stdout(), folder)
        return
    screen, source = stdout(), datasets.adult()
    _data(screen)
    chosen = _prices(screen)
    _session(screen, source, chosen, folder)


def _folder(out: str | None) -> Path:
    """Return a new folder: a ledger of an earlier run is never touched."""
    if out is not None:
        if Path(out).exists():
            raise InvalidParameter("out", out, "a folder that does not exist yet", "Choose another.")
        Path(out).mkdir(parents=True)
        return Path(out)
    tries = (Path("out", "demo" if n == 1 else f"demo-{n}") for n in range(1, 10_000))
    folder = next(place for place in tries if not place.exists())
    folder.mkdir(parents=True)
    return folder


def _data(screen: Console) -> None:
    _title(screen, "1. The data and the goal")
    screen.print(
        "Adult: 32,561 people of the 1994 US census, public data that ship with Dovetail. A curator plans "
        f"{QUERIES} histograms of them. She names the error that she can accept, not an epsilon:\n"
    )
    screen.print(f"    counts by education within ±{WITHIN}, 95 times out of 100\n", style="bold")


def _prices(screen: Console) -> Design:
    """Show what the goal costs with each noise that meets it, in every sense, and return the design."""
    from dovetail.designer import design

    _title(screen, "2. The noise and its price")
    goal: dict[str, Any] = {"within": WITHIN, "probability": PROBABILITY, "queries": QUERIES, "delta": DELTA}
    with working("Searching for the noise ..."):
        designs = {pieces: design(pieces=pieces, **goal) for pieces in (1, 2, 8)}
        others = [other.noise for other in designs[8].alternatives if other.name == "Gaussian"]
    chosen = designs[8]
    noises: dict[str, Noise] = {
        "geometric\n(standard)": designs[1].noise,
        "mixture of 2\n(the paper)": designs[2].noise,
        f"designed,\n{len(getattr(chosen.noise, 'rates', ()))} pieces": chosen.noise,
    }
    noises |= {f"Gaussian,\nsigma {noise.to_dict()['sigma']}": noise for noise in others}
    senses = [
        NoiseFigures.of(noise, within=WITHIN, queries=QUERIES, delta=DELTA) for noise in noises.values()
    ]
    shown = table("", *noises, numbers=len(noises))
    labels = (
        f"chance of being within ±{WITHIN}",
        "mean error",
        "zeta, average",
        "epsilon, worst case",
        f"{QUERIES}x: epsilon at {DELTA}",
        "chance of a larger loss",
        f"{QUERIES}x: epsilon, worst",
    )
    for label, *figures in zip(labels, *(each.shown() for each in senses), strict=True):
        shown.add_row(label, *figures)
    screen.print(shown)
    _verdict(screen, senses)
    return chosen


def _verdict(screen: Console, senses: list[NoiseFigures]) -> None:
    """Say where the designed noise gains and where it does not; the figures decide the words."""
    standard, _, own, *gaussian = senses
    screen.print("All of them meet the goal. The designed noise compared with the standard one:")
    said = {
        "one answer, average: zeta": change(own.zeta, standard.zeta),
        "one answer, worst case: epsilon": change(own.epsilon, standard.epsilon),
        f"{QUERIES} answers, delta {DELTA}: epsilon": change(own.planned, standard.planned),
        f"{QUERIES} answers, worst case: epsilon": change(own.planned_worst, standard.planned_worst),
    }
    for label, words in said.items():
        screen.print(f"  {label:<33}  {words}")
    for rival in gaussian:
        screen.print("Compared with Gaussian noise, which has no worst-case guarantee:")
        screen.print(
            f"  {f'{QUERIES} answers, delta {DELTA}: epsilon':<33}  {change(own.planned, rival.planned)}"
        )
    screen.print(
        "\nA better shape helps when many answers are planned or when the average loss matters. For a "
        "worst-case guarantee, geometric noise is the best possible, and no other shape improves on it."
    )


def _session(screen: Console, source: Source, chosen: Design, folder: Path) -> None:
    from dovetail.answers.plan import charge_in_words
    from dovetail.privacy import Budget
    from dovetail.session import Session

    _title(screen, "3. A budget, and a plan that is paid for in advance")
    budget = Budget.approximate(EPSILON, DELTA)
    with Session(source, budget=budget, ledger=folder / "adult.ledger") as session:
        screen.print(_how_strict())
        say(screen, "budget  ", str(budget), "dim")
        say(screen, "before  ", f"remains {session.remaining}", "dim")
        plan = session.plan(chosen, queries=QUERIES)
        say(screen, "plan    ", f"{QUERIES} answers of {spelled(plan.noise)}", "dim")
        say(screen, "costs   ", charge_in_words(plan.charge), "dim")
        say(screen, "after   ", f"remains {session.remaining}", "dim")

        _title(screen, "4. The histogram")
        answer = session.histogram("education", plan=plan)
        lines = _beside_the_truth(answer, source)
        screen.print("Noisy counts with 95 % intervals; the second number is the truth.", style="dim")
        draw(screen, lines, len(lines))
        kept = sum(line.low <= (line.true or 0) <= line.high for line in lines)
        screen.print(
            f"\nThe truth lies inside {kept} of these {len(lines)} intervals (95 out of 100 are promised). "
            "It can be shown here only because Adult is public; a release never shows it."
        )
        _again(screen, session, answer)
        _refused(screen, session)
        place = session.ledger_place
    picture = _drawn(lines, folder / "education.png")
    _title(screen, "7. What is kept")
    say(screen, "ledger   ", f"{place}  (dovetail ledger show {place})", "dim")
    say(screen, "picture  ", picture, "dim")


def _how_strict() -> str:
    """Say what the size of epsilon means here, with the price of a wider error beside it."""
    from dovetail.designer import design

    with working("Pricing a wider error ..."):
        wider = design(within=WIDER, probability=PROBABILITY, queries=QUERIES, delta=DELTA)
    return (
        f"An epsilon near {EPSILON} is a weak guarantee. That is the price of {QUERIES} answers with so "
        f"small an error; within ±{WIDER} instead of ±{WITHIN}, they would cost epsilon "
        f"{privacy_cost(wider.total.epsilon_at(DELTA))}.\n"
    )


def _beside_the_truth(answer: Answer, source: Source) -> list[Line]:
    """Return the cells with their true counts, read past the release: only public data allow it."""
    from dataclasses import replace

    from pyarrow import parquet

    from dovetail.answers.display import lines_of

    column = parquet.read_table(source.data, columns=["education"])["education"]
    counts = {str(pair["values"]): pair["counts"].as_py() for pair in column.value_counts()}
    return [replace(line, true=float(counts.get(line.label, 0))) for line in lines_of(answer)]


def _again(screen: Console, session: Session, answer: Answer) -> None:
    _title(screen, "5. The same question again")
    before = session.remaining
    again = session.histogram("education", plan=session.plans[0])
    same = again.value == answer.value and session.remaining == before and again.stored
    screen.print(
        "It gets the very same numbers and costs nothing. Fresh noise could be averaged away, so a new "
        "answer to an old question has to be paid for."
        if same
        else "It got different numbers, which should not happen."
    )


def _refused(screen: Console, session: Session) -> None:
    _title(screen, "6. A question that the budget does not cover")
    screen.print("How many are 40 or older, within ±1?")
    try:
        session.count(where="age >= 40", within=1)
    except BudgetExceeded as error:
        line, hint = worded(error)
        say(screen, "Error: ", line, "bold red")
        say(screen, "Hint:  ", hint, "bold")


def _drawn(lines: list[Line], picture: Path) -> str:
    """Draw the histogram beside the truth and return where it is, or why there is none."""
    from dovetail.plots.truth import beside_truth

    try:
        figure = beside_truth(
            [line.label for line in lines],
            [float(line.value) for line in lines],
            [(float(line.low), float(line.high)) for line in lines],
            [float(line.true or 0) for line in lines],
            title="Adult by education: released counts",
        )
    except ModuleNotFoundError:
        return "not drawn: that needs Matplotlib (pip install 'dovetail-dp[plot]')"
    figure.savefig(picture, dpi=130)
    return str(picture)


def _title(screen: Console, text: str) -> None:
    screen.print()
    screen.print(text, style="bold cyan")
    screen.print()
