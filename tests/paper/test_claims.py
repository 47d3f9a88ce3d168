"""The claims as data, and the verdict on them."""

from __future__ import annotations

import math
import tomllib
from decimal import Decimal
from importlib.resources import files

import pytest

from dovetail.paper import item_names
from dovetail.paper.claims import FALSE_ALARM, Claim, claims
from dovetail.paper.reproduction import Reproduction


def test_every_claim_belongs_to_an_item_and_says_how_ours_is_made() -> None:
    for claim in claims().values():
        assert claim.item in item_names()
        assert claim.how
        assert claim.where


def test_a_difference_comes_with_its_reason_and_agreement_without() -> None:
    for claim in claims().values():
        assert bool(claim.why) == (claim.verdict == "differs"), claim.id


def test_a_tolerance_is_half_of_the_last_digit_or_has_its_reason() -> None:
    text = files("dovetail.paper").joinpath("claims.toml").read_text(encoding="utf-8")
    # As printed: a float would forget the zeros at the end.
    printed = tomllib.loads(text, parse_float=Decimal)["claim"]
    for claim in printed:
        exponent = Decimal(claim["published"]).as_tuple().exponent
        assert isinstance(exponent, int)
        wide = Decimal(str(claim.get("tolerance", 0))) > Decimal(10) ** exponent / 2
        assert wide == ("because" in claim), claim["id"]


def test_no_claim_can_be_borne_out_by_a_missing_number() -> None:
    for relation in ("near", "below", "above"):
        claim = Claim("x", "fig1", "", "", published=1.0, tolerance=math.inf, relation=relation)  # type: ignore[arg-type]
        assert claim.judge(math.nan) == "differs"


@pytest.mark.slow
def test_every_claim_is_measured_once_by_the_item_it_names(quick: Reproduction) -> None:
    measured = [(name, item) for item, kept in quick.items.items() for name in kept.measured]
    assert sorted(measured) == sorted((claim.id, claim.item) for claim in claims().values())


@pytest.mark.slow
def test_every_verdict_is_the_one_we_publish(quick: Reproduction) -> None:
    found = {name: each for kept in quick.items.values() for name, each in kept.measured.items()}
    wrong = {
        name: (claim.verdict, found[name])
        for name, claim in claims().items()
        if claim.judge(found[name].exact) != claim.verdict
    }
    assert not wrong


@pytest.mark.slow
def test_samples_agree_with_the_exact_figures(quick: Reproduction) -> None:
    """False alarms: at most 1e-9 for each of about 350 comparisons."""
    chances = [row["chance"] for name in ("agreement", "marginals", "fig9") for row in quick.table(name)]
    chances += [
        each.chance
        for kept in quick.items.values()
        for each in kept.measured.values()
        if each.chance is not None
    ]
    assert len(chances) > 300
    assert min(chances) > FALSE_ALARM
