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
        (b"age,sex,Age\n1,F,2\n", "names 'Age' twice"),
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
    with dv.Session(tmp_path / "people.csv", budget=dv.Budget.pure(1)) as session:
        session.count(where="age > 20", noise=dv.Geometric(1))
