"""The classic attack on floating-point noise (Mironov 2012) works on such noise, and finds nothing here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow

import dovetail as dv

RUNS = 4_000


def textbook(rng: np.random.Generator, size: int) -> np.ndarray:
    """Draw Laplace noise of scale 1 as textbooks do: the logarithm of a uniform double."""
    uniform = (rng.integers(1, 2**53, size) | 1) / 2.0**53
    return np.log(uniform) * rng.choice([-1, 1], size)


def reachable(answers: np.ndarray, truth: float) -> np.ndarray:
    """Tell which answers that noise can give on this truth: some double near exp must lead there."""
    noise = answers - truth
    exact = noise + truth == answers
    guess = np.exp(-np.abs(noise)) * 2.0**53
    found = np.zeros(answers.size, bool)
    for step in range(-64, 65):
        candidate = np.clip(np.rint(guess) + step, 1, 2.0**53)
        drawn = np.log(candidate / 2.0**53)
        found |= (candidate % 2 == 1) & ((truth + drawn == answers) | (truth - drawn == answers))
    return found & exact


def test_textbook_noise_tells_neighbours_apart_for_certain() -> None:
    rng = np.random.default_rng(7)
    drawn = textbook(rng, RUNS)
    ours, theirs = 0.0 + drawn, 1.0 + drawn
    assert reachable(ours, 0.0).mean() > 0.9
    # Many answers on one table cannot occur on the other: an infinite loss at a charge of 1.
    given_away = [(~reachable(ours, 1.0)).mean(), (~reachable(theirs, 0.0)).mean()]
    assert min(given_away) > 0.1


def test_released_numbers_have_no_digits_to_look_at(tmp_path: Path) -> None:
    table = pyarrow.table({"x": [0.1, 0.7, 1.3, 2.9]})
    with dv.Session(table, name="x", budget=dv.Budget.pure(10**4), ledger=tmp_path / "a.ledger") as session:
        for _ in range(20):
            count = session.count(noise=dv.Geometric(1), fresh=True)
            total = session.sum("x", low=0, high=3, step="0.125", noise=dv.Geometric(1), fresh=True)
            assert isinstance(count.value, int)
            (steps,) = total.cells[0]
            assert isinstance(steps, int)
            assert total.values()[0] == steps * total.query.step
