"""Where random bits come from: the operating system, AES-256 in counter mode, or a recording.

A source with bits in it lives for one call and is never kept, so nothing survives that a fork could copy or a
later reader could find. What AES delivers is uniform in the computational sense: no feasible test tells it
from uniform.
"""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dovetail.check import integer
from dovetail.errors import InvalidParameter

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import CipherContext

# Up to this many bytes the operating system answers faster than a new key is scheduled.
_DIRECT = 256
# Up to this many bytes one call of the cipher is faster than a stream.
_AT_ONCE = 1 << 16
_KEY_BYTES = 32
_COUNTER_BYTES = 16
# The counter of GCM has a part that the caller chooses; a key of one call never meets another one.
_NONCE = bytes(12)


class BitSource(ABC):
    """Anything that can hand out bytes, each of them once."""

    @abstractmethod
    def read(self, count: int) -> bytes:
        """Return the next `count` bytes."""

    def word(self) -> int:
        """Return the next 64 bits as a whole number."""
        return int.from_bytes(self.read(8), "little")

    def fill(self, target: NDArray[Any]) -> None:
        """Fill an array with the next words; low bytes first, so that a recording reads the same anywhere."""
        words = np.frombuffer(self.read(target.nbytes), dtype=target.dtype.newbyteorder("<"))
        target[...] = words.reshape(target.shape)


class System(BitSource):
    """The operating system's own generator."""

    def read(self, count: int) -> bytes:
        """Return fresh bytes."""
        return os.urandom(count)


SYSTEM = System()


class Stream(BitSource):
    """The key stream of AES-256-CTR under one key; by default a new key from the operating system."""

    def __init__(self, key: bytes | None = None) -> None:
        cipher, aes, counter = _counter()
        key = os.urandom(_KEY_BYTES) if key is None else key
        self._context: CipherContext = cipher(aes(key), counter(bytes(_COUNTER_BYTES))).encryptor()
        self._zeros = memoryview(b"")

    def read(self, count: int) -> bytes:
        """Return the next bytes of the stream."""
        return self._context.update(bytes(count))

    def fill(self, target: NDArray[Any]) -> None:
        """Fill an array with the next words of the stream, without a copy of it."""
        if not target.size:
            return
        if len(self._zeros) < target.nbytes:
            self._zeros = memoryview(bytes(target.nbytes))
        # A cast refuses an array with gaps, where a copy would be filled and the array left as it was.
        written = self._context.update_into(self._zeros[: target.nbytes], target.data.cast("B"))
        if written != target.nbytes:
            raise RuntimeError("the cipher filled only a part of the array")
        if sys.byteorder == "big":
            target.byteswap(inplace=True)


class Drawn(BitSource):
    """Bytes drawn at once for a short call; what it needs beyond them comes from the operating system.

    AES-256 in Galois/counter mode adds its key stream to the text: of zeros it returns the stream itself,
    then a tag, which is left out. A stream of its own takes six times as long to set up.
    """

    def __init__(self, count: int, key: bytes | None = None) -> None:
        cipher = _galois()(os.urandom(_KEY_BYTES) if key is None else key)
        self._drawn: bytes = cipher.encrypt(_NONCE, bytes(count), None)
        self._count, self._position = count, 0

    def read(self, count: int) -> bytes:
        """Return the next bytes."""
        end = self._position + count
        if end > self._count:
            return os.urandom(count)
        piece = self._drawn[self._position : end]
        self._position = end
        return piece


# Ciphers are loaded when a call first needs them: one draw does not. To import them again in every call would
# take as long as to schedule a key.
@cache
def _counter() -> tuple[Any, Any, Any]:
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES256
    from cryptography.hazmat.primitives.ciphers.modes import CTR

    return Cipher, AES256, CTR


@cache
def _galois() -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM


class Recording(BitSource):
    """Bytes chosen beforehand, handed out in order and once."""

    def __init__(self, recorded: bytes) -> None:
        self._recorded = recorded
        self._position = 0

    def read(self, count: int) -> bytes:
        """Return the next recorded bytes, or refuse when they have run out."""
        end = self._position + count
        if end > len(self._recorded):
            allowed = f"longer: {end} bytes are needed so far, {len(self._recorded)} were given"
            raise InvalidParameter("bits", f"{len(self._recorded)} bytes", allowed, "Record more bits.")
        piece = self._recorded[self._position : end]
        self._position = end
        return piece


def source_for(count: int) -> BitSource:
    """Return a fresh source for a request of about `count` bytes."""
    if count <= _DIRECT:
        return SYSTEM
    # An eighth more for the draws that the tables leave open.
    return Drawn(count + (count >> 3)) if count <= _AT_ONCE else Stream()


def extended(heads: NDArray[np.uint16], source: BitSource) -> NDArray[np.uint64]:
    """Append 48 fresh bits to each 16-bit word, whose own bits stay the leading ones."""
    fresh = np.frombuffer(source.read(8 * heads.size), dtype="<u8")
    return (heads.astype(np.uint64) << np.uint64(48)) | (fresh >> np.uint64(16))


def random_bytes(count: int) -> bytes:
    """Return fresh bytes of the operating system, for keys and tokens elsewhere in the package.

    >>> len(random_bytes(16))
    16
    """
    return os.urandom(integer("count", count, 1, 1 << 20))


def experiment_bits(seed: int, count: int) -> bytes:
    """Stretch a seed to `count` repeatable bytes for `replay`; anyone who knows the seed knows them all.

    >>> experiment_bits(1, 4) == experiment_bits(1, 8)[:4]
    True
    """
    key = integer("seed", seed, 0, (1 << 128) - 1).to_bytes(_KEY_BYTES, "big")
    return Stream(key).read(integer("count", count, 1))
