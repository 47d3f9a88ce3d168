"""Random bits are fresh on every call, in every process and thread, and recordings are repeatable."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import ECB

from dovetail.errors import InvalidParameter
from dovetail.noise import Geometric
from dovetail.sampling import experiment_bits, random_bytes, replay, sample
from dovetail.sampling.bits import Drawn, Recording, Stream, System, extended, source_for

CHILDREN = 8


def test_the_stream_is_aes_256_in_counter_mode():
    key = bytes(range(32))
    counters = b"".join(number.to_bytes(16, "big") for number in range(4))
    assert Stream(key).read(64) == Cipher(AES256(key), ECB()).encryptor().update(counters)


def test_bytes_drawn_at_once_are_aes_256_in_counter_mode():
    """Galois/counter mode: 96 bits of nonce, then a counter of 32 bits; the text begins at block 2."""
    key = bytes(range(32))
    counters = b"".join(number.to_bytes(16, "big") for number in range(2, 6))
    drawn = Drawn(64, key)
    expected = Cipher(AES256(key), ECB()).encryptor().update(counters)
    assert drawn.read(5) + drawn.read(59) == expected


def test_what_a_short_call_needs_beyond_its_bytes_is_fresh_and_none_is_given_twice():
    drawn = Drawn(100, bytes(32))
    first, beyond, last = drawn.read(90), drawn.read(16), drawn.read(10)
    stream = Drawn(100, bytes(32)).read(100)
    assert first + last == stream
    assert beyond != Drawn(132, bytes(32)).read(132)[90:106]
    assert drawn.read(16) != drawn.read(16)


def test_a_stream_gives_the_same_words_however_it_is_read():
    key = bytes(32)
    words, more = np.empty((3, 1000), np.uint16), np.empty(7, np.uint16)
    stream = Stream(key)
    for array in (words, np.empty(0, np.uint16), more):
        stream.fill(array)
    assert words.astype("<u2").tobytes() + more.astype("<u2").tobytes() == Stream(key).read(6014)


def test_an_array_with_gaps_is_refused_rather_than_left_unfilled():
    with pytest.raises(TypeError):
        Stream().fill(np.empty((4, 8), np.uint16)[:, ::2])


def test_no_two_calls_share_a_key():
    assert Stream().read(16) != Stream().read(16)
    assert Drawn(16).read(16) != Drawn(16).read(16)
    assert isinstance(source_for(16), System)
    assert isinstance(source_for(1000), Drawn)
    assert isinstance(source_for(1 << 20), Stream)


def test_more_bits_are_appended_and_the_first_16_stay():
    heads = np.array([0, 1, 0xABCD, 0xFFFF], np.uint16)
    found = extended(heads, Recording(bytes(range(32))))
    assert (found >> np.uint64(48)).tolist() == heads.tolist()
    assert int(found[0]) & (2**48 - 1) == int.from_bytes(bytes(range(8)), "little") >> 16


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("size", [None, 16, 5000, 50_000])
def test_forked_children_share_no_draws(size):
    """Parent and eight children draw after a common past; equal 16-draw stretches would show common state."""
    noise = Geometric("0.0001")
    sample(noise, 5000)
    readers = []
    for _ in range(CHILDREN):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            os.write(writer, _drawn(noise, size))
            os._exit(0)
        os.close(writer)
        readers.append((child, reader))
    outputs = [_drawn(noise, size)]
    for child, reader in readers:
        with os.fdopen(reader, "rb") as pipe:
            outputs.append(pipe.read())
        assert os.waitpid(child, 0)[1] == 0
    assert len(set(outputs)) == CHILDREN + 1
    stretches = [output[at : at + 128] for output in outputs for at in range(0, len(output) - 127, 128)]
    assert len(set(stretches)) == len(stretches)


def _drawn(noise, size):
    if size is None:
        return np.array([sample(noise) for _ in range(16)], np.int64).tobytes()
    return sample(noise, size).tobytes()


def test_threads_draw_independently_and_build_tables_once():
    noises = [Geometric(f"0.00{number}") for number in range(1, 9)]

    def drawn(number):
        return sample(noises[number % 8], 20_000)

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(drawn, range(32)))
    stretches = {result[at : at + 8].tobytes() for result in results for at in range(0, 20_000, 8)}
    assert len(stretches) == 32 * 2500
    for number, result in enumerate(results):
        assert abs(result.mean()) < 10 * noises[number % 8].std() / np.sqrt(result.size)


def test_experiment_bits_repeat_and_differ_by_seed():
    assert experiment_bits(3, 100) == experiment_bits(3, 100)
    assert experiment_bits(3, 100) != experiment_bits(4, 100)
    noise = Geometric("1/3")
    bits = experiment_bits(3, 16 * 1000)
    assert (replay(noise, 1000, bits) == replay(noise, 1000, bits)).all()


@pytest.mark.parametrize("seed", [-1, 1.5, True, 2**128, "x"])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(InvalidParameter, match="seed"):
        experiment_bits(seed, 8)


def test_random_bytes_are_fresh():
    assert random_bytes(32) != random_bytes(32)
    with pytest.raises(InvalidParameter):
        random_bytes(0)
