"""Every remedy has words in every front end, and none of them names what that front end does not have."""

from __future__ import annotations

import ast
import json
import pickle
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

import dovetail
from dovetail.cli import error_words as command_line
from dovetail.errors import python_words, remedies
from dovetail.errors.remedies import (
    Advice,
    Ask,
    AskForLess,
    ChooseProtected,
    Confirm,
    Declare,
    DeclareVintage,
    DidYouMean,
    DraftSchema,
    Give,
    Install,
    KeepOne,
    LeaveOut,
    PayKnowingly,
    Remedy,
    ShareBudget,
    Spend,
)
from dovetail.query.query_json import QUERIES
from dovetail.service import error_words as http

# What a SELECT refers to where the bounds of a column are not public.
STATISTICS = ("sum", "mean", "median", "min", "max", "quantiles", "std", "variance")
KINDS = [kind for kind in vars(remedies).values() if isinstance(kind, type) and issubclass(kind, Remedy)]
EXAMPLES = {
    Advice: [Advice("Wait a moment.")],
    Ask: [
        Ask("histogram", "age", one_of=("keys", "bins")),
        *(Ask(statistic, "age", all_of=("low", "high", "step")) for statistic in STATISTICS),
    ],
    AskForLess: [AskForLess(), AskForLess(Fraction(7, 2), Fraction(19, 20), smaller_delta=True)],
    Confirm: [Confirm("age"), Confirm("age", "people.toml")],
    ChooseProtected: [ChooseProtected("patient id")],
    DeclareVintage: [DeclareVintage("2026 05")],
    Declare: [Declare("age", ("low", "high"))],
    DidYouMean: [DidYouMean("education")],
    DraftSchema: [DraftSchema(), DraftSchema("people.csv")],
    Give: [
        Give(name) for name in sorted({*python_words.PARAMETERS, *command_line.PARAMETERS, *http.PARAMETERS})
    ],
    Install: [Install("spark")],
    KeepOne: [KeepOne(("within", "spend"))],
    PayKnowingly: [
        PayKnowingly("7.5"),
        PayKnowingly("7.5", Fraction(3), Fraction(19, 20)),
        PayKnowingly("7.5", answers=20),
    ],
    ShareBudget: [ShareBudget(), ShareBudget("visits", "visits.csv.ledger")],
    Spend: [Spend("0.1")],
    LeaveOut: [LeaveOut("clamp"), LeaveOut("max_rows")],
}
ALL = [
    each
    for kind in KINDS
    if kind is not Remedy
    for each in (EXAMPLES[kind] if kind in EXAMPLES else [kind()])
]

KEYWORD = re.compile(r"(?<![\w-])[a-z_]+=")
OPTION = re.compile(r"--[a-z]")
OF_PYTHON = re.compile(
    r"\b(session|ledger|schema|noise)\.[a-z]|\b(Session|Schema|Budget|Ledger)\b[.(]"
    r"|\b(Geometric|Column|Count|Goal)\(|\b[a-z_]{4,}\(\)"
)
# Names of parameters within a sentence; PostgreSQL's own program has one, too.
OF_PARAMETERS = re.compile(r"(?!.*pg_dump)(\s[a-z]+_[a-z_]+\b|\b[a-z]+_[a-z_]+\s|\bdatetime\.)")
OF_THE_COMMAND_LINE = re.compile(r"`dovetail |\bdovetail (release|sql|schema|ledger|price)\b")


@pytest.mark.parametrize("remedy", ALL, ids=repr)
def test_every_remedy_has_words_that_its_reader_can_use(remedy: Remedy) -> None:
    said = python_words.words(remedy)
    assert said.strip()
    assert not OPTION.search(said)
    assert not OF_THE_COMMAND_LINE.search(said)
    typed = command_line.words(remedy)
    had = [command_line.PARAMETERS.get(each, each) for each in getattr(remedy, "parameters", ())]
    unsaid = had and not any(had)
    assert bool(typed.strip()) != bool(unsaid)
    assert not OF_PYTHON.search(typed)
    assert not KEYWORD.search(re.sub(r"--\S+ \S+", "", typed))


@pytest.mark.parametrize("remedy", ALL, ids=repr)
def test_every_remedy_has_words_for_a_user_of_the_service(remedy: Remedy) -> None:
    sent = http.words(remedy)
    unsaid = [each for each in getattr(remedy, "parameters", ()) if http.PARAMETERS.get(each, "") is None]
    assert bool(sent.strip()) != bool(unsaid and isinstance(remedy, Give))
    for foreign in (OPTION, OF_PYTHON, OF_THE_COMMAND_LINE, KEYWORD):
        assert not foreign.search(sent)


@pytest.mark.parametrize("remedy", ALL, ids=repr)
def test_every_remedy_is_data_for_programs(remedy: Remedy) -> None:
    data = json.loads(json.dumps(remedy.to_dict()))
    assert re.fullmatch("[a-z-]+", data["remedy"])
    assert len({json.dumps(each.to_dict()) for each in ALL}) == len(ALL)


@pytest.mark.parametrize("remedy", ALL, ids=repr)
def test_every_remedy_is_a_frozen_value(remedy: Remedy) -> None:
    again = pickle.loads(pickle.dumps(remedy))
    assert again == remedy
    assert hash(again) == hash(remedy)
    assert len({*ALL, again}) == len(ALL)
    with pytest.raises(AttributeError, match="frozen"):
        remedy.text = "Do something else."  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "make",
    [
        lambda: LeaveOut(),  # type: ignore[call-arg]
        lambda: LeaveOut("clamp", "fresh"),  # type: ignore[call-arg]
        lambda: LeaveOut("clamp", parameter="fresh"),  # type: ignore[misc]
        lambda: LeaveOut(word="clamp"),  # type: ignore[call-arg]
        lambda: DraftSchema(column="age"),  # type: ignore[call-arg]
        lambda: remedies.SeePlans("all"),  # type: ignore[call-arg]
    ],
)
def test_a_remedy_takes_its_members_and_nothing_else(make: Callable[[], Remedy]) -> None:
    with pytest.raises(TypeError, match="takes"):
        make()


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_statistic_to_ask_for_is_one_that_the_reader_has(statistic: str) -> None:
    remedy = Ask(statistic, "age", all_of=("low",))
    assert f"session.{statistic}('age'" in python_words.words(remedy)
    assert hasattr(dovetail.Session, statistic)
    (asked,) = re.findall(r'"ask": "(\w+)"', http.words(remedy))
    assert asked in QUERIES


def test_every_option_that_is_named_exists() -> None:
    from typer.main import get_command

    from dovetail.cli.app import app

    known = {"--force"}
    waiting = [get_command(app)]
    while waiting:
        command = waiting.pop()
        waiting += getattr(command, "commands", {}).values()
        known |= {word for one in command.params for word in (*one.opts, *one.secondary_opts)}
    said = " ".join(command_line.words(remedy) for remedy in ALL)
    assert set(re.findall("--[a-z-]+", said)) <= known


ERRORS = {
    *("InvalidParameter", "GoalUnreachable", "InvalidQuery", "UnsupportedSQL", "MissingKeys", "MissingPrice"),
    *("BudgetExceeded", "DataError", "LedgerError", "LedgerCorrupt", "LedgerBusy", "RequestConflict"),
    *(
        "BudgetMismatch",
        "AccessRefused",
        "LedgerUnavailable",
        "UpdatesExhausted",
        "SharedBudget",
        "ExPost",
        "Advice",
        "refusal",
        "refuse",
        "Unparsable",
    ),
}
# What a reader of another front end could not follow.
FOREIGN = (KEYWORD, OPTION, OF_PYTHON, OF_THE_COMMAND_LINE)


def texts_of_errors() -> list[tuple[str, str]]:
    """Return every text in the making of an error below the front ends, with its place."""
    found = []
    root = Path(dovetail.__file__).parent
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0] in ("cli", "service", "paper"):
            continue
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call):
                name = getattr(call.func, "id", getattr(call.func, "attr", ""))
                parts = ast.walk(call) if name in ERRORS else ()
                for part in parts:
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        found.append((f"{path.relative_to(root)}:{part.lineno}", part.value))
    return found


def test_what_is_wrong_is_said_in_no_front_ends_words() -> None:
    texts = texts_of_errors()
    assert len(texts) > 300
    foreign = [(place, text) for place, text in texts for words in FOREIGN if words.search(text)]
    # Losses are computed in Python only.
    told = [(place, text) for place, text in texts if not place.startswith("privacy/")]
    foreign += [(place, text) for place, text in told if OF_PARAMETERS.search(text)]
    assert not foreign


def test_no_front_end_reads_what_another_wrote() -> None:
    """Sentences are written once and never taken apart: no splitting, no patterns over messages."""
    root = Path(dovetail.__file__).parent
    for path in root.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(
            r"str\((error|charge|both|self\.charge)\)\.(split|replace|removesuffix)", text
        ), path
        assert "(?<=[.!?])" not in text, path
