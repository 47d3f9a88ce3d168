"""Measure the privacy loss of whole answers: question, price, SQL, noise, storing and showing.

A pair of neighbouring tables differs by one row in each of many cells: cells have noise of their own and do
not meet, so that each is one independent run on one pair of neighbours. Most runs use an account in memory,
because a durable commit takes longer than all the rest; some use a real ledger. A lower bound of epsilon
(Clopper-Pearson over many events, false alarms together 1e-9) must stay below the charge and come near to it,
and must pass it for releases that are broken on purpose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

import dovetail as dv
from audit_runs import FALSE_ALARM, InMemory, least_epsilon
from dovetail.audit.statistics import goodness_of_fit
from dovetail.errors import LedgerError
from dovetail.pricing import composition, stretching
from dovetail.query.measures import Shift
from dovetail.release import mechanism, releaser

CELLS = 10_000
HIGH = 10
NOISE = dv.GeometricMixture("0.4", 1, 3)


def rows(extra: bool) -> pyarrow.Table:
    """Each cell has a row of 3; its neighbour has one more row, far above every bound."""
    keys, values = list(range(CELLS)), [3] * CELLS
    if extra:
        keys, values = keys * 2, values + [10**6] * CELLS
    return pyarrow.table({"cell": keys, "value": values})


def session_on(extra: bool, folder: Path) -> dv.Session:
    made = dv.Session(
        rows(extra), name="cells", budget=dv.Budget.pure(10**6), ledger=folder / f"{extra}.ledger"
    )
    made._releaser = replace(made._releaser, account=InMemory())
    return made


def counted(session: dv.Session, times: int) -> tuple[np.ndarray, float]:
    """Return noisy counts, one a cell and answer, and the epsilon that one row is charged."""
    asked = dv.Histogram("cell", keys=range(CELLS))
    answers = [session.batch([asked], noise=NOISE, fresh=True)[0] for _ in range(times)]
    return _gathered(answers)


def summed(session: dv.Session, times: int) -> tuple[np.ndarray, float]:
    asked = dv.Sum("value", low=0, high=HIGH, step=1, by=("cell",), keys=range(CELLS))
    answers = [session.batch([asked], noise=NOISE, fresh=True)[0] for _ in range(times)]
    return _gathered(answers)


def _gathered(answers: list[Any]) -> tuple[np.ndarray, float]:
    epsilon = answers[0].charge.epsilon_units
    assert epsilon is not None
    return np.concatenate([np.array(a.cells)[:, 0] for a in answers]), epsilon / 1e9


def proven(ask: Callable[..., tuple[np.ndarray, float]], folder: Path, times: int) -> tuple[float, float]:
    """Return the epsilon that answers on neighbours prove, and the charged one."""
    with session_on(False, folder) as without, session_on(True, folder) as with_it:
        (one, charged), (other, _) = ask(without, times), ask(with_it, times)
    return least_epsilon(one, other), charged


@pytest.mark.parametrize("ask", [counted, summed])
@pytest.mark.parametrize("times", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_answers_on_neighbours_lose_what_is_charged_and_no_more(
    ask: Callable[..., Any], times: int, tmp_path: Path
) -> None:
    bound, charged = proven(ask, tmp_path, times)
    assert charged == pytest.approx(1)
    # The power of the audit: it proves much of what is charged. In simulation the sums, which are harder,
    # gave 0.61 and 0.82 with standard deviations of 0.034 and 0.022: six of these are left for chance.
    assert (0.4 if times == 2 else 0.68) < bound <= charged


def understated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum is noised and charged as if it were a count."""
    monkeypatch.setattr(stretching, "units", lambda _: (1,))
    monkeypatch.setattr(composition, "moves", lambda *_: ((Shift(0, 1),),))


def one_sided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise is clamped at 0 before it is added, so that no answer lies below the truth."""
    honest = mechanism.draws
    monkeypatch.setattr(mechanism, "draws", lambda noise, cells: [max(0, x) for x in honest(noise, cells)])


def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise of another scale than the charged one is drawn."""
    honest = mechanism.draws
    monkeypatch.setattr(mechanism, "draws", lambda noise, cells: honest(dv.Geometric("1.5"), cells))


def drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise is drawn again until it is not far below 0, so that few counts are negative."""
    honest = mechanism.draws

    def again(noise: Any, cells: int) -> list[int]:
        drawn = np.array(honest(noise, cells))
        while (wrong := drawn < -1).any():
            drawn[wrong] = honest(noise, int(wrong.sum()))
        return [int(x) for x in drawn]

    monkeypatch.setattr(mechanism, "draws", again)


@pytest.mark.parametrize(
    ("broken", "ask"),
    [(understated, summed), (one_sided, counted), (narrow, counted), (drawn_again, counted)],
)
def test_the_audit_catches_a_broken_release(
    broken: Callable[[pytest.MonkeyPatch], None],
    ask: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken(monkeypatch)
    bound, charged = proven(ask, tmp_path, 2)
    assert bound > charged


@pytest.mark.slow
def test_answers_follow_the_noise_and_a_rate_off_by_5_percent_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with session_on(False, tmp_path) as session:
        found, _ = counted(session, 3)
        assert goodness_of_fit(NOISE, found - 1) > FALSE_ALARM
        honest = mechanism.draws
        off = dv.PiecewiseGeometric([rate * 105 / 100 for rate in NOISE.rates], NOISE.breaks)
        monkeypatch.setattr(mechanism, "draws", lambda noise, cells: honest(off, cells))
        found, _ = counted(session, 10)
        assert goodness_of_fit(NOISE, found - 1) < FALSE_ALARM


def test_two_answers_do_not_share_their_noise_and_the_audit_would_see_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = [
        dv.Histogram("cell", keys=range(CELLS)),
        dv.Histogram("cell", keys=range(CELLS), where="value > 9"),
    ]

    def differences(session: dv.Session) -> np.ndarray:
        whole, part = session.batch(both, noise=NOISE)
        return np.array(whole.cells)[:, 0] - np.array(part.cells)[:, 0]

    with session_on(False, tmp_path) as without, session_on(True, tmp_path) as with_it:
        charged = without.price([both[0], dv.Count("value > 8")], noise=NOISE).epsilon
        assert charged is not None
        one, other = differences(without), differences(with_it)
        assert least_epsilon(one, other) <= float(charged)
        assert goodness_of_fit(NOISE, np.array(without.batch(both, noise=NOISE)[1].cells)[:, 0]) > FALSE_ALARM
        assert len(set(one.tolist())) > 10
        monkeypatch.setattr(mechanism, "draws", lru_cache(mechanism.draws))
        # With noise used twice, the difference of two answers is the truth itself.
        assert set(differences(without).tolist()) == {1}


def test_no_answer_is_seen_whose_commit_failed_and_the_order_would_be_noticed(tmp_path: Path) -> None:
    seen: list[Any] = []

    class Hasty(releaser.Releaser):
        """Shows what it has before it is stored."""

        def _noisy(self, *given: Any) -> Any:
            seen.append(super()._noisy(*given))
            return seen[-1]

    with session_on(False, tmp_path) as session:
        account = InMemory(settles=False)
        honest = replace(session._releaser, account=account)
        for kind in (type(honest), Hasty):
            session._releaser = kind(*(getattr(honest, name) for name in honest.__dataclass_fields__))
            shown = []
            with pytest.raises(LedgerError):
                shown.append(session.count(noise=NOISE))
            assert len(account.kept) == 0
            # Everything seen must be on record: the audit of the order.
            on_record = len(shown) + len(seen) <= len(account.kept)
            assert on_record == (kind is releaser.Releaser)


@pytest.mark.slow
def test_answers_through_a_real_ledger_lose_no_more_either(tmp_path: Path) -> None:
    found = []
    for extra in (False, True):
        table = rows(extra).filter(pyarrow.compute.field("cell") == 0)
        place = tmp_path / f"{extra}.ledger"
        with dv.Session(table, name="one", budget=dv.Budget.pure(1000), ledger=place) as session:
            answers = [session.count(noise=NOISE, fresh=True) for _ in range(150)]
            assert str(session.remaining) == "epsilon 850"
        found.append(np.array([each.value for each in answers]))
    assert least_epsilon(*found) <= 1
    assert goodness_of_fit(NOISE, np.concatenate((found[0] - 1, found[1] - 2))) > FALSE_ALARM
