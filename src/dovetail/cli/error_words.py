"""Say errors and their remedies in the options and commands of the command line: its one table of words."""

from __future__ import annotations

from collections.abc import Callable
from shlex import quote
from typing import Any

from dovetail.errors import DovetailError
from dovetail.errors import remedies as r
from dovetail.errors.python_words import both, bought, either, less

# How a parameter is given; None where the command line has no such thing.
PARAMETERS: dict[str, str | None] = {
    "at": "--at zeta, --at epsilon or --at 1,1e-6,10",
    "bins": "--bins age=0,18,65,120",
    "budget": "--budget epsilon=1",
    "budget:delta": "--budget epsilon=1,delta=1e-6",
    "clamp": "--clamp",
    "delta": "--delta 1e-8",
    "epsilon": "--epsilon 1",
    "fresh": "--fresh",
    "goals": None,
    "high": "--high 100",
    "keys": "--keys region=north,south",
    "keys:discover": "--discover COLUMN",
    "ledger": "--ledger all.ledger",
    "low": "--low 0",
    "max_rows": "--max-rows 5",
    "name": "--name people",
    "noise": "--noise mixture:0.2,1,5",
    "plan": None,
    "probability": "--probability 0.95",
    "protects": "--rows",
    "qs": "--quantiles age=0.25,0.5,0.75",
    "queries": "--queries 20",
    "same_data": "--same-data",
    "same_data:no": "--other-data",
    "share": None,
    "spend": "--epsilon 0.1",
    "spend:delta": "--epsilon 0.5 --delta 1e-8",
    "step": "--step 1",
    "table": "--table visits",
    "unit": "--unit person",
    "version": "--data-version corrected",
    "vintage": "--vintage 2026-01",
    "where": "--where \"age >= 40 AND sex = 'Female'\"",
    "within": "--within 5",
    **dict.fromkeys(("base", "updates", "ways")),
}
_WAYS = """Choose one:
  --within 5                 the error you can live with, 95 times out of 100
  --epsilon 0.1              the worst-case privacy loss it may cost
  --noise mixture:0.2,1,5    a noise of your own
  --queries 20               one of 20 equal shares of the whole budget
  --within 5 --queries 20    20 answers with that error, paid for together"""
_WORDS: dict[type[r.Remedy], Callable[[Any], str]] = {
    r.Advice: lambda remedy: remedy.text,
    r.Give: lambda remedy: _listed("Add {}.", remedy.parameters),
    r.Spend: lambda remedy: f"Add --epsilon {remedy.epsilon}.",
    r.LeaveOut: lambda remedy: f"Leave {option(remedy.parameter)} out.",
    r.KeepOne: lambda remedy: f"Keep one of {both(map(option, remedy.parameters))}.",
    r.DidYouMean: lambda remedy: f"Did you mean {remedy.word}?",
    r.ChoosePayment: lambda _: _WAYS,
    r.ProtectPersons: lambda _: "Add --unit and --max-rows.",
    r.Declare: lambda remedy: f"Declare {both(remedy.what)} for {remedy.column} in the schema.",
    r.DraftSchema: lambda remedy: (
        f"`dovetail schema draft {remedy.data or 'DATA'}` proposes a schema from the rows, for you to review."
    ),
    r.Confirm: lambda remedy: (
        "Check its type and values, then confirm it: "
        f"`dovetail schema confirm {quote(remedy.schema or 'SCHEMA')} {quote(remedy.column)}`."
    ),
    r.Ask: lambda remedy: (
        f"Ask `dovetail release ... {_asked(remedy)}`"
        + (_listed(" with {}.", remedy.one_of) or f" with {both(map(option, remedy.all_of))}.")
    ),
    r.AskForLess: less,
    r.SeeContributions: lambda _: (
        "`dovetail release DATA --contributions --unit person --epsilon 0.1` counts rows per person."
    ),
    r.PayKnowingly: lambda remedy: (
        f"To pay that, add --yes, or --epsilon {remedy.epsilon} instead of --within.{bought(remedy)}"
        if remedy.answers is None
        else f"To pay that, add --yes.{bought(remedy)}"
    ),
    r.ShareBudget: lambda remedy: (
        f"If they are, add {' '.join(map(quote, shared(remedy)))}, which charges that budget."
    ),
    r.SeePlans: lambda _: "`dovetail ledger show` lists the plans; --queries opens another.",
    r.ChangeBudget: lambda _: "The curator can change it with `dovetail ledger raise`.",
    r.ChooseProtected: lambda remedy: (
        f"--unit {quote(remedy.column)} --max-rows 5 protects each person with all their rows; "
        "--rows protects single rows, but not persons who have several."
    ),
    r.DeclareVintage: lambda remedy: (
        f"Declare it: `dovetail ledger vintages LEDGER --complete {quote(remedy.label)}`."
    ),
    r.CreateLedger: lambda _: "`dovetail ledger create` makes one.",
    r.OpenLedger: lambda _: "`dovetail ledger show` reads it.",
    r.VerifyLedger: lambda _: "`dovetail ledger verify` checks it and prints its head.",
    r.MigrateLedger: lambda _: "`dovetail ledger migrate` does it.",
    r.StartWitness: lambda _: "`dovetail ledger witness` starts one.",
    r.Install: lambda remedy: f"pip install 'dovetail-dp[{remedy.extra}]'",
}


def _asked(remedy: r.Ask) -> str:
    """Return the option that asks for a statistic of a column."""
    name = {"histogram": "--by"}.get(remedy.statistic, f"--{remedy.statistic}")
    return f"{name} {quote(remedy.column)}{'=0.5' * (remedy.statistic == 'quantiles')}"


def shared(remedy: r.ShareBudget) -> list[str]:
    """Return the options that say that data are the same as others with a budget.

    >>> shared(r.ShareBudget("visits"))
    ['--same-data', '--name', 'visits']
    """
    named = {"--name": remedy.name, "--ledger": remedy.ledger}
    given = [(option, value) for option, value in named.items() if value is not None]
    return ["--same-data", *(word for pair in given for word in pair)]


def statement(error: DovetailError) -> str:
    """Return what is wrong in one line.

    >>> from dovetail.errors import InvalidParameter
    >>> statement(InvalidParameter("max_rows", 0, "a whole number of at least 1"))
    'max-rows=0 must be a whole number of at least 1.'
    >>> statement(InvalidParameter("qs", "2", "from 0 to 1"))
    "quantiles='2' must be from 0 to 1."
    """
    if error.allowed is None:
        return error.statement
    parameter = str(error.parameter)
    name = option(parameter)
    unsaid = error.given == "None" or ":" in parameter
    return f"{name if unsaid else f'{name[2:]}={error.given}'} must be {error.allowed}."


def words(remedy: r.Remedy) -> str:
    """Return a remedy as a user of the command line reads it; nothing where there is no such option.

    >>> words(r.Give("keys", "bins")), words(r.Give("share"))
    ('Add --keys region=north,south or --bins age=0,18,65,120.', '')
    """
    return _WORDS[type(remedy)](remedy)


def option(parameter: str) -> str:
    """Return the option that a parameter of Python is.

    >>> option("max_rows"), option("spend"), option("keys:discover")
    ('--max-rows', '--epsilon', '--discover')
    """
    return (PARAMETERS.get(parameter) or f"--{parameter.replace('_', '-')}").split()[0]


def _listed(frame: str, parameters: tuple[str, ...]) -> str:
    known = [PARAMETERS.get(each, option(each)) for each in parameters]
    had = [each for each in known if each is not None]
    return frame.format(either(had)) if had else ""
