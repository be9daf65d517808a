"""Containers whose chunks a stranger made: an array of the container's shape, or an error by name.

Archives of other arrays, damaged ones, and ones whose headers were changed and sealed again stand in
the place of chunks. SZGPU_TEST_CHUNKS=2000 tries more, and SZGPU_TEST_SEED repeats a run.
"""

from __future__ import annotations

import json
import os
import random
import struct
import subprocess
import sys
import time

import numpy as np
import pytest
import szgpu

xxhash = pytest.importorskip("xxhash")

SHAPE = (12, 20)
SEED = int(os.environ.get("SZGPU_TEST_SEED", time.time_ns() % 1_000_000))
COUNT = int(os.environ.get("SZGPU_TEST_CHUNKS", 60))
MOST_MIB, MOST_SECONDS = 64, 10  # of all reads of one door, and of one read

COMPACT = 9  # the format version

VALUES = np.add.outer(np.linspace(0, 4, SHAPE[0]), np.sin(np.arange(SHAPE[1]))).astype("f4")
LARGE = np.resize(VALUES, (520, 512))  # too large for the compact form
FILLED = np.where(VALUES > 3, -9999, VALUES).astype("f4")


def honest_archives():
    """Archives of every mode, layout and predictor; also of other types and shapes.

    Small ones have the compact form, others a header with a checksum of its own.
    """
    settings = [
        {"abs": 0.01}, {"rel": 1e-3}, {"psnr": 60}, {"pwrel": 0.01}, {"lossless": True},
        {"abs": 0.01, "layout": "linear"}, {"abs": 0.01, "predictor": "interpolation"},
        {"abs": 0.01, "zstd": 3}, {"lossless": True, "zstd": 3}, {"abs": 0.01, "frame_rows": 4},
        {"abs": 0.01, "fill": [-9999, 1, 2]},
    ]
    for one in settings:
        yield szgpu.compress(FILLED if "fill" in one else VALUES, **one)
        yield szgpu.compress(LARGE, **one)
    for other in (VALUES.T, VALUES.reshape(-1), VALUES.reshape(3, 4, 20), VALUES.astype("f8"),
                  VALUES.astype("f2"), VALUES.astype("i4"), VALUES.view("u1"), np.asfortranarray(VALUES),
                  np.full((1 << 22,), 7, "f4"), np.full((1 << 11, 1 << 11), 7, "f4")):
        yield szgpu.compress(other, lossless=True)
        if other.dtype != "u1":
            yield szgpu.compress(other, abs=0.01)


def header_bytes(archive):
    frames = struct.unpack_from("<Q", archive, 104)[0]
    flags = struct.unpack_from("<I", archive, 12)[0]
    size = 128 + 8 * frames + 8 * (flags >> 3 & 3) + 8 + (16 if flags & 4 else 0)
    return -(-size // 16) * 16


def sealed(archive, at, new):
    """Change the header, and mend its checksum."""
    size = header_bytes(archive)
    changed = bytearray(archive)
    changed[at : at + len(new)] = new
    if at + len(new) <= size - 8:
        struct.pack_into("<Q", changed, size - 8, xxhash.xxh3_64_intdigest(bytes(changed[: size - 8])))
    return bytes(changed)


def hostile(archives, chance):
    archive = chance.choice(archives)
    kind = chance.randrange(7)
    if kind == 0:
        return archive
    if kind == 1:
        return archive[: chance.randrange(len(archive))]
    if kind == 2:
        return archive + chance.randbytes(chance.randrange(1, 64))
    if kind == 3:  # a note of numcodecs
        return archive + b"numpy " + chance.choice([b"<M8[ns]", b"<V99999999", b"|S9", b"<U8", b"O"])
    if kind == 4:
        changed = bytearray(archive)
        for _ in range(chance.randrange(1, 9)):
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
        return bytes(changed)
    archive = chance.choice([one for one in archives if one[8] != COMPACT])
    if kind == 5:  # a field of the header
        at, width = chance.choice([(8, 4), (12, 4), (16, 1), (17, 1), (18, 1), (19, 1), (20, 4), (56, 8),
                                   (64, 8), (72, 8), (80, 8), (88, 8), (96, 8), (104, 8), (112, 8),
                                   (120, 4), *((24 + 8 * i, 8) for i in range(4))])
        number = chance.choice([0, 1, 2, 3, 4, 8, 20, 1 << 20, 1 << 31, (1 << 62) + 1, (1 << 64) - 1])
        return sealed(archive, at, struct.pack("<Q", number)[:width])
    at = chance.randrange(8, header_bytes(archive) - 8)
    return sealed(archive, at, chance.randbytes(1))


def make_chunks(folder, seed, count):
    chance, archives = random.Random(seed), list(honest_archives())
    for i in range(count):
        chunk = archives[0] if i == 0 else hostile(archives, chance)
        (folder / f"{i}.chunk").write_bytes(chunk)


READERS = """
import json, os, sys, time, warnings
import numpy as np
import szgpu
warnings.simplefilter("ignore")
door, folder, shape = sys.argv[1], sys.argv[2], (12, 20)
values = np.ones(shape, "f4")

def peak():
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) >> 10

if door.startswith("zarr"):
    import numcodecs, zarr
    from szgpu.numcodecs import Szgpu
    from szgpu.zarr import SzgpuCodec
    how = {
        "zarr v2": dict(zarr_format=2, compressors=Szgpu(abs=.1)),
        "zarr v2, filter": dict(zarr_format=2, compressors=Szgpu(lossless=True),
                                filters=[numcodecs.Delta("f4")]),
        "zarr v3": dict(serializer=SzgpuCodec(abs=.1), compressors=None),
    }[door]
    store = zarr.storage.MemoryStore()
    zarr.create_array(store, data=values, chunks=shape, **how)
    key = next(key for key in store._store_dict if key.endswith("0"))
    def read(chunk):
        store._store_dict[key] = type(store._store_dict[key]).from_bytes(chunk)
        return zarr.open_array(store, mode="r")[...]
elif door == "numcodecs":
    from szgpu.numcodecs import Szgpu
    read = lambda chunk: Szgpu(abs=.1).decode(chunk, out=np.empty(shape, "f4"))
elif door == "out":
    read = lambda chunk: szgpu.decompress(chunk, out=np.empty(shape, "f4"))
elif door == "safetensors":
    import safetensors.numpy
    from szgpu.safetensors import load_file
    said = {"version": 1, "tensors": {"a": {"dtype": "float32", "shape": shape}}}
    def read(chunk):
        path = folder + "/a.safetensors"
        safetensors.numpy.save_file({"a": np.frombuffer(chunk, "u1")}, path,
                                    {"szgpu": json.dumps(said)})
        return load_file(path)["a"]
elif door == "h5py":
    import h5py, szgpu.hdf5
    def read(chunk):
        with h5py.File("x", "w", driver="core", backing_store=False) as file:
            dataset = file.create_dataset("a", shape, "f4", chunks=shape,
                                          compression=szgpu.hdf5.Filter(abs=.1))
            dataset.id.write_direct_chunk((0, 0), chunk)
            file.flush()
            return dataset[...]

paths = sorted(name for name in os.listdir(folder) if name.endswith(".chunk"))
outcomes, before, slowest = {}, peak(), 0.0
for name in paths:
    chunk, start = open(os.path.join(folder, name), "rb").read(), time.monotonic()
    try:
        got = read(chunk)
        outcome = "read"
        assert (got.shape, got.dtype) == (shape, np.dtype("f4")), (name, got.shape, got.dtype)
    except (szgpu.Error, ValueError, TypeError, OSError) as error:
        outcome = type(error).__name__
        assert str(error) and "\\n" not in str(error).strip() or door == "h5py", (name, error)
    slowest = max(slowest, time.monotonic() - start)
    outcomes[outcome] = outcomes.get(outcome, 0) + 1
print(json.dumps([peak() - before, slowest, outcomes]))
"""

DOORS = ("zarr v2", "zarr v2, filter", "zarr v3", "numcodecs", "out", "safetensors", "h5py")


@pytest.fixture(scope="module")
def chunks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chunks")
    make_chunks(folder, SEED, COUNT)
    return folder


@pytest.mark.parametrize("door", DOORS)
def test_hostile_chunks(chunks, door):
    print(f"SZGPU_TEST_SEED={SEED} SZGPU_TEST_CHUNKS={COUNT} repeats this")
    done = subprocess.run([sys.executable, "-c", READERS, door, str(chunks)], capture_output=True,
                          text=True)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    grown, slowest, outcomes = json.loads(done.stdout)
    print(door, outcomes)
    assert grown < MOST_MIB
    assert slowest < MOST_SECONDS
    assert sum(outcomes.values()) == COUNT
    assert outcomes["read"] > 0 and len(outcomes) > 1


def test_a_header_is_sealed_again():
    archive = szgpu.compress(LARGE, abs=0.01)
    assert sealed(archive, 56, archive[56:64]) == archive
    assert szgpu.inspect(sealed(archive, 80, struct.pack("<d", 17.0))).value_range == 17
