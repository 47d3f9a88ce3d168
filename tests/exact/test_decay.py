"""Sums over stretches, as balls, against plain sums in mpmath."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.exact import Decay, Slab, Stretch, ball, precision
from oracles import mp, number
from strategies import magnitudes

rates = magnitudes(0.2, 5)
levels = magnitudes(0.01, 20)
slabs = st.builds(Slab, levels, rates, magnitudes(0.1, 2))


@st.composite
def decays(draw: st.DrawFn, whole: bool = True) -> Decay:
    """Stretches with jumps between them, each with or without slabs: more than any noise needs."""
    stretches, start = [], Fraction(0)
    for last in [False] * draw(st.integers(0, 3)) + [True]:
        length = None if last else Fraction(draw(st.integers(1, 6)))
        stretches.append(
            Stretch(start, length, draw(rates), draw(levels), tuple(draw(st.lists(slabs, max_size=2))))
        )
        start += length or 0
    return Decay(tuple(stretches), whole)


def weight(stretch: Stretch, x: object) -> object:
    """Return exp(-level - rate·(x - start)) times the stretch's factor."""
    factor = mp.mpf(0 if stretch.slabs else 1)
    for slab in stretch.slabs:
        level, rate, width = number(slab.level), number(slab.rate), number(slab.width)
        factor += mp.exp(-level) * (1 - mp.exp(-rate * width)) / rate
    return factor * mp.exp(-number(stretch.level) - number(stretch.rate) * (x - number(stretch.start)))


def close(found: object, truth: object) -> bool:
    with precision(300):
        return abs(mp.mpf(found.mid().str(80, radius=False)) / truth - 1) < mp.mpf(10) ** -40


@settings(max_examples=12, deadline=None)
@given(decays(), st.integers(1, 30))
def test_sums_over_the_integers_are_the_plain_sums(decay: Decay, k: int) -> None:
    weights = [weight(decay.stretches[decay.find(j)], j) for j in range(700)]
    total = 2 * mp.fsum(weights) - weights[0]
    with precision(300):
        assert close(decay.total(), total)
        assert close(decay.tail(k), mp.fsum(weights[k:]) / total)
        assert close(decay.density(k), weights[k] / total)
        for order in (1, 2):
            assert close(
                decay.moment(order), 2 * mp.fsum(j**order * w for j, w in enumerate(weights)) / total
            )
        plain = [w / total for w in weights]
        entropy = plain[0] * mp.log(plain[0]) - 2 * mp.fsum(p * mp.log(p) for p in plain)
        assert close(decay.entropy(), entropy)


@settings(max_examples=25, deadline=None)
@given(decays(), st.integers(1, 40), st.sampled_from([10, 53, 200, 1000]))
def test_a_tail_ball_has_the_bits_that_were_asked_for(decay: Decay, k: int, bits: int) -> None:
    found = decay.tail_ball(k, bits)
    finer = decay.tail_ball(k, bits + 200)
    assert found.rel_accuracy_bits() >= bits
    assert found.contains(finer)


def test_a_finite_decay_ends() -> None:
    decay = Decay((Stretch(Fraction(0), Fraction(3), Fraction(1), Fraction(0)),), whole=True)
    with precision(100):
        assert decay.tail(3) == 0
        assert decay.density(3) == 0
        assert abs(decay.total() - (1 + 2 * ball(-1).exp() + 2 * ball(-2).exp())) < 1e-25
