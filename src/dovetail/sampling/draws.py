"""Draw from a law: the one way by which random noise enters the package."""

from __future__ import annotations

from collections import OrderedDict
from math import prod
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

from dovetail.check import integer
from dovetail.errors import InvalidParameter
from dovetail.exact.forks import ForkGuard

from .bits import SYSTEM, BitSource, Recording, source_for
from .blocks import too_wide
from .build import build
from .law import Law
from .sampler import FEW, Sampler

if TYPE_CHECKING:
    from .rejection import RejectionSampler

Size = int | tuple[int, ...]

_MOST_KEPT = 32
_MOST_DRAWS = 2**40

# Tables by law, the latest used last. They hold no random bit, so a fork may share them.
_kept: OrderedDict[Law, Sampler | RejectionSampler] = OrderedDict()
# The same by identity: to hash a law of many fractions takes longer than to draw from it. An entry holds its
# law, so the identity cannot pass to another object.
_seen: dict[int, tuple[Law, Sampler | RejectionSampler]] = {}
_guard = ForkGuard()


def sampler_for(law: Law) -> Sampler | RejectionSampler:
    """Return the tables of a law, built at its first use and kept while it is among the latest used."""
    entry = _seen.get(id(law))
    if entry is not None and entry[0] is law:
        return entry[1]
    if not isinstance(law, Law):
        fix = "Put a real-valued noise on a lattice first."
        raise InvalidParameter("noise", law, "a noise on the integers", fix)
    with _guard.lock:
        sampler = _kept.get(law)
    # Built without the lock: two threads may do it twice, but none can wait for another for ever.
    return _keep(law, sampler or _built(law))


def _keep(law: Law, sampler: Sampler | RejectionSampler) -> Sampler | RejectionSampler:
    with _guard.lock:
        sampler = _kept.setdefault(law, sampler)
        _kept.move_to_end(law)
        if len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)
            _seen.clear()
        if len(_seen) >= _MOST_KEPT:
            _seen.clear()
        _seen[id(law)] = (law, sampler)
        return sampler


def _built(law: Law) -> Sampler | RejectionSampler:
    """Build tables of the law itself, or of its proposal where its own would be too large."""
    if too_wide(law):
        from .rejection import HasProposal, RejectionSampler

        if isinstance(law, HasProposal):
            return RejectionSampler(law, build(law.proposal))
    return build(law)


@overload
def sample(law: Law, size: None = None, *, out: None = None) -> int: ...
@overload
def sample(law: Law, size: Size | None = None, *, out: NDArray[np.int64]) -> NDArray[np.int64]: ...
@overload
def sample(law: Law, size: Size, *, out: None = None) -> NDArray[np.int64]: ...
def sample(
    law: Law, size: Size | None = None, *, out: NDArray[np.int64] | None = None
) -> int | NDArray[np.int64]:
    """Draw from a law exactly, with bits of the operating system or of AES-256 keyed by it for this call.

    Without a size the draw is an int of any width. An int64 array holds all but one in 2^63 draws; for such a
    draw an error is raised, because noise is never clipped.

    >>> from dovetail.noise import Geometric
    >>> sample(Geometric(1), 5).dtype
    dtype('int64')
    """
    sampler = sampler_for(law)
    if size is None and out is None:
        return sampler.one(SYSTEM)
    if out is None and type(size) is int and 0 <= size <= FEW:
        return sampler.few(size, source_for(sampler.draw_bytes * size))
    target = _target(size, out)
    sampler.fill(target.reshape(-1), source_for(sampler.draw_bytes * target.size))
    return target


def draw(law: Law, source: BitSource) -> int:
    """Draw once from a source that the caller holds: one that is random, or a recording.

    A mechanism that draws several times takes its source as a parameter, so that tests can replay it.

    >>> from dovetail.noise import Geometric
    >>> draw(Geometric(1), Recording(bytes([0, 200])))
    1
    """
    return sampler_for(law).one(source)


def replay(noise: Law, size: Size | None, bits: bytes) -> int | NDArray[np.int64]:
    """Draw from recorded bits instead of random ones, for experiments and tests; no release accepts this.

    Equal bits give equal draws within one version. `experiment_bits(seed, count)` makes bits; 16 bytes a draw
    and 1,000 more are plenty.

    >>> from dovetail.noise import Geometric
    >>> replay(Geometric(1), 3, bytes([0, 128, 0, 200, 255, 3])).tolist()
    [0, 1, -3]
    """
    if not isinstance(bits, bytes | bytearray):
        raise InvalidParameter("bits", bits, "bytes", "Use sampling.experiment_bits(seed, count).")
    sampler = sampler_for(noise)
    source: BitSource = Recording(bytes(bits))
    if size is None:
        return sampler.one(source)
    target = _target(size, None)
    sampler.fill(target.reshape(-1), source)
    return target


def _target(size: Size | None, out: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return the array to fill, after a look at the one that was given."""
    shape = None if size is None else _shape(size)
    if out is None:
        assert shape is not None
        return np.empty(shape, np.int64)
    fix = "Use an empty array of 64-bit integers."
    if not isinstance(out, np.ndarray) or out.dtype != np.int64:
        raise InvalidParameter("out", getattr(out, "dtype", out), "an array of int64", fix)
    if not (out.flags.c_contiguous and out.flags.writeable):
        raise InvalidParameter("out", out.shape, "a contiguous writeable array", fix)
    if shape is not None and out.shape != shape:
        raise InvalidParameter("out", out.shape, f"of the shape {shape} that size asks for", fix)
    return out


def _shape(size: Size) -> tuple[int, ...]:
    if type(size) is int and 0 <= size <= _MOST_DRAWS:  # what nearly every call gives
        return (size,)
    fix = "Give how many draws, or a shape."
    lengths = size if isinstance(size, tuple) else (size,)
    shape = tuple(integer("size", length, low=0, fix=fix) for length in lengths)
    # Beyond this NumPy itself gives up; below it, memory is the caller's own matter.
    if prod(shape) > _MOST_DRAWS:
        raise InvalidParameter("size", size, f"at most {_MOST_DRAWS} draws in all", fix)
    return shape
