"""Many arrays in one call."""

from __future__ import annotations

import numpy as np
import pytest
import szgpu

RNG = np.random.default_rng(7)


def some_arrays() -> list[np.ndarray]:
    return [
        RNG.normal(size=(30, 40)).astype("f4"),
        RNG.normal(size=700),
        np.asfortranarray(RNG.normal(size=(5, 6, 7)).astype("f4")),
        np.zeros((3, 3), "f4"),
    ]


@pytest.mark.parametrize("settings", [{"lossless": True}, {"abs": 0.01}, {"rel": 1e-3, "zstd": 1}])
def test_archives_are_those_of_compress(settings):
    given = some_arrays()
    archives = szgpu.compress_many(given, **settings)
    assert archives == [szgpu.compress(array, **settings) for array in given]
    for array, found in zip(
        [szgpu.decompress(archive) for archive in archives],
        szgpu.decompress_many(archives),
        strict=True,
    ):
        assert found.dtype == array.dtype
        assert np.array_equal(found, array)


def test_none_are_none():
    assert szgpu.compress_many([], lossless=True) == []
    assert szgpu.decompress_many([]) == []


def test_an_iterator_will_do():
    archives = szgpu.compress_many((np.full(9, i, "u1") for i in range(3)), lossless=True)
    assert [int(array[0]) for array in szgpu.decompress_many(iter(archives))] == [0, 1, 2]


def test_settings_are_checked_even_without_arrays():
    with pytest.raises(ValueError, match="exactly one of"):
        szgpu.compress_many([])
    with pytest.raises(TypeError, match="has no out"):
        szgpu.compress_many([], lossless=True, out=bytearray(9))


def test_dtype_is_for_all():
    given = [np.arange(12, dtype="i8").reshape(3, 4), np.arange(5, dtype="i8")]
    restored = szgpu.decompress_many(szgpu.compress_many(given, lossless=True), dtype="i8")
    assert all(np.array_equal(a, b) for a, b in zip(given, restored, strict=True))


def test_damage_is_found():
    archives = szgpu.compress_many(some_arrays(), lossless=True)
    damaged = bytearray(archives[1])
    damaged[-20] ^= 1
    with pytest.raises(szgpu.ChecksumError):
        szgpu.decompress_many([archives[0], bytes(damaged)])
