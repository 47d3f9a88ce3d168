"""Settings from TOML: read whole, refused where a word is unknown, never showing a password."""

from __future__ import annotations

from pathlib import Path

import pytest

import dovetail as dv
from dovetail.errors import BudgetMismatch, DovetailError
from dovetail.ledger import Ledger
from dovetail.privacy import Budget
from dovetail.service.config_file import read_settings
from dovetail.service.registration import kept_schema, schema_text, seed

ROOT = Path(__file__).parents[2]
WHOLE = """
[service]
ledger = "a.ledger"
port = 9000
hosts = ["counts.example.org"]
behind_proxy = true
workers = 2
cookie_secret_file = "secret"

[limits]
rate = "5/second"
batch = 10

[data_roots]
data = "data"

[connections]
clinic = "postgresql://reader:$CLINIC_PASSWORD@db/clinic"

[datasets.people]
source = "data/people.csv"
budget = { epsilon = "3", delta = "1e-6" }
title = "People"
pacing = 2

[datasets.adult]
source = "adult"
budget = { epsilon = 1 }
answers = "shared"
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "people.csv").write_text("age\n40\n")
    (tmp_path / "secret").write_bytes(b"x" * 32)
    monkeypatch.setenv("CLINIC_PASSWORD", "hush")
    (tmp_path / "service.toml").write_text(WHOLE)
    return tmp_path / "service.toml"


def test_every_setting_is_read(place: Path) -> None:
    settings = read_settings(place, port=9001)
    assert (settings.port, settings.workers, settings.limits.batch) == (9001, 2, 10)
    assert settings.ledger == str(place.parent / "a.ledger")
    assert settings.connections == {"clinic": "postgresql://reader:hush@db/clinic"}
    assert "hush" not in repr(settings.datasets)
    assert settings.datasets[0].pacing == 2.0
    people, adult = settings.datasets
    assert people.budget == Budget.approximate(3, "1e-6")
    assert adult.answers == "shared"
    assert "counts.example.org" in settings.allowed_hosts
    assert adult.schema.get("sex") is not None


def test_a_difference_to_the_record_stops_the_start(place: Path) -> None:
    settings = read_settings(place)
    with Ledger.create(settings.ledger) as ledger:
        seed(settings, ledger)
        seed(settings, ledger)
        place.write_text(WHOLE.replace('epsilon = "3"', 'epsilon = "4"'))
        changed = read_settings(place)
        with pytest.raises(BudgetMismatch, match="budget"):
            seed(changed, ledger)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("port = 9000", "prot = 9000"),
        ("port = 9000", "port = 99999"),
        ("port = 9000", 'port = "9000"'),
        ("port = 9000", "metrics_port = 0"),
        ("port = 9000", "host = 9000"),
        ("workers = 2", "workers = 0"),
        ("workers = 2", "threads = 0"),
        ('hosts = ["counts.example.org"]', 'hosts = "counts.example.org"'),
        ("behind_proxy = true", 'behind_proxy = "no"'),
        ('data = "data"', "data = 5"),
        ('title = "People"', "title = 5"),
        ('title = "People"', 'public = "no"'),
        ('title = "People"', "unit = 5"),
        ('title = "People"', 'max_rows = "5"'),
        ('title = "People"', 'neighbours = "none"'),
        ('title = "People"', "schema = 5"),
        ('answers = "shared"', 'answers = "everyone"'),
        ("[limits]", "[limit]"),
        ("batch = 10", "batch = 0"),
        ("batch = 10", "bath = 10"),
        ("title =", "titel ="),
        ('ledger = "a.ledger"', ""),
        ("$CLINIC_PASSWORD", "$NO_SUCH_PASSWORD"),
        ("postgresql://reader", "ftp://reader"),
        ("{ epsilon = 1 }", "{ zeta = 1 }"),
        ("pacing = 2", "pacing = -2"),
        ('cookie_secret_file = "secret"', 'cookie_secret_file = "service.toml.missing"'),
        ("behind_proxy = true", 'behind_proxy = false\nhost = "0.0.0.0"'),
        ("[service]", "[service"),
    ],
)
def test_a_mistake_is_named_without_a_password(place: Path, old: str, new: str) -> None:
    assert old in WHOLE
    place.write_text(WHOLE.replace(old, new))
    with pytest.raises(DovetailError) as refused:
        read_settings(place)
    assert "hush" not in str(refused.value)
    assert "reader" not in str(refused.value)


def test_a_line_that_is_no_toml_is_named(place: Path) -> None:
    place.write_text("[service]\nport 9000\n")
    with pytest.raises(DovetailError, match="line 2"):
        read_settings(place)


def test_the_schema_of_a_table_is_found_where_a_session_finds_it(place: Path) -> None:
    data = place.parent / "data"
    (data / "clinic.duckdb").touch()
    (data / "clinic-visits.toml").write_text(dv.Schema([dv.Column("age", "integer")]).to_toml())
    place.write_text(
        '[service]\nledger = "a"\n[datasets.v]\nsource = "data/clinic.duckdb"\ntable = "visits"\n'
    )
    assert read_settings(place).datasets[0].schema.get("age") is not None


def test_the_configuration_to_begin_with_has_only_settings_that_exist(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CLINIC_PASSWORD", "hush")
    with pytest.raises(DovetailError, match=r"schema|cookie"):
        # Its files are not there; every word of it was known before.
        read_settings(ROOT / "deploy" / "service.toml")


def test_the_registry_keeps_the_rows_of_lookups(tmp_path: Path) -> None:
    (tmp_path / "wards.csv").write_text("region,ward\nnorth,west\n")
    columns = dv.Schema([dv.Column("region", "text", values=["north", "south"])]).to_toml()
    text = f'{columns}\n[lookups.wards]\nfile = "wards.csv"\nkey = "region"\n'
    (tmp_path / "people.toml").write_text(text)
    schema = dv.Schema.read(tmp_path / "people.toml")
    assert kept_schema(schema_text(schema)) == schema
