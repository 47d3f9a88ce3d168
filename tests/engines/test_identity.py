"""Which rows are the same data: spellings of paths, addresses and tables."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import ibis
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import make_url

from dovetail.engines import Source
from dovetail.engines.identity import overlap, source_name, source_names
from dovetail.errors import DataError, InvalidParameter


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)


HERE = [
    "localhost",
    "LOCALHOST",
    "localhost.",
    "127.0.0.1",
    "127.1",
    "127.0.0.2",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
]
HERE += ["[::ffff:127.0.0.1]", "0.0.0.0", "db.localhost", "localhost.localdomain", "2130706433", ""]


@pytest.mark.parametrize("host", HERE)
@pytest.mark.parametrize("port", ["", ":5432", ":05432"])
def test_this_machine_is_one_server_however_it_is_spelled(host: str, port: str) -> None:
    if host or not port:
        address = f"postgresql://ann@{host}{port}/clinic"
        assert source_name(address, "visits") == "postgresql://localhost/clinic#visits", address


@pytest.mark.parametrize("folder", ["/tmp", "/var/run/postgresql", "/tmp/", "/tmp/../tmp"])
def test_the_usual_socket_is_this_machine(folder: str) -> None:
    assert source_name(f"postgresql:///clinic?host={folder}") == "postgresql://localhost/clinic"
    assert (
        source_name(f"postgresql:///clinic?host={folder}&port=5433") == "postgresql://localhost:5433/clinic"
    )


@pytest.mark.parametrize(
    ("listed", "other"),
    [("people.csv", "PEOPLE.CSV"), ("People.csv", "people.CSV"), ("\u00e9.csv", "e\u0301.csv")],
)
def test_a_file_found_by_other_letters_is_one_file(
    listed: str, other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a file system that ignores case looks like: both names open one file, and the folder lists one.
    (tmp_path / listed).touch()
    for alias in {other, listed.swapcase(), other.swapcase()} - {listed}:
        os.link(tmp_path / listed, tmp_path / alias)
    assert source_name(tmp_path / other) == str(tmp_path / other)  # two names that are both listed
    found = os.listdir
    monkeypatch.setattr(os, "listdir", lambda place: [listed] if place == tmp_path else found(place))
    assert source_name(tmp_path / other) == source_name(tmp_path / listed) == str(tmp_path / listed)
    assert source_name(tmp_path / "gone.csv") == str(tmp_path / "gone.csv")


def test_a_socket_elsewhere_is_known_by_its_folder(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    plain = source_name(f"postgresql:///clinic?host={tmp_path}")
    assert plain == source_name(f"postgresql:///clinic?host={tmp_path}/link")
    assert plain != source_name("postgresql:///clinic")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("postgresql://db/postgres", "postgresql://db/p%6fstgres"),
        ("postgresql://db/clinic", "postgresql://DB.:5432/?dbname=clinic"),
        ("postgresql://ann@db/", "postgresql://bob@db/ann"),
        ("postgresql://ann@db", "postgresql://db/?user=ann"),
        ("postgresql://10.0.0.1/clinic", "postgresql://db/clinic?hostaddr=10.0.0.1"),
        ("postgresql://[2001:db8::1]/x", "postgresql://[2001:0DB8:0::0:1]/x"),
        ("postgresql://db/clinic?options=-csearch_path%3Dx", "postgresql://db/clinic"),
    ],
)
def test_two_spellings_of_one_database(one: str, other: str) -> None:
    assert source_name(one) == source_name(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("postgresql://ann@db/", "postgresql://bob@db/"),
        ("postgresql://db/clinic", "postgresql://db/Clinic"),
        ("postgresql://db/clinic", "postgresql://db/clinic%20"),
        ("postgresql://db:5432/clinic", "postgresql://db:5433/clinic"),
        ("postgresql://db/a", "postgresql://db/a%2Fb"),
        ("postgresql://10.0.0.1/clinic", "postgresql://10.0.0.2/clinic"),
    ],
)
def test_two_databases(one: str, other: str) -> None:
    assert not overlap(source_name(one), source_name(other))


def test_what_an_address_leaves_out_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "db")
    monkeypatch.setenv("PGPORT", "5433")
    monkeypatch.setenv("PGDATABASE", "clinic")
    assert source_name("postgresql://") == "postgresql://db:5433/clinic"
    assert source_name("postgresql://other:5432/x") == "postgresql://other/x"
    monkeypatch.setenv("PGHOSTADDR", "10.0.0.1")
    assert source_name("postgresql://") == "postgresql://10.0.0.1:5433/clinic"
    assert source_name("postgresql://other/x") == "postgresql://10.0.0.1:5433/x"


def test_several_servers_are_each_of_them() -> None:
    both = source_names("postgresql://db/clinic?host=a:1&host=b:2", "visits")
    assert both == ("postgresql://a:1/clinic#visits", "postgresql://b:2/clinic#visits")
    assert source_names("postgresql://a,b/clinic") == ("postgresql://a/clinic", "postgresql://b/clinic")


def test_a_service_hides_the_server_and_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="name its host"):
        source_name("postgresql:///clinic?service=main")


@given(
    st.sampled_from(["postgresql", "postgres", "postgresql+psycopg"]),
    st.sampled_from(["", "ann@", "ann:s%40cret@"]),
    st.sampled_from(["db", "DB", "Db."]),
    st.sampled_from(["", ":5432", ":05432"]),
    st.lists(st.booleans(), min_size=6, max_size=6),
    st.sampled_from(["", "?sslmode=require", "?application_name=x&connect_timeout=3"]),
    st.sampled_from(["visits", "public.visits", '"visits"', 'public."visits"', '"public".visits']),
)
def test_any_spelling_is_one_name(
    scheme: str, user: str, host: str, port: str, escaped: list[bool], options: str, table: str
) -> None:
    letters = zip("clinic", escaped, strict=True)
    database = "".join(f"%{ord(letter):02x}" if escape else letter for letter, escape in letters)
    address = f"{scheme}://{user}{host}{port}/{database}{options}"
    assert make_url(address).database == "clinic"
    assert source_name(address, table) == "postgresql://db/clinic#visits"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("s3://bucket/a/b", "s3a://bucket/a//b/"),
        ("file:/data/a.parquet", "file:///data/./a.parquet"),
        ("file:///data/a.parquet", "/data/a.parquet"),
        ("hdfs://Name:9000/a/../b", "hdfs://name:9000/b"),
    ],
)
def test_a_path_for_spark_is_one_name(one: str, other: str) -> None:
    assert (
        Source.of("local[2]", table=one, name="a").identity
        == Source.of("local[4]", table=other, name="b").identity
    )


@given(st.lists(st.sampled_from(["a", "b", "ab", "a.csv", "a b"]), min_size=1, max_size=4), st.data())
def test_a_folder_overlaps_what_is_in_it_and_nothing_else(parts: list[str], data: st.DataObject) -> None:
    others = data.draw(st.lists(st.sampled_from(["a", "b", "ab", "a.csv", "a b"]), min_size=1, max_size=4))
    shortest = min(len(parts), len(others))
    one, other = "/" + "/".join(parts), "/" + "/".join(others)
    assert overlap(one, other) == overlap(other, one) == (parts[:shortest] == others[:shortest])


def written(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x\n1\n")
    return path


def test_a_folder_with_a_link_is_also_what_the_link_leads_to(tmp_path: Path) -> None:
    outside = written(tmp_path / "outside.csv")
    written(tmp_path / "all" / "in.csv")
    (tmp_path / "all" / "link.csv").symlink_to(outside)
    assert Source.of(tmp_path / "all").identity == (str(tmp_path / "all"), str(outside))


def test_relative_paths_and_links_are_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "a" / "x.csv")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    monkeypatch.chdir(tmp_path)
    for spelled in ("a/x.csv", "./a/../a/x.csv", "b/x.csv", str(path), Path("b") / "x.csv"):
        assert Source.of(spelled).identity == (str(path),)
    assert Source.of("b").identity == Source.of("a/").identity == (str(tmp_path / "a"),)


def test_a_name_that_cannot_be_printed_has_a_name_of_its_own(tmp_path: Path) -> None:
    names = {Source.of(written(tmp_path / name), name="x").identity for name in ("a\nb.csv", "a\tb.csv")}
    names.add(Source.of(written(tmp_path / os.fsdecode(b"a\xffb.csv")), name="x").identity)
    assert len(names) == 3
    assert all(name.isprintable() for (name,) in names)
    folder = Source.of(written(tmp_path / "c\nd" / "x.csv").parent, name="x").identity
    assert overlap(folder[0], Source.of(tmp_path / "c\nd" / "x.csv").identity[0])


def test_one_file_twice_would_count_its_rows_twice(tmp_path: Path) -> None:
    path = written(tmp_path / "all" / "a.csv")
    with pytest.raises(DataError, match="are one file"):
        Source.of([path, str(path)], name="twice").files()
    (tmp_path / "all" / "b.csv").symlink_to(path)
    with pytest.raises(DataError, match="are one file"):
        Source.of(tmp_path / "all").files()
    (tmp_path / "all" / "b.csv").unlink()
    (tmp_path / "all" / "b.csv").hardlink_to(path)
    with pytest.raises(DataError, match="are one file"):
        Source.of(tmp_path / "all").files()


@pytest.mark.parametrize("given", [[], ["nowhere.csv"], [3], ["."]])
def test_a_list_holds_files(given: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError):
        Source.of(given, name="list").files()


def test_a_list_has_one_kind_and_no_database(tmp_path: Path) -> None:
    csv = written(tmp_path / "a.csv")
    pyarrow.parquet.write_table(pyarrow.table({"x": [1]}), tmp_path / "b.parquet")
    (tmp_path / "c.duckdb").touch()
    for files in ([csv, tmp_path / "b.parquet"], [tmp_path / "c.duckdb"]):
        with pytest.raises(DataError, match="cannot be read as a table"):
            assert Source.of(files, name="list").format


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
def test_a_connection_to_a_database_file_reads_the_data_of_that_file(tmp_path: Path) -> None:
    place = tmp_path / "clinic.duckdb"
    with duckdb.connect(place) as made:
        made.execute(
            'CREATE TABLE "Visits" AS SELECT 1 AS age; CREATE SCHEMA old; CREATE TABLE old.visits(a int)'
        )
    for table, other in [("visits", "old.visits"), ("old.visits", "visits")]:
        by_path = Source.of(place, table=table).identity
        with duckdb.connect(place) as direct:
            assert Source.of(direct, name="v", table=table).identity == by_path
            assert Source.of(direct.cursor(), name="v", table=other).identity != by_path
        with duckdb.connect() as around:
            around.execute(f"ATTACH '{place}' AS x (READ_ONLY)")
            whole = table if "." in table else f"main.{table}"
            assert Source.of(around, name="v", table=f"x.{whole}").identity == by_path
    backend = ibis.duckdb.connect(place)
    assert Source.of(backend.table("Visits"), name="v").identity == Source.of(place, table="visits").identity
    backend.disconnect()


def test_a_table_that_is_in_no_file_is_known_by_its_name() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS age")
        assert Source.of(connection, name="v", table="t").identity == ("memory://v",)
    rows = ibis.memtable(pyarrow.table({"age": [1]}))
    assert Source.of(rows, name="v").identity == Source.of(rows.filter(rows.age > 0), name="v").identity
