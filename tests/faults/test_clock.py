"""Jumps of the clock under real processes, by libfaketime: nothing is lost, forgotten or paid twice."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dovetail.ledger import Ledger
from running_service import Running, analyst, configured

pytestmark = pytest.mark.faults

PATH = "/v1/datasets/adult/answers"
# Where Debian's package `libfaketime` puts it.
LIBRARY = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)


@pytest.fixture
def jump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return what sets the clock of processes that begin from now on; those that run see each change."""
    if LIBRARY is None:
        pytest.skip("needs libfaketime")
    offset = tmp_path / "offset"
    offset.write_text("+0")
    monkeypatch.setenv("LD_PRELOAD", str(LIBRARY))
    monkeypatch.setenv("FAKETIME_TIMESTAMP_FILE", str(offset))
    monkeypatch.setenv("FAKETIME_NO_CACHE", "1")
    monkeypatch.setenv("FAKETIME_DONT_FAKE_MONOTONIC", "1")
    return lambda text: offset.write_text(text) and None


def count(age: int) -> dict[str, Any]:
    return {"question": {"ask": "count", "where": f"age >= {age}"}, "pay": {"spend": {"epsilon": "0.01"}}}


def test_jumps_forwards_and_backwards_cost_nothing(tmp_path: Path, jump: Callable[[str], None]) -> None:
    """Also the rate of requests is counted by a clock that does not jump."""
    words = configured(tmp_path, "a.ledger", workers=2, lease=600)
    config = Path(words[1])
    config.write_text(config.read_text().replace("100000/second", "200/minute"))
    service = Running(tmp_path, words)
    try:
        key = analyst(service, service.key, "1")
        years: set[str] = set()
        first: dict[int, Any] = {}
        for number, offset in enumerate(("+0", "+400d", "-400d", "+0", "-4000d", "+0")):
            jump(offset)
            for age in (20 + number, 60 + number):
                given = service.ask("POST", PATH, key, count(age), f"key{age}")
                assert given.status_code == 200, given.text
                first[age] = given.json()["answers"][0]["rows"]
                years.add(given.json()["answered_at"][:4])
            for age, rows in first.items():
                again = service.ask("POST", PATH, key, count(age), f"key{age}").json()
                assert (again["stored"], again["answers"][0]["rows"]) == (True, rows)
            service.wait()
        assert len(years) >= 3
        standing = service.ask("GET", "/v1/datasets/adult", key).json()["mine"]
        assert Fraction(standing["spent"]["epsilon"]) == Fraction("0.12")
    finally:
        service.stop()
    with Ledger.open(tmp_path / "a.ledger") as ledger:
        ledger.verify()
