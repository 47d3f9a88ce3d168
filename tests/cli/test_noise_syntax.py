"""Noises as they are written on the command line."""

from __future__ import annotations

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dovetail as dv
from dovetail.cli.noise_syntax import FORMS, read_noise, spelled


@pytest.mark.parametrize(
    ("text", "noise"),
    [
        ("geometric:0.5", dv.Geometric(0.5)),
        (" Geometric:1/2", dv.Geometric(0.5)),
        ("mixture:0.2,1,5", dv.GeometricMixture(0.2, 1, 5)),
        ("piecewise:0.05,0.1,0.14@9,22", dv.PiecewiseGeometric((0.05, 0.1, 0.14), (9, 22))),
        ("laplace:0.3", dv.Laplace(0.3)),
        ("laplace-mixture:0.1,1,4.5", dv.LaplaceMixture(0.1, 1, 4.5)),
        ("rounded-laplace:0.2,1@5", dv.LaplaceMixture(0.2, 1, 5).rounded()),
        ("gaussian:4", dv.DiscreteGaussian(4)),
        ("staircase:0.5", dv.Staircase(0.5)),
        ("truncated-geometric:0.5,20", dv.TruncatedGeometric(0.5, 20)),
        ("truncated-laplace:0.5,20", dv.TruncatedLaplace(0.5, 20)),
    ],
)
def test_each_form_makes_its_noise(text: str, noise: object) -> None:
    assert read_noise(text) == noise


def test_the_example_of_every_form_can_be_read() -> None:
    for name, form in FORMS.items():
        read_noise(f"{name}:{form.example}")


def test_a_piecewise_noise_is_spelled_as_it_is_read() -> None:
    for text in ("geometric:0.5", "mixture:0.2,1,5", "piecewise:0.05,0.1,0.14@9,22", "geometric:1/3"):
        assert spelled(read_noise(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        "geometric",
        "geometric:",
        "geometric:1,2",
        "geometric:1@5",
        "geometric:0",
        "geometric:-1",
        "geometric:inf",
        "geometric:1e400000000",
        "geometric:１",
        "geometric:1_0",
        "mixture:0.2,1",
        "mixture:0.2,1,5.5",
        "mixture:0.2,1,-5",
        "piecewise:1,2",
        "piecewise:1,2@",
        "piecewise:1,2,3@5,4",
        "piecewise:" + "1," * 5000,
        "gaussian:0",
        "uniform:3",
        "geometric:$(rm -rf .)",
    ],
)
def test_a_wrong_noise_is_refused_with_an_example(run, text: str) -> None:
    result = run("noise", text, code=2)
    assert result.stdout == ""
    assert "Hint:" in result.stderr


@given(st.text(max_size=60))
def test_a_text_that_names_no_form_is_refused(text: str) -> None:
    assume(text.partition(":")[0].strip().lower() not in FORMS)
    with pytest.raises(dv.InvalidParameter, match="NAME:NUMBERS"):
        read_noise(text)


NO_NUMBERS = ["", "x", "-1", "nan", "1_0"]
numbers = st.lists(st.sampled_from(["0.5", "1", "2", "3", "1/3", "5", *NO_NUMBERS]), min_size=1, max_size=3)


@given(st.sampled_from(sorted(FORMS)), numbers, st.none() | numbers)
def test_a_form_takes_its_numbers_and_nothing_else(
    name: str, listed: list[str], breaks: list[str] | None
) -> None:
    """What cannot be meant is refused; what is read is written again as a text that means the same."""
    text = f"{name}:{','.join(listed)}" + ("" if breaks is None else f"@{','.join(breaks)}")
    counts = FORMS[name].counts
    amiss = set(NO_NUMBERS) & {*listed, *(breaks or [])}
    if counts is not None:
        amiss = amiss or breaks is not None or not counts[0] <= len(listed) <= counts[1]
    else:
        amiss = amiss or len(breaks or []) != len(listed) - 1
    try:
        noise = read_noise(text)
    except dv.InvalidParameter:
        # Such as breaks that fall, or a bound that is no whole number.
        assert amiss or len(listed) > 1
    else:
        assert not amiss
        assert read_noise(spelled(noise)) == noise


def test_a_near_miss_is_corrected(run) -> None:
    assert "geometric:0.5?" in run("noise", "geometrik:0.5", code=2).stderr


def test_the_figures_are_those_of_the_library(run) -> None:
    shown = json.loads(run("noise", "mixture:0.2,1,5", "--json", "--within", "5").stdout)["mixture:0.2,1,5"]
    noise = dv.GeometricMixture(0.2, 1, 5)
    loss = dv.privacy_loss(noise)
    assert shown["within"] == noise.within(5)
    assert (shown["epsilon"], shown["zeta"]) == (loss.epsilon, loss.zeta)


def test_a_loss_above_an_epsilon_of_0_has_its_chance(run) -> None:
    """So wide a noise meets the delta with epsilon 0; in about half of the draws the loss is above that."""
    text = "geometric:0.0000001"
    shown = json.loads(run("noise", text, "--json").stdout)[text]
    assert shown["epsilon_at_delta"] == 0
    assert 0.4 < shown["chance_of_more"] < 0.6


def test_the_worst_case_stands_beside_every_zeta(run) -> None:
    lines = run("noise", "mixture:0.2,1,5", "geometric:0.328", "--queries", "10").stdout.splitlines()
    before = [lines[number - 1] for number, line in enumerate(lines) if "average: zeta" in line]
    assert before
    assert all("worst case: epsilon" in line for line in before)


def test_zeta_is_not_shown_where_it_is_epsilon(run) -> None:
    assert "zeta" not in run("noise", "geometric:0.5", "--queries", "10").stdout
    assert "average: zeta" in run("noise", "mixture:0.2,1,5", "geometric:0.5").stdout


def test_an_infinite_loss_is_said_in_words_and_null_in_json(run) -> None:
    assert "infinite" in run("noise", "gaussian:4").stdout
    assert json.loads(run("noise", "gaussian:4", "--json").stdout)["gaussian:4"]["epsilon"] is None


def test_no_cost_is_shown_below_what_it_is(run) -> None:
    text = "mixture:0.2,1,5"
    exact = json.loads(run("noise", text, "--queries", "10", "--json").stdout)[text]
    costs = {
        "average: zeta  ": "zeta",
        "Rényi divergence": "renyi_2",
        "10 answers, average": "zeta_all_at_most",
        "10 answers: epsilon": "epsilon_at_delta",
        "chance of a larger loss": "chance_of_more",
    }
    lines = run("noise", text, "--queries", "10").stdout.splitlines()
    for label, name in costs.items():
        (line,) = [line for line in lines if label in line]
        assert exact[name] * (1 - 1e-11) <= float(line.split()[-1]) <= exact[name] * 1.001, name
    (row,) = [line for line in run("compare", text, "geometric:1").stdout.splitlines() if text in line]
    assert float(row.split()[2]) >= dv.privacy_loss(dv.GeometricMixture("0.2", 1, 5)).zeta
