"""Every text is a typed question or a kind refusal; nothing else comes out, and nothing is run."""

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.errors import InvalidQuery, UnsupportedSQL
from dovetail.query import Column, Count, Histogram, Mean, Schema, Sum
from dovetail.query.measures import MEASURES
from dovetail.query.sql import Selection, read_select
from dovetail.query.sql.formula import Aggregate

SCHEMA = Schema(
    [
        Column("age", "integer", low=0, high=120),
        Column("sex", "text", values=["F", "M"]),
        Column("region", "integer", values=[3, 1, 2, None], other="elsewhere"),
        Column("income", "number", low=0, high=1000, step="0.5"),
        Column("free", "number"),
        Column("born", "date"),
    ]
)
TABLE = SCHEMA.table()
Rows = MEASURES["rows"]
README = "SELECT sex, COUNT(*) AS n, AVG(age) FROM data WHERE age >= 40 GROUP BY sex ORDER BY n DESC LIMIT 5"


def read(text: str) -> Selection:
    return read_select(text, TABLE, ["people"])


def checked(selection: Selection) -> list[dict[str, object]]:
    return [query.checked(TABLE).to_dict() for query in selection.queries]


def asked(*queries: Count | Histogram | Sum | Mean) -> list[dict[str, object]]:
    return [query.checked(TABLE).to_dict() for query in queries]


def test_a_select_becomes_the_typed_queries_of_its_aggregates() -> None:
    found = read(README)
    where = "age >= 40"
    # Every row that counts has an age, so the mean's count is that of the rows.
    assert checked(found) == asked(Mean("age", 0, 120, 1, where=where, by=("sex",)))
    assert [(c.name, c.key, c.query) for c in found.columns] == [
        ("sex", 0, None),
        ("n", None, None),
        ("avg_age", None, 0),
    ]
    assert found.columns[1].formula == Aggregate(0, Rows())
    assert [(d.column.name, d.descending) for d in found.order] == [("n", True)]
    assert found.limit == 5


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("SELECT COUNT(*) FROM data", [Count()]),
        ("select count(*) from PEOPLE;", [Count()]),
        (
            'SELECT COUNT(*) FROM "data" WHERE NOT (age < 3 OR sex IS NULL)',
            [Count("age >= 3 AND sex IS NOT NULL")],
        ),
        ("SELECT COUNT(*), COUNT(*) AS again FROM data", [Count()]),
        ("SELECT sum(income) FROM data WHERE sex IN ('F')", [Sum("income", 0, 1000, "0.5", "sex = 'F'")]),
        ("SELECT COUNT(*) FROM data WHERE born < DATE '1990-05-01'", [Count("born < '1990-05-01'")]),
        ("SELECT AVG(Age), SUM(age) FROM data", [Mean("age", 0, 120, 1)]),
        ("SELECT COUNT(sex), SUM(age) FROM data", [Count("sex IS NOT NULL"), Sum("age", 0, 120, 1)]),
        ("SELECT COUNT(*) + 1 FROM data", [Count()]),
        (
            "SELECT COUNT(*) FROM data HAVING COUNT(*) > 5 OR SUM(age) / 2 < 3",
            [Count(), Sum("age", 0, 120, 1)],
        ),
        ("SELECT COUNT(*) FROM data ORDER BY -AVG(age)", [Count(), Mean("age", 0, 120, 1)]),
        ("SELECT COUNT(*) FROM data GROUP BY sex, region", [Histogram("sex", "region")]),
        ("SELECT region AS r, sex, COUNT(*) FROM data GROUP BY 2, 1", [Histogram("sex", "region")]),
    ],
)
def test_the_supported_language(text: str, queries: list[Count]) -> None:
    assert checked(read(text)) == asked(*queries)


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        ("SELECT * FROM data", 1, 8, r"'\*' cannot be answered"),
        ("SELECT COUNT(*) FROM data JOIN b USING (x)", 1, 27, "Join the tables beforehand"),
        ("SELECT COUNT(*) FROM data, data", 1, None, "Join the tables beforehand"),
        ("WITH a AS (SELECT 1) SELECT COUNT(*) FROM a", 1, 1, "'WITH' cannot begin"),
        ("SELECT COUNT(*) FROM (SELECT * FROM data)", 1, None, "Write FROM data"),
        ("SELECT COUNT(*) FROM other", 1, 22, "no table 'other' here. Write FROM data or people"),
        ("SELECT COUNT(*) FROM secret.data", 1, 22, "Write FROM data"),
        ("SELECT COUNT(*)", 1, 1, "FROM is missing"),
        ("SELECT sex, COUNT(*)\nFROM data\nGROUP BY sex\nHAVING sex = 'F'", 4, 8, "not a noisy number"),
        ("SELECT COUNT(*) FROM data HAVING 1 > 0", 1, 34, "compares no aggregate"),
        ("SELECT COUNT(*) FROM data HAVING COUNT(*) IN (1)", 1, None, "HAVING cannot contain"),
        ("SELECT COUNT(*) FROM data HAVING COUNT(*) > 'x'", 1, None, "cannot be answered"),
        ("SELECT COUNT(*) + age FROM data", 1, 19, "not a noisy number"),
        ("SELECT COUNT(*) + 1/0 + f(2) FROM data", 1, 25, "cannot be answered"),
        ("SELECT 1 + 1 FROM data", 1, None, "cannot be answered"),
        ("SELECT COUNT(*)" + " + 1" * 60 + " FROM data", 1, 8, "more than 50 operators"),
        ("SELECT COUNT(*) % 2 FROM data", 1, None, "cannot be answered"),
        ("SELECT COUNT(nobody) FROM data", 1, 14, "not a column"),
        ("SELECT COUNT(*) FROM data; DROP TABLE data", 1, 26, "second statement"),
        ("SELECT COUNT(*) FROM data -- x", 1, 22, "Comments are not allowed"),
        ("SELECT COUNT(*) /* x */ FROM data", 1, None, "Comments are not allowed"),
        ("SELECT /*+ HINT(x) */ COUNT(*) FROM data", 1, None, "Comments are not allowed"),
        ("SELECT COUNT(*) FROM data WHERE\n 1/(age-5) > 2", 2, 2, "must be a constant"),
        ("SELECT COUNT(*) FROM data WHERE age > 2 AND agee > 2", 1, 45, "Did you mean age"),
        ("SELECT COUNT(*) FROM data WHERE age IN (SELECT 1)", 1, None, "must be|cannot contain"),
        ("SELECT COUNT(*) FROM data WHERE CAST(sex AS INT) = 3", 1, None, "must be a constant"),
        ("SELECT COUNT(*) FROM data WHERE EXISTS (SELECT 1)", 1, None, "cannot contain"),
        ("SELECT AVG(sex) FROM data", 1, 8, "type of sex is text"),
        ("SELECT SUM(free) FROM data", 1, 8, "Declare low, high and step"),
        ("SELECT SUM(age + 1) FROM data", 1, 12, r"'age \+ 1' cannot be answered"),
        ("SELECT SUM(DISTINCT age) FROM data", 1, None, "cannot be answered"),
        ("SELECT age, COUNT(*) FROM data GROUP BY age", 1, 41, "session.histogram"),
        ("SELECT sex, COUNT(*) FROM data", 1, 8, "Add it to GROUP BY"),
        ("SELECT sex FROM data GROUP BY sex", 1, 1, "Nothing is counted"),
        ("SELECT sex, COUNT(*) FROM data GROUP BY ROLLUP (sex)", 1, None, "cannot be answered"),
        ("SELECT sex, COUNT(*) FROM data GROUP BY sex, sex", 1, None, "named twice"),
        ("SELECT COUNT(*) FROM data UNION SELECT COUNT(*) FROM data", 1, 27, "UNION"),
        ("DELETE FROM data", 1, 1, "'DELETE' cannot begin"),
        ("SELECT ARRAY_AGG(age) FROM data", 1, 8, "cannot be answered"),
        ("SELECT COUNT(*) n, AVG(age) n FROM data", 1, 20, "Two columns would be called n"),
        ("SELECT COUNT(*) n, AVG(age) n_low FROM data", 1, 20, "Two columns would be called n_low"),
        ("SELECT COUNT(*) FROM data ORDER BY age", 1, 36, "must name a column of the answer: count"),
        ("SELECT COUNT(*) FROM data ORDER BY 2", 1, 36, "must name a column"),
        ("SELECT COUNT(*) FROM data ORDER BY 1 NULLS FIRST", 1, 38, "missing keys come last"),
        ("SELECT COUNT(*) OVER () FROM data", 1, 8, "cannot be answered"),
        ("SELECT COUNT(*) FILTER (WHERE age > 3) FROM data", 1, 8, "cannot be answered"),
        ("SELECT DISTINCT COUNT(*) FROM data", 1, 8, "DISTINCT cannot be answered"),
        ("SELECT COUNT(*) FROM data LIMIT 1 + 1", 1, 27, "LIMIT and a whole number"),
        ("SELECT COUNT(*) FROM data LIMIT 1 OFFSET 2", 1, 35, "OFFSET cannot be answered"),
        ("SELECT COUNT(*) FROM data TABLESAMPLE (10 PERCENT)", 1, 22, "Write FROM data"),
        ("SELECT COUNT(*) INTO x FROM data", 1, 17, "INTO cannot be answered"),
        ("SELECT COUNT(*) FROM data WHERE age > 'x", 1, 1, "left open"),
        ("SELECT COUNT(*) FROM data WHERE", 1, None, "cannot be read"),
        ("SELECT PG_SLEEP(10) FROM data", 1, 8, "cannot be answered"),
        ("", 1, 1, "empty"),
    ],
)
def test_a_refusal_names_the_part_its_place_and_what_is_possible(
    text: str, line: int, column: int | None, says: str
) -> None:
    with pytest.raises(UnsupportedSQL, match=says) as caught:
        read(text)
    assert caught.value.line == line
    if column is not None:
        assert caught.value.column == column
    assert str(caught.value).startswith(f"Line {line}, column {caught.value.column}: ")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.line) == (str(caught.value), line)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM data WHERE " + "(" * 5000 + "age = 1" + ")" * 5000,
        "SELECT COUNT(*) FROM data WHERE " + "NOT " * 4000 + "age = 1",
        "SELECT COUNT(*) FROM data WHERE age = " + "- " * 5000 + "1",
        "SELECT " + "CASE WHEN " * 1500 + "1",
        "SELECT " + "f(" * 3000,
        "SELECT " + "a." * 5000 + "b FROM data",
        "SELECT COUNT(*) FROM data LIMIT " + "9" * 10_000,
        "SELECT COUNT(*) FROM data ORDER BY " + "9" * 10_000,
        "SELECT COUNT(*) FROM data WHERE age = " + "9" * 10_000,
        "SELECT " + "COUNT(*), " * 2000 + "COUNT(*) FROM data",
        "SELECT COUNT(*) FROM data WHERE age = 1 " + "AND age = 1 " * 100_000,
    ],
    ids=lambda text: text[30:50],
)
def test_long_and_deep_texts_are_refused_quickly(text: str) -> None:
    with pytest.raises(InvalidQuery):
        read(text)


def test_a_long_list_of_conditions_is_not_a_deep_one() -> None:
    text = "SELECT COUNT(*) FROM data WHERE " + " OR ".join(f"age = {n}" for n in range(1000))
    assert len(read(text).queries) == 1


WORDS = [
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP",
    "BY",
    "ORDER",
    "LIMIT",
    "COUNT",
    "(",
    ")",
    "*",
    ",",
    "AS",
    "n",
    "sex",
    "age",
    "region",
    "income",
    "born",
    "data",
    "DISTINCT",
    "SUM",
    "AVG",
    "AND",
    "OR",
    "NOT",
    "IN",
    "BETWEEN",
    "IS",
    "NULL",
    "=",
    "<>",
    "<",
    ">",
    "40",
    "'F'",
    "-1",
    "1.5",
    ";",
    "--",
    "/*",
    "*/",
    "JOIN",
    "UNION",
    "ALL",
    "HAVING",
    "WITH",
    "CASE",
    "WHEN",
    "THEN",
    "END",
    "CAST",
    "OVER",
    "PARTITION",
    "OFFSET",
    "DESC",
    "NULLS",
    "FIRST",
    "EXISTS",
    "[",
    "]",
    "{",
    "}",
    "::",
    ".",
    '"',
    "'",
    "`",
    "@",
    "#",
    "$",
    "%",
    "^",
    "&",
    "|",
    "~",
    "\\",
    "?",
    ":",
    "DATE",
    "TRUE",
    "FALSE",
    "INTERVAL",
    "LATERAL",
    "VALUES",
    "PIVOT",
    "EXCEPT",
    "INTERSECT",
    "QUALIFY",
    "WINDOW",
    "TABLESAMPLE",
    "FOR",
    "UPDATE",
]


def refusal(text: str) -> UnsupportedSQL | None:
    """Return how a text is refused, None where it is a typed question; any other error comes through."""
    try:
        found = read(text)
    except UnsupportedSQL as error:
        return error
    for query in found.queries:
        query.checked(TABLE)
    return None


def answers_or_refuses(text: str) -> None:
    error = refusal(text)
    if error is not None and error.line is not None and error.column is not None:
        assert 1 <= error.line <= text.count("\n") + 1
        assert 1 <= error.column <= len(text) + 1


@settings(max_examples=400)
@given(st.lists(st.sampled_from(WORDS), max_size=30))
def test_random_words_are_questions_or_refusals(words: list[str]) -> None:
    answers_or_refuses(" ".join(words))
    answers_or_refuses("SELECT COUNT(*) " + " ".join(words))


@settings(max_examples=300)
@given(st.text(max_size=60))
def test_random_text_is_refused(text: str) -> None:
    answers_or_refuses(text)
    answers_or_refuses(f"SELECT COUNT(*) FROM data WHERE {text}")
    answers_or_refuses(f"SELECT {text} FROM data")


@settings(max_examples=500)
@given(st.data())
def test_mutated_questions_are_questions_or_refusals(data: st.DataObject) -> None:
    words = README.replace("(", " ( ").replace(")", " ) ").split()
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(words) - 1))
        change = data.draw(st.sampled_from(["drop", "repeat", "swap", "insert", "letter"]))
        if change == "drop" and len(words) > 1:
            del words[place]
        elif change == "repeat":
            words.insert(place, words[place])
        elif change == "swap":
            other = data.draw(st.integers(0, len(words) - 1))
            words[place], words[other] = words[other], words[place]
        elif change == "insert":
            words.insert(place, data.draw(st.sampled_from(WORDS)))
        else:
            words[place] = words[place][:1] + data.draw(st.characters()) + words[place][1:]
    answers_or_refuses(" ".join(words))
