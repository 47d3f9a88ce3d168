"""Draws kept ready follow the law, and each is handed out once, whatever forks, threads and signals do."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dovetail
from dovetail.audit import goodness_of_fit
from dovetail.noise import DiscreteGaussian, Geometric, GeometricMixture
from dovetail.sampling import ready_draws, sample
from dovetail.sampling.ready_draws import BLOCK, MOST_AT_ONCE, ReadyDraws, sample_ready

# Any two of 4,000 draws are equal with a probability below 1e-9.
WIDEST = Geometric("1e-16")
CALLS, SIZE = 500, 8


@pytest.fixture(autouse=True)
def nothing_ready():
    ready_draws._ready.clear()
    yield
    ready_draws._ready.clear()


@contextmanager
def numbered_draws():
    """Number fresh draws 0, 1, 2, … instead of drawing them, and give the sizes of the blocks."""
    blocks: list[int] = []

    def fresh(law, size, *, out=None):
        blocks.append(size)
        return np.arange(sum(blocks) - size, sum(blocks))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ready_draws, "sample", fresh)
        yield blocks
    ready_draws._ready.clear()


@given(sizes=st.lists(st.integers(1, MOST_AT_ONCE), min_size=1, max_size=40))
def test_each_draw_is_handed_out_once_and_in_order(sizes):
    law = Geometric(1)
    with numbered_draws() as blocks:
        handed = np.concatenate([sample_ready(law, size) for size in sizes])
    assert handed.size == sum(sizes)
    assert (np.diff(handed) > 0).all()
    assert max(blocks) <= BLOCK


@given(size=st.integers(1, MOST_AT_ONCE), calls=st.integers(1, 60))
def test_calls_of_one_size_drop_nothing_and_draw_at_most_five_times_as_many_as_they_use(size, calls):
    law = Geometric(1)
    with numbered_draws() as blocks:
        handed = np.concatenate([sample_ready(law, size) for _ in range(calls)])
    assert handed.tolist() == list(range(size * calls))
    assert blocks[0] == size
    assert sum(blocks) <= min(5 * size * calls, size * calls + BLOCK)


@pytest.mark.parametrize("size", [0, MOST_AT_ONCE + 1, (2, 3), None, np.int64(5)])
def test_other_sizes_are_drawn_afresh(size):
    with numbered_draws() as blocks, pytest.MonkeyPatch.context() as patch:
        patch.setattr(ready_draws, "sample", lambda law, size, *, out=None: ("fresh", size))
        assert sample_ready(Geometric(1), size) == ("fresh", size)
    assert not blocks


def test_an_array_to_fill_is_filled_afresh():
    out = np.zeros(5, np.int64)
    assert WIDEST.sample(5, out=out) is out
    assert out.all()
    assert not ready_draws._ready


def handed_out(law, calls=CALLS, size=SIZE):
    return np.concatenate([law.sample(size) for _ in range(calls)])


def repeats(drawn):
    """Say how many draws were there before; more than none has a probability below 1e-9 at this width."""
    return drawn.size - np.unique(drawn).size


LAWS = [Geometric("1/3"), Geometric("1e-6"), GeometricMixture("1e-3", "5e-3", 777), DiscreteGaussian(5)]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_draws_handed_out_follow_the_law(law, monkeypatch):
    """False alarm 1e-9; blocks that lose their largest tenth on the way are rejected."""
    assert goodness_of_fit(law, handed_out(law, 2500)) > 1e-9

    def without_the_largest(law, size, *, out=None):
        drawn = sample(law, size + size // 10 + 1)
        return drawn[np.sort(np.abs(drawn).argsort()[:size])]

    ready_draws._ready.clear()
    monkeypatch.setattr(ready_draws, "sample", without_the_largest)
    assert goodness_of_fit(law, handed_out(law, 2500)) < 1e-9


def test_no_draw_is_handed_out_twice():
    assert repeats(handed_out(WIDEST)) == 0


class Overlapping(ReadyDraws):
    """Hand out the last draw of a slice once more, and erase nothing."""

    def take(self, size):
        begin = max(self.used - 1, 0)
        drawn = self.values[begin : begin + size].copy()
        self.used += size
        return drawn


def test_slices_that_overlap_by_one_draw_would_be_noticed(monkeypatch):
    monkeypatch.setattr(ready_draws, "ReadyDraws", Overlapping)
    assert repeats(handed_out(WIDEST)) > 0


def test_a_draw_is_erased_where_it_lay():
    first = WIDEST.sample(SIZE)
    for _ in range(3):
        handed = WIDEST.sample(SIZE)
        (ready,) = ready_draws._ready.values()
        assert not np.isin(handed, ready.values).any()
        assert not np.isin(first, ready.values).any()
        assert (ready.values[: ready.used] == -(2**63)).all()
        assert (ready.values[ready.used :] != -(2**63)).all()


def test_draws_of_few_laws_are_kept():
    for number in range(100):
        handed_out(Geometric(50 + number), 3, 5)
        assert len(ready_draws._ready) <= ready_draws._MOST_LAWS


def test_an_identity_that_passes_to_another_law_finds_its_own_draws():
    for number in range(200):
        spread = np.abs(Geometric(20 if number % 2 else "0.01").sample(100)).max()
        assert (spread == 0) == bool(number % 2)


def test_threads_share_no_draw():
    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(lambda _: handed_out(WIDEST, CALLS // 8), range(8)))
    assert repeats(np.concatenate(parts)) == 0


def test_a_call_in_the_middle_of_another_shares_no_draw(monkeypatch):
    """A signal handler, or a finaliser, may draw while a call has just taken its block."""
    inner = []
    signals = iter(range(50))

    class Interrupted(ReadyDraws):
        __slots__ = ()

        def take(self, size):
            if next(signals, None) is not None:
                inner.append(WIDEST.sample(size))
            return super().take(size)

    monkeypatch.setattr(ready_draws, "ReadyDraws", Interrupted)
    outer = handed_out(WIDEST, 100)
    assert len(inner) == 50
    assert repeats(np.concatenate((outer, *inner))) == 0


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def forked(work):
    """Return what a child computes, as an array of int64."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.write(writer, work().tobytes())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        received = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return np.frombuffer(received, np.int64)


@needs_fork
def test_parent_and_children_share_no_draw():
    handed = [handed_out(WIDEST, 20)]
    handed += [forked(lambda: handed_out(WIDEST, 20)) for _ in range(4)]
    handed.append(handed_out(WIDEST, 20))
    assert repeats(np.concatenate(handed)) == 0


@needs_fork
def test_a_child_that_kept_its_parents_draws_would_be_noticed(monkeypatch):
    def forget_nothing():
        ready_draws._process = kept
        ready_draws._ready.update(before)
        return handed_out(WIDEST, 3)

    handed_out(WIDEST, 20)
    kept = ready_draws._process
    before = {key: Copied(ready) for key, ready in ready_draws._ready.items()}
    assert repeats(np.concatenate((forked(forget_nothing), handed_out(WIDEST, 3)))) > 0


class Copied(ReadyDraws):
    """The same draws in other memory, which nobody erases."""

    __slots__ = ()

    def __init__(self, ready):
        super().__init__(ready.law, ready.values.copy(), ready.process)
        self.used = ready.used


@needs_fork
@pytest.mark.parametrize("before", [1, 2], ids=["a new block", "a block that was there"])
def test_a_child_forked_in_the_middle_of_a_call_draws_its_own(monkeypatch, before):
    """A signal handler forks after the call took its block; both processes then finish the call."""
    children = []

    class Forking(ReadyDraws):
        __slots__ = ()

        def take(self, size):
            if not children:
                children.append(os.fork())
            return super().take(size)

    handed_out(WIDEST, before)
    monkeypatch.setattr(ready_draws, "ReadyDraws", Forking)
    for ready in ready_draws._ready.values():
        ready.__class__ = Forking
    reader, writer = os.pipe()
    handed = handed_out(WIDEST, 3)
    if children == [0]:
        os.write(writer, handed.tobytes())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        received = np.frombuffer(pipe.read(), np.int64)
    assert os.waitpid(children[0], 0)[1] == 0
    assert received.size == 3 * SIZE
    assert repeats(np.concatenate((handed, received))) == 0


def test_no_release_hands_out_draws_that_were_kept():
    """Outside of noise, its study and its audit, only a size of 0 is asked for: is the noise too wide?"""
    package = Path(dovetail.__path__[0])
    for path in package.rglob("*.py"):
        part = path.relative_to(package).parts[0]
        if part not in {"noise", "sampling", "paper", "audit"}:
            assert not re.search(r"\.sample\((?!0\))|sample_ready", path.read_text()), path
