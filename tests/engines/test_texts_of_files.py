"""How texts without a declared type are read: as texts, unless the schema says what they stand for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas
import pytest

from dovetail.engines import Source, connect
from dovetail.engines.aggregation import true_cells
from dovetail.errors import InvalidParameter, InvalidQuery
from dovetail.query import Column, Count, Histogram, Linear, Mean, Schema, Sum
from dovetail.query.encoding import checked_encoding

NUMBERS: list[Any] = [
    Count("x > 3"),
    Count("x IN (1, 2)"),
    Count("x BETWEEN 1 AND 2"),
    Count("x"),
    Count("x > DATE '2020-01-01'"),
    Sum("x", low=0, high=10, step=1),
    Mean("x", low=0, high=10, step=1),
    Histogram("x", keys=[1, 2]),
    Histogram("x", bins=[0, 1, 5]),
    Linear("x", {1: 1}, step=1),
]


def ask(source: Source, query: Any, schema: Schema | None = None) -> list[int]:
    used = schema or Schema()
    engine = connect(Source.of(source, schema=used))
    try:
        return [cell[0] for cell in true_cells(engine, query.checked(used.table(engine.columns())))]
    finally:
        engine.close()


def csv(folder: Path, content: str | bytes, encoding: str = "utf-8") -> Source:
    path = folder / "people.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return Source.of(path)


def frames() -> list[Any]:
    values: list[list[Any]] = [
        [1, 2],
        [1, None],
        [1, "x"],
        [1.5, 2],
        ["a", "b"],
        [True, False],
        [True, None],
        [b"x", 1],
    ]
    made = [pandas.DataFrame({"x": column}) for column in values]
    return [*made, *(frame.astype("category") for frame in made)]


@pytest.mark.parametrize("query", NUMBERS)
def test_a_column_without_a_type_is_never_taken_for_numbers(tmp_path: Path, query: Any) -> None:
    said = set()
    for source in [csv(tmp_path, "x\n1\n2\n"), *(Source.of(frame, name="rows") for frame in frames())]:
        with pytest.raises(InvalidQuery, match="The type of x is not declared") as caught:
            ask(source, query)
        said.add(str(caught.value))
    assert len(said) == 1, "the values of a frame decided what is said"


def test_one_missing_value_changes_no_other_reading_of_a_frame() -> None:
    for kind in ("text", "integer", "number"):
        for query in (Count("x = '40'") if kind == "text" else Count("x = 40"), Count("x IS NULL")):
            schema = Schema([Column("x", kind)])
            found = [
                ask(Source.of(pandas.DataFrame({"x": column}), name="rows"), query, schema)
                for column in ([40, 40, 7], [40, 40, None], [40, 40, "word"])
            ]
            whole, gap, word = (each[0] for each in found)
            assert abs(whole - gap) <= 1
            assert abs(whole - word) <= 1


def test_nullable_types_of_pandas_declare_a_column() -> None:
    frame = pandas.DataFrame({"x": pandas.array([1, None, 3], dtype="Int64")})
    assert ask(Source.of(frame, name="rows"), Sum("x", low=0, high=10, step=1)) == [4]


def test_a_decimal_comma_is_declared(tmp_path: Path) -> None:
    source = csv(tmp_path, 'x;y\n"1,5";a\n2;b\n-0,25;c\n1.000,5;d\nNA;e\n')
    schema = Schema([Column("x", "number", decimal=",")])
    assert ask(source, Sum("x", low=-5, high=5, step="0.25"), schema) == [13]
    assert ask(source, Count("x IS NULL"), schema) == [2]
    drafted = Schema.draft(csv(tmp_path, "x;y\n1,5;2\n2;x\n")).get("x")
    assert drafted is not None
    assert (drafted.type, drafted.decimal) == ("number", ",")


def test_missing_words_are_missing_for_every_question(tmp_path: Path) -> None:
    source = csv(tmp_path, "x,k\n1,NA\n-,b\n NA ,b\n3,\n")
    schema = Schema(
        [Column("x", "integer", missing_words=["NA", "-"]), Column("k", "text", missing_words=["NA"])]
    )
    assert ask(source, Count("x IS NULL"), schema) == [2]
    assert ask(source, Count("k IS NULL"), schema) == [2]
    assert ask(source, Histogram("k", keys=["NA", "b", None]), schema) == [0, 2, 2]
    # Undeclared, a word is a text like any other.
    assert ask(source, Count("k = 'NA'")) == [1]


@pytest.mark.parametrize(
    ("values", "note"),
    [
        (["1,5", "1.234,5", "2,5"], "# Numbers and other words mix here"),
        (["1,5", "k.A.", "2,5"], "# Numbers and other words mix here"),
        (["2020-01-01", "2020-01-02", "spring"], "# Days and other words mix here"),
        (["spring", "autumn", "a,b"], ""),
    ],
)
def test_drafts_flag_columns_that_mix_numbers_or_days_of_any_spelling_with_words(
    values: list[str], note: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.csv"
    path.write_text("x;n\n" + "".join(f"{value};1\n" for value in values))
    text = Schema.draft(path).to_toml()
    assert note in text
    assert ("words mix" in text) == bool(note)


def test_drafts_propose_missing_words_and_flag_mixed_columns(tmp_path: Path) -> None:
    drafted = Schema.draft(csv(tmp_path, "age,code,name\n40,1,ann\nNA,2a,bob\n50,3,eve\n"))
    age, code, name = (drafted.get(column) for column in ("age", "code", "name"))
    assert age is not None
    assert (age.type, age.missing_words) == ("integer", ("NA",))
    assert code is not None
    assert code.type == "text"
    assert "mix" in str(code.note)
    assert name is not None
    assert name.note is None
    text = drafted.to_toml()
    assert "# Numbers and other words mix here" in text
    assert 'missing_words = ["NA"]' in text
    assert Schema.from_toml(text) == drafted


@pytest.mark.parametrize("name", ["", "klingon", "\x00", "utf-8\x00", "\ud800", 8])
def test_what_names_no_encoding_is_refused(name: Any) -> None:
    with pytest.raises(InvalidParameter, match="encoding="):
        Schema(encoding=name)


@pytest.mark.parametrize("encoding", ["windows-1252", "latin-1", "iso-8859-15", "koi8-r", "utf-16"])
def test_an_encoding_is_declared(tmp_path: Path, encoding: str) -> None:
    word = "Москва" if encoding == "koi8-r" else "Zürich"
    source = csv(tmp_path, f"ort,n\n{word},1\nBern,2\n", encoding)
    schema = Schema([Column("n", "integer")], encoding=encoding)
    assert ask(source, Count(f"ort = '{word}'"), schema) == [1]
    assert Schema.from_toml(schema.to_toml()) == schema


def test_drafts_propose_an_encoding(tmp_path: Path) -> None:
    drafted = Schema.draft(csv(tmp_path, "größe,ort\n1,Zürich\n", "windows-1252"))
    assert drafted.encoding == "cp1252"
    assert [column.name for column in drafted] == ["größe", "ort"]
    assert Schema.draft(csv(tmp_path, "größe\n1\n", "utf-16")).encoding == "utf-16"
    assert Schema.draft(csv(tmp_path, "größe\n1\n")).encoding is None


@pytest.mark.parametrize(
    "encoding", ["utf-7", "shift_jis", "rot13", "hex", "no such", "", 8, "utf-32", "punycode"]
)
def test_other_encodings_are_refused(encoding: Any) -> None:
    with pytest.raises(InvalidParameter, match="encoding="):
        checked_encoding(encoding)


def test_long_lines_count(tmp_path: Path) -> None:
    source = csv(tmp_path, b"n,note\n1,a\n2," + b"x" * 5_000_000 + b"\n3,c\n")
    assert ask(source, Count("note IS NOT NULL")) == [3]


def test_reading_options_belong_to_texts(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"x": pandas.array([1.5], dtype="Float64")})
    with pytest.raises(InvalidParameter, match="stores as number"):
        ask(Source.of(frame, name="rows"), Count("x > 1"), Schema([Column("x", "number", decimal=",")]))
    for wrong in ({"decimal": ";"}, {"missing_words": "NA"}, {"missing_words": 3}):
        with pytest.raises(InvalidParameter):
            Column("x", "number", **wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="decimal="):
        Column("x", "text", decimal=",")
