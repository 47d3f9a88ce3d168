"""A disk that is full, a ledger that cannot be written, an old copy: what people see, and how it ends."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dovetail.ledger import Ledger
from running_service import Running, analyst, configured

pytestmark = pytest.mark.faults

PATH = "/v1/datasets/adult/answers"


def count(age: int, fresh: bool = True) -> dict[str, Any]:
    question = {"ask": "count", "where": f"age >= {age}"}
    return {"question": question, "pay": {"spend": {"epsilon": "0.01"}, "fresh": fresh}}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder on a file system of 4 MB; only an administrator can make one."""
    place = tmp_path / "small"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)], check=False)
    if made.returncode:
        pytest.skip("needs the right to mount")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def spent(place: str) -> Fraction:
    """Return what the record says was spent, after verifying it."""
    with Ledger.open(place) as ledger:
        ledger.verify()
        return Fraction(ledger.account("adult").spent().epsilon)


def test_a_full_disk_is_503_and_passes(small_disk: Path) -> None:
    """The log is on the full disk as well."""
    ballast = small_disk / "ballast"
    service = Running(small_disk, configured(small_disk, "a.ledger", workers=2, lease=2))
    try:
        key = analyst(service, service.key, "1")
        assert service.ask("POST", PATH, key, count(20), "before").status_code == 200
        with ballast.open("wb", buffering=0) as file, suppress(OSError):
            while file.write(bytes(4096)):
                pass
        assert service.wait(503).json()["code"] == "not-ready"
        refused = [service.ask("POST", PATH, key, count(30 + n), f"full{n}") for n in range(6)]
        assert {each.status_code for each in refused} <= {200, 503}
        assert 503 in {each.status_code for each in refused}
        told = next(each for each in refused if each.status_code == 503)
        assert told.json()["code"] == "ledger-unavailable"
        assert str(small_disk) not in told.text
        assert "retry-after" in told.headers
        # What needs no record is told meanwhile.
        assert service.ask("POST", "/v1/datasets/adult/quotes", key, count(50)).status_code == 200
        assert service.ask("POST", PATH, key, count(20), "before").status_code == 200
        ballast.unlink()
        for number in range(6):
            given = service.ask("POST", PATH, key, count(30 + number), f"full{number}")
            while given.status_code == 202:
                given = service.ask("POST", PATH, key, count(30 + number), f"full{number}")
            assert given.status_code == 200, given.text
        service.wait()
    finally:
        service.stop()
    assert spent(str(small_disk / "a.ledger")) == Fraction("0.07")


def test_a_file_that_can_only_be_read_is_503_and_passes(small_disk: Path, tmp_path: Path) -> None:
    words = configured(tmp_path, str(small_disk / "a.ledger"), workers=2)
    service = Running(tmp_path, words)
    key = analyst(service, service.key, "1")
    assert service.ask("POST", PATH, key, count(20), "before").status_code == 200
    service.stop()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    service = Running(tmp_path, words, status=503)
    try:
        for number in range(4):
            refused = service.ask("POST", PATH, key, count(30), f"meanwhile{number}")
            assert (refused.status_code, refused.json()["code"]) == (503, "ledger-unavailable"), refused.text
        subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
        service.wait()
        for number in range(4):
            assert service.ask("POST", PATH, key, count(30), f"meanwhile{number}").status_code == 200
    finally:
        service.stop()
    assert spent(str(small_disk / "a.ledger")) == Fraction("0.05")


def test_a_server_that_only_reads_is_503_and_passes(own_server: Any, tmp_path: Path) -> None:
    """As a standby is, or a database whose disk is full."""
    place = own_server.get_uri()
    service = Running(tmp_path, configured(tmp_path, place, workers=2, lease=2))

    def only_read(connection: Any, value: str) -> None:
        connection.execute(f"ALTER SYSTEM SET default_transaction_read_only = {value}")
        connection.execute("SELECT pg_reload_conf()")

    try:
        key = analyst(service, service.key, "1")
        assert service.ask("POST", PATH, key, count(20), "before").status_code == 200
        with psycopg.connect(place, autocommit=True) as connection:
            only_read(connection, "on")
        told = service.wait(503)
        assert told.json()["code"] == "not-ready"
        refused = service.ask("POST", PATH, key, count(30), "meanwhile")
        assert (refused.status_code, refused.json()["code"]) == (503, "ledger-unavailable"), refused.text
        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            only_read(connection, "off")
        service.wait()
        assert service.ask("POST", PATH, key, count(30), "meanwhile").status_code == 200
    finally:
        service.stop()
    assert spent(place) == Fraction("0.02")


@pytest.mark.parametrize("way", [shutil.copy, os.replace])
def test_an_old_copy_is_not_ready_until_the_newer_ledger_is_back(tmp_path: Path, way: Any) -> None:
    place, old, newer = (tmp_path / name for name in ("a.ledger", "old.ledger", "newer.ledger"))
    words = configured(tmp_path, "a.ledger", workers=2)
    with Ledger.create(place, witness=tmp_path / "head.witness"):
        pass
    service = Running(tmp_path, words)
    try:
        key = analyst(service, service.key, "1")
        assert service.ask("POST", PATH, key, count(20), "first").status_code == 200
        shutil.copy(place, old)
        assert service.ask("POST", PATH, key, count(30), "second").status_code == 200
        shutil.copy(place, newer)
        way(old, place)
        service.wait(503)
        for number in range(4):
            refused = service.ask("POST", PATH, key, count(40), f"third{number}")
            assert refused.status_code == 503, refused.text
            assert refused.json()["code"] in ("ledger-corrupt", "ledger-unavailable")
    finally:
        service.stop()
    with pytest.raises(AssertionError, match="witness"):
        Running(tmp_path, words)
    os.replace(newer, place)
    again = Running(tmp_path, words)
    stored = again.ask("POST", PATH, key, count(30), "second").json()
    again.stop()
    assert stored["stored"] is True
    assert spent(str(place)) == Fraction("0.02")
