"""What a CSV file's first line lacks is said, each fault in its own words, before anything is spent."""

from __future__ import annotations

from pathlib import Path

import pytest

import dovetail as dv


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\n1,2\n", "begins with an empty line"),
        (b"age,sex,age\n1,F,2\n", "names 'age' twice"),
        (b"age,sex,Age\n1,F,2\n", "columns 'age' and 'Age', which differ only in case"),
        (b"age,,sex\n1,2,F\n", "Column 2 has no name"),
        ("größe,alter\n1,2\n".encode("latin-1"), "is not in UTF-8"),
        ("größe,alter\n1,2\n".encode("utf-16"), "is not in UTF-8"),
    ],
)
def test_each_fault_has_a_message_of_its_own(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "people.csv").write_bytes(content)
    with pytest.raises(dv.DataError, match=said):
        dv.Session(tmp_path / "people.csv", budget=dv.Budget.pure(1))
    assert [file.name for file in tmp_path.iterdir()] == ["people.csv"]


def test_a_mark_of_utf_8_is_not_part_of_the_first_name(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes("\ufeffage\n40\n".encode())
    with dv.Session(tmp_path / "people.csv", budget=dv.Budget.pure(100)) as session:
        # Noise of this rate is 0 but for a chance of 3e-11.
        counted = session.histogram("age", keys=["40"], noise=dv.Geometric(25))
    assert counted.table.column_names == ["age", "value", "low", "high"]
    assert counted.value == [1]


def counts(folder: Path, *wheres: str) -> list[int]:
    with dv.Session(folder, budget=dv.Budget.pure(100), ledger=folder.parent / "a.ledger") as session:
        return [session.count(where=where, noise=dv.Geometric(20)).value for where in wheres]


@pytest.fixture
def months(tmp_path: Path) -> Path:
    folder = tmp_path / "months"
    folder.mkdir()
    (folder / "jan.csv").write_text("age,sex\n40,F\n50,M\n")
    return folder


def test_a_folder_s_columns_are_matched_by_name(months: Path) -> None:
    (months / "feb.csv").write_text("sex,age\nF,41\nF,42\n")
    (months / "mar.csv").write_text('\ufeff"age",sex\n60,M\n')
    assert counts(months, "age >= '40'", "age > '41'", "sex = 'F'", "sex = '41'") == [5, 3, 3, 0]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("age\n1\n", "columns of 'may.csv' are not those of 'jan.csv': it lacks 'sex'"),
        ("age,sex,name\n1,F,ann\n", "it has 'name' too"),
        ("alter,sex\n1,F\n", "it lacks 'age' and has 'alter' too"),
        ("Age,sex\n1,F\n", "it lacks 'age' and has 'Age' too"),
        ("age;sex\n1;F\n", "'may.csv' separates its columns by a semicolon, 'jan.csv' by a comma"),
        ("40,F\n50,M\n", "it lacks 'age', 'sex' and has '40', 'F' too"),
        ("", "'may.csv' is empty"),
    ],
)
def test_a_file_that_differs_is_named_whatever_its_rows_are(months: Path, content: str, said: str) -> None:
    first, *rows = content.splitlines() if content else [""]
    for text in {content, "\n".join([first, *rows * 3]), first}:
        (months / "may.csv").write_text(text)
        with pytest.raises(dv.DataError) as caught:
            counts(months, "age > '1'")
        assert said in str(caught.value)
        assert not list(months.parent.glob("*.ledger"))
