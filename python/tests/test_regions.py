"""Boxes of arrays: szgpu.open and decompress(region=...), against numpy's own indexing."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest
import szgpu

RANDOM = np.random.default_rng(5)
SHAPE = (40, 33, 50)


def smooth(*shape: int) -> np.ndarray:
    axes = np.meshgrid(*[np.linspace(0, 3, n) for n in shape], indexing="ij", sparse=True)
    noise = RANDOM.normal(0, 1e-3, shape)
    return (np.sin(sum((k + 1) * axis for k, axis in enumerate(axes))) + noise).astype("f4")


A = smooth(*SHAPE)
INDICES = [
    np.s_[3],
    np.s_[-1, ..., 7],
    np.s_[...],
    np.s_[:],
    np.s_[5:9, -4:, ::7],
    np.s_[1:2, 3, -40:-3:5],
    np.s_[..., 10:12],
    np.s_[39, 32, 49],
    np.s_[5:5],
    np.s_[9:3, :, 1],
    np.s_[0:1000, -1000:2],
    np.s_[np.int64(4), np.uint8(3) : np.int16(9)],
]
SETTINGS = [
    {"abs": 1e-3, "predictor": "interpolation", "frame_rows": 16},
    {"abs": 1e-3, "predictor": "lorenzo", "zstd": 3},
    {"abs": 1e-3, "layout": "linear"},
    {"lossless": True},
]


def written(path, array, **settings):
    path.write_bytes(szgpu.compress(array, **settings))
    return path


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_indices_are_those_of_numpy(tmp_path, settings, order):
    path = written(tmp_path / "a.szg", np.array(A, order=order), **settings)
    archive = path.read_bytes()
    whole = szgpu.decompress(archive)
    with szgpu.open(path) as data:
        assert (data.shape, data.ndim, data.size, data.dtype) == (SHAPE, 3, A.size, np.dtype("f4"))
        assert len(data) == 40 and data.nbytes == A.nbytes
        for index in INDICES:
            expected = whole[index]
            for part in (data[index], szgpu.decompress(archive, region=index)):
                assert np.shape(part) == expected.shape and np.array_equal(part, expected), index
                assert part.dtype == expected.dtype
        assert np.array_equal(np.asarray(data), whole)
        assert np.array_equal(np.stack(list(data)), whole)


def test_random_boxes():
    for shape in ((9000,), (70, 81), (20, 21, 22), (3, 20, 21, 22), (4, 1, 900)):
        archive = szgpu.compress(smooth(*shape), abs=1e-3)
        whole = szgpu.decompress(archive)
        for _ in range(50):
            box = tuple(slice(*sorted(RANDOM.integers(0, n + 1, 2))) for n in shape)
            assert np.array_equal(szgpu.decompress(archive, region=box), whole[box])


def test_previews_are_arrays_of_their_own(tmp_path):
    path = written(tmp_path / "a.szg", A, abs=1e-2, predictor="interpolation")
    with szgpu.open(path) as data:
        assert data.levels >= 2
        for level in range(data.levels + 1):
            whole = szgpu.decompress(path.read_bytes(), level=level)
            preview = data.level(level)
            assert preview.shape == whole.shape and preview.levels == data.levels - level
            assert np.array_equal(preview[2:5, ..., -1], whole[2:5, ..., -1])
        assert np.array_equal(data.level(1).level(1)[...], data.level(2)[...])
        with pytest.raises(szgpu.ArgumentError, match="frame 0 goes up to level"):
            data.level(6)[0]
        with pytest.raises(szgpu.ArgumentError, match="level is 7"):
            data.level(7)


def test_levels_of_archives_without_any(tmp_path):
    with szgpu.open(written(tmp_path / "a.szg", A, abs=1e-3, predictor="lorenzo")) as data:
        assert data.levels == 0
    with szgpu.open(written(tmp_path / "b.szg", np.full((5, 6), 2.5), abs=1e-3)) as data:
        assert data.levels == 6 and data.level(2)[1, 1] == 2.5
    columns = np.arange(400) * 7919 % 100
    rows = (columns + np.sin(np.arange(300)[:, None] * 0.05)).astype("f4").reshape(-1)
    with szgpu.open(written(tmp_path / "c.szg", rows, abs=1e-2, predictor="interpolation")) as data:
        assert data.info.frames()[0].fold > 0 and data.levels == 0


def test_integers(tmp_path):
    ids = RANDOM.integers(0, 1 << 20, (30, 41, 7), dtype="i4")
    for order in "CF":
        path = written(tmp_path / "ids.szg", np.array(ids, order=order), lossless=True)
        with szgpu.open(path, dtype="int32") as data:
            assert (data.shape, data.dtype) == (ids.shape, np.dtype("i4"))
            for index in INDICES[:6]:
                index = index if index is not INDICES[4] else np.s_[5:9, -4:, ::3]
                if index is INDICES[1]:
                    index = np.s_[-1, ..., 3]
                assert np.array_equal(data[index], ids[index]), index


def test_out(tmp_path):
    archive = szgpu.compress(A, abs=1e-3)
    whole = szgpu.decompress(archive)
    out = np.empty((6, 50), "f4")
    assert szgpu.decompress(archive, region=np.s_[2:8, 5], out=out) is out
    assert np.array_equal(out, whole[2:8, 5])
    with pytest.raises(ValueError, match="out has the shape"):
        szgpu.decompress(archive, region=np.s_[2:8, 6:7], out=out)
    with pytest.raises(ValueError, match="steps"):
        szgpu.decompress(archive, region=np.s_[2:14:2, 5], out=out)


@pytest.mark.parametrize(
    ("index", "error", "words"),
    [
        (40, IndexError, "index 40 is out of bounds for axis 0 with size 40"),
        (np.s_[:, -34], IndexError, "index -34 is out of bounds for axis 1"),
        (np.s_[0, 0, 0, 0], IndexError, "4 indices for an array of 3 axes"),
        (np.s_[..., 0, ...], IndexError, "one Ellipsis"),
        (np.s_[::-1], ValueError, "step -1"),
        (np.s_[::0], ValueError, "zero"),
        (1.5, TypeError, "only whole numbers"),
        ("rho", TypeError, "only whole numbers"),
        (None, TypeError, "only whole numbers"),
        (True, TypeError, "only whole numbers"),
        ([1, 2], TypeError, "only whole numbers"),
        (np.array([1, 2]), TypeError, "only whole numbers"),
        (np.s_[0.5:3], TypeError, "whole numbers"),
    ],
)
def test_indices_that_are_refused(tmp_path, index, error, words):
    with szgpu.open(written(tmp_path / "a.szg", A, abs=1e-3)) as data:
        with pytest.raises(error, match=words):
            data[index]


def test_region_does_not_go_with_slab():
    with pytest.raises(ValueError, match="slab and region"):
        szgpu.decompress(szgpu.compress(A, abs=1e-3), region=0, slab=(0, 1))


def test_files_that_are_no_archives(tmp_path):
    with pytest.raises(FileNotFoundError):
        szgpu.open(tmp_path / "none.szg")
    for content, error in (
        (b"", szgpu.CorruptError),
        (b"no archive" * 99, szgpu.NotAnArchiveError),
    ):
        (tmp_path / "bad.szg").write_bytes(content)
        with pytest.raises(error):
            szgpu.open(tmp_path / "bad.szg")
    whole = szgpu.compress(smooth(65, 64, 64), abs=1e-3)  # too large for the compact form
    (tmp_path / "cut.szg").write_bytes(whole[:-16])
    with szgpu.open(tmp_path / "cut.szg") as data, pytest.raises(szgpu.TruncatedError):
        data[-1]
    (tmp_path / "small.szg").write_bytes(szgpu.compress(A, abs=1e-3)[:-16])
    with pytest.raises(szgpu.TruncatedError):
        szgpu.open(tmp_path / "small.szg")


def test_a_closed_archive_says_so(tmp_path):
    data = szgpu.open(written(tmp_path / "a.szg", A, abs=1e-3))
    part, preview = data[3:5], data.level(0)
    data.close()
    data.close()
    assert part.shape == (2, 33, 50)
    for closed in (data, preview):
        with pytest.raises(ValueError, match="closed"):
            closed[0]


def test_damage_elsewhere_does_not_matter(tmp_path):
    path = written(tmp_path / "a.szg", smooth(65, 64, 64), abs=1e-3, predictor="lorenzo")
    good = szgpu.open(path)[:8, :8, :8]
    content = bytearray(path.read_bytes())
    stream = szgpu.inspect(bytes(content)).frames()[0].sections["bitstream"]
    content[-stream // 2] ^= 1
    path.write_bytes(content)
    assert np.array_equal(szgpu.open(path)[:8, :8, :8], good)
    with pytest.raises(szgpu.ChecksumError):
        szgpu.decompress(bytes(content))


def test_threads_read_at_the_same_time(tmp_path):
    path = written(tmp_path / "a.szg", A, abs=1e-3)
    whole, failed = szgpu.decompress(path.read_bytes()), []

    def read(data: szgpu.Dataset, first: int) -> None:
        for i, j in itertools.product(range(first, 40, 4), range(0, 33, 5)):
            if not np.array_equal(data[i, j : j + 3], whole[i, j : j + 3]):
                failed.append((i, j))

    with szgpu.open(path, threads=1) as data:
        workers = [threading.Thread(target=read, args=(data, first)) for first in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert not failed
