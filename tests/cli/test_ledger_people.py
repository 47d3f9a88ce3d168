"""`dovetail ledger analysts | keys | grant | revoke | policy`, and what its keeper does."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dovetail.errors import AccessRefused
from dovetail.ledger import Ledger

OLD = Path(__file__).parents[1] / "data" / "version1.ledger.gz"


@pytest.fixture
def clinic(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a ledger with one dataset and one analyst."""
    monkeypatch.chdir(tmp_path)
    run("ledger", "create", "clinic.ledger", "--dataset", "visits", "--budget", "epsilon=1")
    run("ledger", "analysts", "clinic.ledger", "--add", "ann", "--address", "ann@example.org")
    return "clinic.ledger"


def test_a_key_is_printed_once_and_revoked_by_its_id(run, clinic: str) -> None:
    made = run("ledger", "keys", clinic, "--new", "ann", "--expires", "2127-01-31")
    key = made.stdout.strip()
    assert "not shown again" in made.stderr
    with Ledger.open(clinic) as ledger:
        assert ledger.people.whose(key).name == "ann"
    listed = run("ledger", "keys", clinic).stdout
    public = key.split("_")[1]
    assert public in listed
    assert "2127-01-31" in listed
    assert key.split("_")[2] not in listed
    run("ledger", "revoke", clinic, "--key", public)
    assert "revoked" in run("ledger", "keys", clinic).stdout
    with Ledger.open(clinic) as ledger, pytest.raises(AccessRefused):
        ledger.people.whose(key)


def test_grants_and_policies_are_set_and_shown(run, clinic: str) -> None:
    assert "epsilon at most 0.5" in run("ledger", "grant", clinic, "ann", "--allotment", "epsilon=0.5").stdout
    run("ledger", "policy", clinic, "--answers", "own", "--access", "granted")
    shown = run("ledger", "show", clinic, "--analyst", "ann").stdout
    assert "may ask about visits: epsilon at most 0.5" in shown
    run("ledger", "revoke", clinic, "--grant", "ann")
    assert "(revoked)" in run("ledger", "show", clinic).stdout
    run("ledger", "verify", clinic)


def test_an_erased_name_is_a_number(run, clinic: str) -> None:
    assert "ann@example.org" in run("ledger", "analysts", clinic).stdout
    left = run("ledger", "analysts", clinic, "--erase", "ann").stdout
    assert "ann" not in left.replace("analyst", "")
    assert "analyst 2" in left


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["keys", "--new", "eve"], 2, "somebody this ledger knows"),
        (["keys", "--new", "ann", "--expires", "tomorrow"], 2, "2027-01-31"),
        (["keys", "--new", "ann", "--expires", "2020-01-31"], 2, "a time in the future"),
        (["grant", "ann", "--allotment", "epsilon=1,delta=1e-6"], 2, "of the same kind"),
        (["grant", "ann", "--allotment", "nothing"], 2, "nothing"),
        (["revoke"], 2, "--key ID or --grant NAME"),
        (["revoke", "--key", "unknown"], 2, "unknown"),
        (["revoke", "--grant", "ann"], 2, "name='ann' must be somebody with a grant"),
        (["policy"], 2, "--answers or --access"),
    ],
)
def test_a_slip_is_one_line_and_changes_nothing(
    run, clinic: str, words: list[str], code: int, said: str
) -> None:
    with Ledger.open(clinic) as ledger:
        head = ledger.head
    assert said in run("ledger", words[0], clinic, *words[1:], code=code).stderr
    with Ledger.open(clinic) as ledger:
        assert ledger.head == head


def test_a_data_set_is_renamed_and_its_old_name_still_finds_it(run, clinic: str) -> None:
    assert "now called stays" in run("ledger", "rename", clinic, "visits", "stays").stdout
    assert "stays: epsilon at most 1" in run("ledger", "show", clinic, "--dataset", "visits").stdout
    run("ledger", "create", clinic, "--dataset", "wards", "--budget", "epsilon=1")
    taken = run("ledger", "rename", clinic, "wards", "visits", code=2).stderr
    assert "a name that no other dataset of this ledger has" in taken
    assert "It holds" in run("ledger", "rename", clinic, "beds", "rooms", code=2).stderr
    run("ledger", "verify", clinic)


def test_nothing_more_is_answered_about_a_retired_data_set(run, clinic: str) -> None:
    Path("v.csv").write_text("ward\na\n")
    words = ("release", "v.csv", "--name", "visits", "--ledger", clinic, "--same-data")
    run(*words, "--noise", "geometric:0.2")
    assert "nothing more is answered" in run("ledger", "retire", clinic, "visits").stdout
    assert "was retired" in run(*words, "--noise", "geometric:0.1", code=5).stderr
    shown = run("ledger", "show", clinic).stdout
    assert "visits: epsilon at most 1 in the worst case (retired)" in shown
    assert "answered" in shown
    with Ledger.open(clinic) as ledger:
        assert "(retired)" in str(ledger.show())
    run("ledger", "verify", clinic)


def test_a_file_that_is_no_ledger_is_named_as_such(run) -> None:
    Path("notes.txt").write_text("no ledger\n" * 100)
    said = run("ledger", "show", "notes.txt", code=5).stderr
    assert "notes.txt is not a ledger" in said
    assert "Check its name" in said


def test_an_old_ledger_says_how_it_is_migrated(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.ledger").write_bytes(gzip.decompress(OLD.read_bytes()))
    assert "dovetail ledger migrate" in run("ledger", "show", "old.ledger", code=5).stderr
    assert "old.ledger.version1" in run("ledger", "migrate", "old.ledger").stdout
    assert "23 events" in run("ledger", "verify", "old.ledger").stdout
    assert "schema version 2" in run("ledger", "migrate", "old.ledger", code=5).stderr


def test_a_witness_is_started_and_a_backup_is_read_as_a_copy(run, clinic: str) -> None:
    run("ledger", "witness", clinic, "clinic.witness")
    run("ledger", "backup", clinic, "copy.ledger")
    run("ledger", "analysts", clinic, "--add", "bob")
    assert "witness" in run("ledger", "verify", "copy.ledger", code=5).stderr
    assert "intact" in run("ledger", "verify", "copy.ledger", "--copy").stdout
    assert '"principal"' in run("ledger", "export", "copy.ledger", "--json", "--copy").stdout
    Path("clinic.witness").unlink()
    refused = run("ledger", "show", clinic, code=5).stderr
    assert "dovetail ledger witness" in refused
    with Ledger.open(clinic, copy=True) as ledger:
        head = str(ledger.head)
    run("ledger", "witness", clinic, "another.witness", "--head", head)
    run("ledger", "verify", clinic)


def test_a_statement_for_each_analyst(run, clinic: str) -> None:
    run("ledger", "grant", clinic, "ann", "--allotment", "epsilon=0.5")
    Path("v.csv").write_text("ward\na\n")
    words = ("--name", "visits", "--ledger", clinic, "--noise", "geometric:0.2", "--analyst", "ann")
    run("release", "v.csv", *words)
    lines = run("ledger", "statements", clinic, "--csv").stdout.splitlines()
    assert lines[0].startswith("analyst,dataset,answered")
    assert lines[1].startswith("ann,visits,1,0,0,0,epsilon 0.2,")
    assert "epsilon 0.3" in lines[1]
    shown = run("ledger", "statements", clinic).stdout
    assert "ann about visits: 1 answered, 0 failed" in shown
    assert "remains  epsilon 0.3 of epsilon at most 0.5" in shown


@pytest.mark.parametrize(
    "words",
    [
        ("analysts", "--role", "curator"),
        ("analysts", "--address", "ann@example.org"),
        ("analysts", "--erase", "ann", "--role", "analyst"),
        ("keys", "--expires", "2127-01-31"),
        ("revoke", "--key", "abcdefghij", "--dataset", "visits"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(run, clinic: str, words: tuple[str, ...]) -> None:
    refused = run("ledger", words[0], clinic, *words[1:], code=2)
    assert words[-2] in refused.stderr
    with Ledger.open(clinic) as ledger:
        assert [each.name for each in ledger.people.all()] == ["ann"]
