"""Designs and comparisons from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dovetail as dv
from dovetail.cli.noise_syntax import read_noise


def test_a_wish_leads_to_a_noise_that_can_be_used(run) -> None:
    text = run("design", "--within", "5", "--queries", "20", "--delta", "1e-6", "--pieces", "2").stdout
    spelled = text.rsplit("--noise ", 1)[1].strip()
    noise = read_noise(spelled)
    assert noise.within(5) >= 0.95
    run("release", "adult", "--by", "sex", "--noise", spelled, "--budget", "epsilon=1")


def test_json_holds_the_noise_and_its_price(run) -> None:
    asked = ("design", "--epsilon", "1", "--delta", "1e-6", "--queries", "10", "--pieces", "2", "--json")
    found = json.loads(run(*asked).stdout)
    noise = dv.noise.from_dict(found["noise"])
    assert dv.privacy_loss(noise).compose(10).epsilon_at("1e-6") <= 1
    assert found["one"]["epsilon"] == dv.privacy_loss(noise).epsilon
    assert {other["name"] for other in found["alternatives"]} == {"geometric", "Gaussian"}


def test_a_picture_of_a_design_and_of_a_comparison_is_written(run, tmp_path: Path) -> None:
    run("design", "--epsilon", "1", "--plot", "design.png")
    run("compare", "mixture:0.2,1,5", "geometric:1", "--plot", "compare.png")
    for name in ("design.png", "compare.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_a_wish_out_of_reach_says_how_close_one_gets(run) -> None:
    assert "the best is probability" in run("design", "--within", "1", "--epsilon", "0.1", code=2).stderr


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--within", "-1"),
        ("--within", "nan"),
        ("--epsilon", "0"),
        ("--epsilon", "1", "--zeta", "1"),
        ("--epsilon", "1", "--queries", "0"),
        ("--epsilon", "1", "--pieces", "99"),
        ("--epsilon", "1", "--minimise", "beauty"),
        ("--epsilon", "1", "--minimise", "quantile:2"),
        ("--epsilon", "1", "--sensitivity", "0"),
        ("--epsilon", "1", "--sensitivity", "1,x"),
    ],
)
def test_a_wrong_wish_is_a_usage_error(run, words: tuple[str, ...]) -> None:
    result = run("design", *words, code=2)
    assert result.stdout == ""
    assert "should not have happened" not in result.stderr


@pytest.mark.parametrize("at", ["zeta", "epsilon", "1,1e-6,10"])
def test_a_comparison_names_the_sense_in_which_privacy_is_equal(run, at: str) -> None:
    text = run("compare", "mixture:0.2,1,5", "geometric:1", "--at", at).stdout
    assert text.startswith("At equal ")
    assert at.split(",")[-1] in text.splitlines()[0]
    assert "worst case" in text
    # Delta is not the probability that the loss exceeds epsilon, so that stands beside it.
    assert ("larger loss: the probability" in text) == ("," in at)
    assert "*" not in text


def test_equal_zeta_is_not_equal_in_the_worst_case(run) -> None:
    rows = json.loads(run("compare", "mixture:0.2,1,5", "geometric:1", "--json").stdout)["rows"]
    assert rows[0]["zeta"] == pytest.approx(rows[1]["zeta"], rel=1e-4)
    assert rows[0]["epsilon"] > 3 * rows[1]["epsilon"]


@pytest.mark.parametrize("at", ["beauty", "1,2", "1,1e-6,x", "nan,1e-6,1"])
def test_a_wrong_sense_is_a_usage_error(run, at: str) -> None:
    run("compare", "mixture:0.2,1,5", "geometric:1", "--at", at, code=2)


def test_a_design_says_how_it_is_used(run) -> None:
    assert "--noise geometric:0.5" in run("design", "--epsilon", "1", "--sensitivity", "1,-1").stdout
    wide = run("design", "--epsilon", "6", "--sensitivity", "10").stdout
    assert "release DATA" not in wide
    assert "in Python" in wide


@pytest.mark.parametrize("words", [("--probability", "0.99"), ("--cells", "5")])
def test_what_says_more_about_an_accuracy_is_refused_without_one(run, words: tuple[str, ...]) -> None:
    assert "--within" in run("design", "--epsilon", "1", *words, code=2).stderr
