"""At a terminal, "the same data?" is one question with three answers; Enter spends nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dovetail.cli import same_data_question
from dovetail.cli.app import app
from dovetail.ledger import Ledger

ASKED = ("--noise", "geometric:0.1")


@pytest.fixture
def months(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """January has a budget, February the same columns."""
    monkeypatch.chdir(tmp_path)
    for name in ("jan", "feb"):
        Path(f"{name}.csv").write_text("ward\na\n")
    assert asked("jan.csv", "--budget", "epsilon=1").exit_code == 0
    monkeypatch.setattr(same_data_question, "_somebody_reads", lambda: True)


def asked(*words: str, answer: str | None = None) -> Result:
    return CliRunner().invoke(app, ["release", words[0], *ASKED, *words[1:]], input=answer)


def spent(place: str) -> list[tuple[str, str]]:
    with Ledger.open(place) as ledger:
        return [(each.name, str(each.spent)) for each in ledger.show().standings]


@pytest.mark.usefixtures("months")
def test_the_same_data_are_charged_to_the_budget_that_is_there_and_never_asked_about_again() -> None:
    first = asked("feb.csv", answer="same\n")
    assert first.exit_code == 0, first.output
    assert "Are the rows of 'feb' the same data, such as another month?" in " ".join(first.stderr.split())
    assert spent("jan.csv.ledger") == [("jan", "epsilon 0.2")]
    assert not Path("feb.csv.ledger").exists()
    again = asked("feb.csv", "--fresh")
    assert (again.exit_code, "same, other or stop" in again.stderr) == (0, False)
    assert spent("jan.csv.ledger") == [("jan", "epsilon 0.3")]


@pytest.mark.usefixtures("months")
def test_other_data_get_a_budget_of_their_own() -> None:
    assert asked("feb.csv", "--budget", "epsilon=2", answer="other\n").exit_code == 0
    assert spent("feb.csv.ledger") == [("feb", "epsilon 0.1")]
    assert spent("jan.csv.ledger") == [("jan", "epsilon 0.1")]


@pytest.mark.usefixtures("months")
@pytest.mark.parametrize("answer", ["\n", "stop\n", "perhaps\n", ""])
def test_any_other_answer_spends_nothing(answer: str) -> None:
    refused = asked("feb.csv", "--budget", "epsilon=2", answer=answer)
    assert refused.exit_code != 0
    assert spent("jan.csv.ledger") == [("jan", "epsilon 0.1")]
    assert not Path("feb.csv.ledger").exists()


@pytest.mark.usefixtures("months")
def test_other_rows_under_a_name_are_other_data_only_under_another_name() -> None:
    words = ("feb.csv", "--name", "jan", "--ledger", "jan.csv.ledger")
    refused = asked(*words, answer="other\n")
    assert "choose another name" in refused.stderr
    assert asked(*words, answer="same\n").exit_code == 0
    assert spent("jan.csv.ledger") == [("jan", "epsilon 0.2")]


@pytest.mark.usefixtures("months")
def test_a_program_is_refused_with_the_options_that_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(same_data_question, "_somebody_reads", lambda: False)
    refused = asked("feb.csv", "--budget", "epsilon=2")
    assert refused.exit_code == 5
    assert "--same-data --name jan --ledger" in " ".join(refused.stderr.split())
    assert "--other-data" in refused.stderr
