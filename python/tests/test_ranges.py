"""Parts of archives and of chunks are restored from a few ranges of their bytes."""

from __future__ import annotations

import numpy as np
import pytest
import szgpu
import zarr
from ranges_server import Server
from szgpu import ranges
from szgpu.zarr import SzgpuCodec

SHAPE = (128, 160, 192)
IN_SHARDS = {"codecs.sharding_indexed": "szgpu.zarr.ShardingCodec"}


def waves(shape: tuple[int, ...], dtype: str = "f4") -> np.ndarray:
    a = np.zeros(shape)
    for axis, extent in enumerate(shape):
        line = np.sin(np.arange(extent) / (5 + axis))
        a += line.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    a += np.random.default_rng(3).normal(size=shape) * 0.01
    return (a * 100).astype(dtype)


FIELD = waves(SHAPE)


class Reader:
    """An archive that is read by ranges; other bytes than those asked for are never seen."""

    def __init__(self, archive: bytes) -> None:
        self.archive = archive
        self.ranges: list[tuple[int, int]] = []

    def __call__(self, start: int, stop: int | None) -> bytes:
        answer = self.archive[start:stop]
        self.ranges.append((start, len(answer)))
        return answer

    @property
    def share(self) -> float:
        return sum(size for _, size in self.ranges) / len(self.archive)


# ---- archives ----


@pytest.mark.parametrize(
    "settings",
    [
        {"abs": 0.01},
        {"abs": 0.01, "predictor": "lorenzo"},
        {"abs": 0.01, "predictor": "interpolation", "zstd": 1},
        {"abs": 0.01, "layout": "linear"},
        {"pwrel": 0.001},
        {"lossless": True},
        {"abs": 0.01, "frame_rows": 32},
    ],
    ids=str,
)
def test_a_region_is_read_from_a_few_ranges(settings):
    archive = szgpu.compress(FIELD, **settings)
    whole = szgpu.decompress(archive)
    for region in (np.s_[40:56, 60:76, 100:116], np.s_[5, ..., ::3], np.s_[:0], np.s_[-1, -1, -1]):
        read = Reader(archive)
        assert np.array_equal(szgpu.read_region(read, region), whole[region])
    read = Reader(archive)
    szgpu.read_region(read, np.s_[40:56, 60:76, 100:116])
    if "zstd" not in settings:
        assert read.share < 0.25 and len(read.ranges) <= 40


def test_small_archives_and_long_headers_are_read_too():
    for a in (FIELD[:4], FIELD[:60], FIELD[0, 0, :1], waves((40000, 16, 2))):
        archive = szgpu.compress(a, abs=0.01, frame_rows=4 if a.ndim == 3 else 0)
        read = Reader(archive)
        region = (slice(0, 1), ..., slice(0, 1))[-a.ndim :]
        assert np.array_equal(szgpu.read_region(read, region), szgpu.decompress(archive)[region])


def test_previews_and_arrays_in_fortran_order_are_read_too():
    archive = szgpu.compress(np.asfortranarray(FIELD), abs=0.01, predictor="interpolation")
    whole = szgpu.decompress(archive)
    read = Reader(archive)
    assert np.array_equal(szgpu.read_region(read, np.s_[3:9, 4:6, 5:7]), whole[3:9, 4:6, 5:7])
    preview = szgpu.decompress(archive, level=2)
    read = Reader(archive)
    assert np.array_equal(szgpu.read_region(read, ..., level=2), preview)
    assert read.share < 0.2


def test_all_bytes_in_answer_to_a_range_are_understood():
    archive = szgpu.compress(FIELD, abs=0.01)
    answer = szgpu.read_region(lambda start, stop: archive, np.s_[3:9, 4, 5])
    assert np.array_equal(answer, szgpu.decompress(archive)[3:9, 4, 5])


def test_too_few_bytes_and_damage_are_named():
    archive = szgpu.compress(FIELD, abs=0.01)

    def cut(start: int, stop: int | None) -> bytes:
        return archive[start:stop] if start == 0 else archive[start:stop][:-1]

    with pytest.raises(szgpu.TruncatedError, match="bytes came for the"):
        szgpu.read_region(cut, np.s_[3:9, 4, 5])
    damaged = bytearray(archive)
    damaged[100] ^= 1
    with pytest.raises(szgpu.ChecksumError):
        szgpu.read_region(lambda start, stop: damaged[start:stop], np.s_[3:9, 4, 5])
    with pytest.raises(IndexError, match="out of bounds"):
        szgpu.read_region(Reader(archive), np.s_[500, 4, 5])
    with pytest.raises(ValueError, match="reader failed"):
        szgpu.read_region(Reader.failing, np.s_[3, 4, 5])


def _fail(start: int, stop: int | None) -> bytes:
    raise ValueError("the reader failed")


Reader.failing = staticmethod(_fail)

# ---- zarr ----


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    pytest.importorskip("aiohttp", reason="aiohttp, with which zarr reads from a web server")
    pytest.importorskip("fsspec", reason="fsspec, with which zarr reads from a web server")
    folder = tmp_path_factory.mktemp("served")
    for name, more in {
        "plain": {},
        "sharded": {"shards": (128, 160, 384)},
        "filtered": {"filters": [zarr.codecs.TransposeCodec(order=(2, 0, 1))]},
    }.items():
        a = zarr.create_array(
            str(folder / name), shape=(128, 160, 384), chunks=SHAPE, dtype="float32",
            serializer=SzgpuCodec(abs=0.01), compressors=None, **more,
        )  # fmt: skip
        a[:, :, :192] = FIELD
    server = Server(folder)
    yield server
    server.shutdown()
    server.server_close()


def opened(server: Server, name: str) -> zarr.Array:
    a = zarr.open_array(f"{server.url}/{name}", mode="r")
    server.chunks_sent()
    return a


INDICES = {
    "box": np.s_[40:56, 60:76, 100:116],
    "plane": np.s_[5, :, 3:20],
    "steps": np.s_[40:56:3, 60:76:2, 100:116:5],
    "value": np.s_[100, 159, 190],
    "two chunks": np.s_[3:9, 4:20, 180:200],
    "never written": np.s_[3:9, 4:20, 300:310],
}


@pytest.mark.parametrize("name", ["plain", "sharded"])
@pytest.mark.parametrize("index", INDICES)
def test_zarr_reads_the_ranges_of_a_selection(served, name, index):
    with zarr.config.set(IN_SHARDS):
        a = opened(served, name)
        found = a[INDICES[index]]
    sizes = served.chunks_sent()
    expected = zarr.open_array(str(served.folder / name), mode="r")[...][INDICES[index]]
    assert np.array_equal(found, expected)
    whole = (served.folder / name / "c/0/0/0").stat().st_size
    assert sum(sizes) < (0.4 if index == "plane" else 0.25) * whole


@pytest.mark.parametrize("name", ["plain", "sharded"])
def test_zarr_reads_scattered_values(served, name):
    with zarr.config.set(IN_SHARDS):
        a = opened(served, name)
        whole = zarr.open_array(str(served.folder / name), mode="r")[...]
        rows, columns = [3, 9, 4], [5, 6, 9]
        assert np.array_equal(a.oindex[rows, columns, 7], whole[np.ix_(rows, columns)][..., 7])
        assert np.array_equal(a.vindex[rows, columns, [8, 1, 3]], whole[rows, columns, [8, 1, 3]])
        mask = np.zeros(a.shape, bool)
        mask[3:5, 7, 9:12] = True
        assert np.array_equal(a.vindex[mask], whole[mask])
        assert sum(served.chunks_sent()) < (served.folder / name / "c/0/0/0").stat().st_size


def test_zarr_reads_whole_chunks_at_once(served):
    a = opened(served, "plain")
    whole = (served.folder / "plain/c/0/0/0").stat().st_size
    assert np.array_equal(a[:, :, :192], zarr.open_array(str(served.folder / "plain"))[:, :, :192])
    assert served.chunks_sent() == [whole]


def test_what_gives_no_ranges_still_gives_right_values(served):
    """zarr's own codec for shards, other codecs beside this one, and servers without ranges."""
    expected = zarr.open_array(str(served.folder / "plain"), mode="r")[...][INDICES["box"]]
    assert np.array_equal(opened(served, "sharded")[INDICES["box"]], expected)
    filtered = zarr.open_array(str(served.folder / "filtered"), mode="r")[...][INDICES["box"]]
    assert np.array_equal(opened(served, "filtered")[INDICES["box"]], filtered)
    served.knows_ranges = False
    try:
        a = opened(served, "plain")
        assert np.array_equal(a[INDICES["box"]], expected)
        whole = (served.folder / "plain/c/0/0/0").stat().st_size
        assert served.chunks_sent() == [whole]
    finally:
        served.knows_ranges = True


@pytest.mark.parametrize(
    "shape", [(600, 700), (500000,), (2, 1, 60, 70, 60), (2, 3, 40, 50, 60), (2, 3, 4, 20, 30, 40)]
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "int64", "S8"])
def test_every_type_and_shape_is_read_in_part(shape, dtype, monkeypatch):
    monkeypatch.setattr(ranges, "WHOLE_BYTES", 1 << 16)
    settings = {"abs": 1} if dtype in ("float32", "float64", "int16") else {"lossless": True}
    a = waves(shape, dtype if dtype != "S8" else "int16").astype(dtype)
    store = zarr.storage.MemoryStore()
    stored = zarr.create_array(
        store, shape=shape, chunks=shape, dtype=dtype, serializer=SzgpuCodec(**settings),
        compressors=None,
    )  # fmt: skip
    stored[...] = a
    whole = stored[...]
    box = tuple(slice(n // 3, n // 3 + max(1, n // 9)) for n in shape)
    assert np.array_equal(stored[box], whole[box])
    assert np.array_equal(stored[box[0]], whole[box[0]])


def test_another_arrays_chunk_is_refused():
    store = zarr.storage.MemoryStore()
    for name, shape in {"a": SHAPE, "b": SHAPE[::-1]}.items():
        zarr.create_array(
            store, name=name, shape=shape, chunks=shape, dtype="float32",
            serializer=SzgpuCodec(abs=0.01), compressors=None,
        )[...] = waves(shape)  # fmt: skip
    store._store_dict["b/c/0/0/0"] = store._store_dict["a/c/0/0/0"]
    with pytest.raises(ValueError, match="put the array's own chunk in its place"):
        zarr.open_array(store, path="b")[3, 4, 5]
