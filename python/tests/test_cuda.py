"""Arrays of cupy, torch and jax on a GPU.

Without a GPU this module is skipped; with SZGPU_REQUIRE_GPU in the environment it fails instead.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import szgpu


def why_there_is_no_gpu() -> str | None:
    if not szgpu.build_info()["cuda"]:
        return "this szgpu was built without CUDA"
    try:
        szgpu.Compressor(backend="cuda").compress(np.ones(1, "f4"), abs=1)
    except (szgpu.NoDeviceError, szgpu.DeviceError) as error:
        return f"there is no usable GPU ({error})"
    for library in ("cupy", "torch"):
        try:
            importlib.import_module(library)
        except ImportError as error:
            return f"{library} is missing ({error})"
    return None


REASON = why_there_is_no_gpu()
if REASON:
    if os.environ.get("SZGPU_REQUIRE_GPU"):
        raise RuntimeError(REASON)
    pytest.skip(f"skipped: {REASON}", allow_module_level=True)

import cupy  # noqa: E402
import torch  # noqa: E402

CPU = szgpu.Compressor(backend="cpu")
RNG = np.random.default_rng(18)


def smooth(*shape: int, dtype: str = "f4") -> np.ndarray:
    walk = RNG.normal(size=shape)
    for axis in range(len(shape)):
        walk = np.cumsum(walk, axis) / 3
    return walk.astype(dtype)


class Cupy:
    name = "cupy"

    @staticmethod
    def put(a):
        return cupy.asarray(a)

    @staticmethod
    def get(x):
        return cupy.asnumpy(x)

    @staticmethod
    def new(shape, dtype):
        return cupy.full(shape, 7, dtype)

    @staticmethod
    def is_ours(x):
        return isinstance(x, cupy.ndarray)

    @staticmethod
    def address(x):
        return x.data.ptr

    # A kernel that keeps the current stream busy for tens of milliseconds.
    _spin = cupy.RawKernel(
        'extern "C" __global__ void spin(long long n) { long long t = clock64();'
        " while (clock64() - t < n) {} }",
        "spin",
    )

    @classmethod
    def delay(cls):
        cls._spin((1,), (1,), (np.int64(60_000_000),))

    @staticmethod
    def assign(x, y):
        x[...] = y

    @staticmethod
    def stream():
        return cupy.cuda.Stream(non_blocking=True)

    @staticmethod
    def clone(x):
        return x.copy()


class Torch:
    name = "torch"

    @staticmethod
    def put(a):
        return torch.from_numpy(np.ascontiguousarray(a)).cuda()

    @staticmethod
    def get(x):
        return x.cpu().numpy()

    @staticmethod
    def new(shape, dtype):
        return torch.full(shape, 7, dtype=getattr(torch, dtype), device="cuda")

    @staticmethod
    def is_ours(x):
        return isinstance(x, torch.Tensor) and x.is_cuda

    @staticmethod
    def address(x):
        return x.data_ptr()

    @staticmethod
    def delay():
        torch.cuda._sleep(60_000_000)

    @staticmethod
    def assign(x, y):
        x.copy_(y)

    @staticmethod
    def stream():
        return torch.cuda.stream(torch.cuda.Stream())

    @staticmethod
    def clone(x):
        return x.clone()


@pytest.fixture(params=[Cupy, Torch], ids=lambda library: library.name)
def lib(request):
    return request.param


def raw(lib, x) -> bytes:
    """The bytes of an array on the GPU."""
    if lib is Torch:
        return x.contiguous().view(torch.uint8).cpu().numpy().tobytes()
    return cupy.asnumpy(x).tobytes()


# ---- the same bytes, beside the input ----


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(1,), (4097,), (33, 257), (65, 64, 50), (3, 20, 30, 40)])
@pytest.mark.parametrize(
    "settings",
    [
        {"abs": 1e-3},
        {"rel": 1e-4, "predictor": "lorenzo"},
        {"rel": 1e-3, "predictor": "interpolation"},
        {"psnr": 80},
        {"abs": 1e-3, "layout": "linear"},
        {"abs": 1e-3, "zstd": 3},
        {"lossless": True},
    ],
    ids=str,
)
def test_a_gpu_gives_the_bytes_and_values_of_the_cpu(lib, dtype, shape, settings):
    a = smooth(*shape, dtype=dtype)
    archive = szgpu.compress(lib.put(a), **settings)
    assert lib.is_ours(archive) and archive.ndim == 1 and "uint8" in str(archive.dtype)
    expected = CPU.compress(a, **settings)
    assert raw(lib, archive) == expected
    b = szgpu.decompress(archive)
    assert lib.is_ours(b) and tuple(b.shape) == shape
    assert raw(lib, b) == CPU.decompress(expected).tobytes()


@pytest.mark.parametrize(
    "dtype",
    ["float16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"],
)
def test_types_that_are_kept_exactly(lib, dtype):
    a = RNG.integers(0, 100, size=(33, 130)).astype(dtype)
    archive = szgpu.compress(lib.put(a), lossless=True)
    assert raw(lib, archive) == CPU.compress(a, lossless=True)
    b = szgpu.decompress(archive, dtype=dtype)
    assert str(b.dtype).endswith(dtype) and tuple(b.shape) == a.shape
    assert raw(lib, b) == a.tobytes()


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_types_of_torch_are_kept_exactly(dtype):
    x = torch.randn(33, 130, device="cuda").to(getattr(torch, dtype))
    archive = szgpu.compress(x, lossless=True)
    assert raw(Torch, archive) == CPU.compress(x.cpu(), lossless=True)
    b = szgpu.decompress(archive, dtype=dtype)
    assert b.dtype == x.dtype and raw(Torch, b) == raw(Torch, x)
    out = torch.empty_like(x)
    assert szgpu.decompress(archive, out=out) is out and raw(Torch, out) == raw(Torch, x)
    if dtype == "bfloat16":
        assert szgpu.decompress(archive).dtype == x.dtype


# ---- many at once ----


def many_arrays() -> list[np.ndarray]:
    floats = [smooth(*shape, dtype=t) for shape in [(1,), (4097,), (65, 64)] for t in ("f4", "f8")]
    others = [RNG.integers(0, 90, size=(9, 70)).astype(t) for t in ("f2", "u1", "i2", "i4", "i8")]
    return floats + others + [np.zeros((3, 4), "f4"), RNG.bytes(5000)]


@pytest.mark.parametrize("settings", [{"lossless": True}, {"lossless": True, "zstd": 1}], ids=str)
def test_many_arrays_are_compressed_as_one_by_one(lib, settings):
    given = [np.frombuffer(a, "u1") if isinstance(a, bytes) else a for a in many_arrays()]
    archives = szgpu.compress_many([lib.put(a) for a in given], **settings)
    assert [raw(lib, archive) for archive in archives] == [
        CPU.compress(a, **settings) for a in given
    ]
    assert all(lib.is_ours(archive) for archive in archives)
    for a, b in zip(given, szgpu.decompress_many(archives), strict=True):
        assert lib.is_ours(b) and raw(lib, b) == a.tobytes()


def test_many_arrays_with_a_bound_and_in_both_memories(lib):
    given = [smooth(40, 30), smooth(999)]
    archives = szgpu.compress_many([lib.put(given[0]), given[1]], abs=1e-3)
    assert raw(lib, archives[0]) == CPU.compress(given[0], abs=1e-3)
    assert archives[1] == CPU.compress(given[1], abs=1e-3)
    restored = szgpu.decompress_many(archives)
    assert lib.is_ours(restored[0]) and isinstance(restored[1], np.ndarray)


def test_archives_of_other_kinds_are_restored_beside_the_others(lib):
    given = [smooth(70, 80), np.asfortranarray(smooth(7, 8)), smooth(2000)]
    made = [
        CPU.compress(given[0], lossless=True, frame_rows=10),
        CPU.compress(given[1], lossless=True),
        CPU.compress(given[2], lossless=True, zstd=1),
        CPU.compress(given[2], lossless=True, layout="linear"),
        CPU.compress(given[2], abs=1e-30),
    ]
    on_gpu = [lib.put(np.frombuffer(archive, "u1").copy()) for archive in made]
    for archive, found in zip(made, szgpu.decompress_many(on_gpu), strict=True):
        expected = CPU.decompress(archive)
        assert tuple(found.shape) == expected.shape
        assert np.array_equal(lib.get(found), expected)


def test_damage_among_many_is_found(lib):
    archives = szgpu.compress_many([lib.put(smooth(3000)) for _ in range(5)], lossless=True)
    archives[3][2000] ^= 1
    with pytest.raises(szgpu.ChecksumError):
        szgpu.decompress_many(archives)


def test_many_arrays_on_another_stream(lib):
    given = [smooth(300, 200) for _ in range(4)]
    with lib.stream():
        placed = [lib.new(a.shape, "float32") for a in given]
        lib.delay()
        for x, a in zip(placed, given, strict=True):
            lib.assign(x, lib.put(a))
        archives = szgpu.compress_many(placed, lossless=True)
        restored = szgpu.decompress_many(archives)
        found = [raw(lib, x) for x in restored]
    assert found == [a.tobytes() for a in given]


def test_arrays_that_begin_anywhere(lib):
    a = smooth(5000)
    for first in (1, 2, 3):
        archive = szgpu.compress(lib.put(a)[first:], abs=1e-3)
        assert raw(lib, archive) == CPU.compress(a[first:], abs=1e-3)
        out = lib.new((5000,), "float32")
        szgpu.decompress(archive, out=out[first:])
        assert raw(lib, out[first:]) == raw(lib, szgpu.decompress(archive))


def test_archives_that_begin_anywhere(lib):
    a = smooth(50, 60, 70)
    archive = CPU.compress(a, abs=1e-3)
    for before in (0, 1, 8, 15):
        stored = lib.put(np.frombuffer(b"x" * before + archive, "u1").copy())
        assert raw(lib, szgpu.decompress(stored[before:])) == CPU.decompress(archive).tobytes()


def test_parts_previews_and_fill_values(lib):
    a = smooth(65, 64, 50)
    a[10:20, :3] = -9999
    settings = {"rel": 1e-3, "predictor": "interpolation", "fill": -9999, "frame_rows": 16}
    archive = szgpu.compress(lib.put(a), **settings)
    expected = CPU.compress(a, **settings)
    assert raw(lib, archive) == expected
    whole = CPU.decompress(expected)
    assert (whole[10:20, :3] == -9999).all()
    for slab in (slice(7, 9), slice(16, 33), slice(-3, None)):
        part = szgpu.decompress(archive, slab=slab)
        assert tuple(part.shape) == whole[slab].shape and raw(lib, part) == whole[slab].tobytes()
    for level in (1, 2):
        preview = szgpu.decompress(archive, level=level)
        step = slice(None, None, 2**level)
        assert raw(lib, preview) == whole[step, step, step].tobytes()


def test_fortran_order_of_the_cpu_comes_back_on_the_gpu(lib):
    a = np.asfortranarray(smooth(20, 30, 40))
    archive = CPU.compress(a, abs=1e-3)
    b = szgpu.decompress(lib.put(np.frombuffer(archive, "u1").copy()))
    assert np.array_equal(lib.get(b), CPU.decompress(archive))


def test_out_is_written_in_place(lib):
    a = smooth(64, 64)
    expected = CPU.compress(a, abs=1e-3)
    room = lib.new((1 << 16,), "uint8")
    archive = szgpu.compress(lib.put(a), abs=1e-3, out=room)
    assert lib.address(archive) == lib.address(room) and raw(lib, archive) == expected
    out = lib.new((64, 64), "float32")
    assert szgpu.decompress(archive, out=out) is out
    assert raw(lib, out) == CPU.decompress(expected).tobytes()


def test_archives_keep_no_spare_memory():
    x = torch.zeros(64, 512, 512, device="cuda")
    archive = szgpu.compress(x, abs=1e-3)
    assert archive.untyped_storage().nbytes() == archive.numel() < 1 << 16


def test_damaged_archives_on_a_gpu(lib):
    archive = CPU.compress(smooth(64, 64), abs=1e-3)

    def on_gpu(data: bytes):
        return lib.put(np.frombuffer(data, "u1").copy())

    for data, error in (
        (archive[:-1], szgpu.TruncatedError),
        (archive[:30], szgpu.TruncatedError),
        (archive + b"x", szgpu.TrailingBytesError),
        (b"", szgpu.TruncatedError),
        (b"x" * 500, szgpu.NotAnArchiveError),
        (archive[:8] + b"\xff\xff" + archive[10:], szgpu.NewerVersionError),
        (archive[:-40] + bytes([archive[-40] ^ 1]) + archive[-39:], szgpu.ChecksumError),
    ):
        with pytest.raises(error):
            szgpu.decompress(on_gpu(data))
    assert raw(lib, szgpu.decompress(on_gpu(archive))) == CPU.decompress(archive).tobytes()


# ---- what is refused ----


def test_arrays_that_are_refused(lib):
    x = lib.put(smooth(64, 64))
    for bad, words in (
        (x[:, ::2], "not contiguous"),
        (x.T, "not contiguous"),
        (x[:0], "no values"),
        (x[0, 0], r"shape \(1,\)"),
        (x.reshape(2, 2, 2, 2, 256), "reshape"),
    ):
        with pytest.raises(ValueError, match=words):
            szgpu.compress(bad, abs=1)
    with pytest.raises(TypeError, match="axis of length 2"):
        szgpu.compress(lib.new((4,), "complex64"), abs=1)
    with pytest.raises(TypeError, match="lossless=True"):
        szgpu.compress(lib.new((4,), "int64"), abs=1)


def test_out_that_is_refused(lib):
    a = smooth(64, 64)
    x = lib.put(a)
    archive = szgpu.compress(x, abs=1e-3)
    for out, error, words in (
        (np.empty_like(a), ValueError, "another device"),
        (lib.new((64, 63), "float32"), ValueError, "shape"),
        (lib.new((64, 64), "float64"), TypeError, "float64"),
        (lib.new((64, 128), "float32")[:, ::2], ValueError, "not contiguous"),
    ):
        with pytest.raises(error, match=words):
            szgpu.decompress(archive, out=out)
    with pytest.raises(ValueError, match="another device"):
        szgpu.decompress(CPU.compress(a, abs=1e-3), out=x)
    for out, error, words in (
        (np.empty(1 << 16, "u1"), ValueError, "another device"),
        (lib.new((1 << 14,), "float32"), TypeError, "uint8"),
        (lib.new((100,), "uint8"), szgpu.CapacityError, "."),
        (lib.new((1 << 16,), "uint8")[1:], szgpu.ArgumentError, "aligned"),
    ):
        with pytest.raises(error, match=words):
            szgpu.compress(x, abs=1e-3, out=out)
    with pytest.raises(ValueError, match="another device"):
        szgpu.compress(a, abs=1e-3, out=lib.new((1 << 16,), "uint8"))
    with pytest.raises(TypeError, match="CPU"):
        szgpu.inspect(archive)
    assert raw(lib, szgpu.compress(x, abs=1e-3)) == raw(lib, archive)


def test_tensors_that_require_grad_are_refused():
    x = torch.ones(64, 64, device="cuda", requires_grad=True)
    with pytest.raises(TypeError, match="detach"):
        szgpu.compress(x, abs=1)
    archive = szgpu.compress(x.detach(), abs=1)
    with pytest.raises(TypeError, match="detach"):
        szgpu.decompress(archive, out=x)
    with pytest.raises(TypeError, match="detach"):
        szgpu.compress(torch.nn.Parameter(x.detach()), abs=1)


# ---- order with the library's streams ----


@pytest.mark.parametrize("where", ["default", "own"])
def test_work_waits_for_the_stream_and_the_stream_for_it(lib, where):
    a = smooth(64, 128, 128)
    expected = CPU.compress(a, abs=1e-3)
    restored = CPU.decompress(expected).tobytes()
    source = lib.put(a)
    packed = lib.put(np.frombuffer(expected, "u1").copy())
    x, archive = lib.new(a.shape, "float32"), lib.new((len(expected),), "uint8")
    old, out = lib.new(a.shape, "float32"), lib.new(a.shape, "float32")
    szgpu.decompress(szgpu.compress(source, abs=1e-3))  # so that nothing is loaded later
    torch.cuda.synchronize()

    def work() -> None:
        lib.delay()
        lib.assign(x, source)  # the input is filled late
        made = szgpu.compress(x, abs=1e-3)
        again = lib.clone(made)  # and the result is read at once
        lib.delay()
        lib.assign(archive, packed)
        b = lib.clone(szgpu.decompress(archive))
        lib.delay()
        lib.assign(old, out)  # what was there is read late
        szgpu.decompress(packed, out=out)
        assert raw(lib, again) == expected
        assert raw(lib, b) == restored
        assert raw(lib, out) == restored
        assert (lib.get(old) == 7).all()

    if where == "default":
        work()
    else:
        with lib.stream():
            work()


def test_one_thread_with_many_streams(lib):
    fields = [smooth(40 + i, 50, 60) for i in range(6)]
    results = []
    sources = [lib.put(a) for a in fields]
    torch.cuda.synchronize()
    for x in sources:
        with lib.stream():
            lib.delay()
            results.append(szgpu.decompress(szgpu.compress(x * 2, abs=1e-3)) / 2)
    torch.cuda.synchronize()
    for a, b in zip(fields, results, strict=True):
        assert raw(lib, b) == (CPU.decompress(CPU.compress(a * 2, abs=1e-3)) / 2).tobytes()


def test_many_threads_each_with_a_stream(lib):
    fields = [smooth(30 + i, 40, 50) for i in range(8)]
    expected = [CPU.compress(a, abs=1e-3) for a in fields]
    restored = [CPU.decompress(archive) for archive in expected]
    start = threading.Barrier(8)

    def work(i: int) -> None:
        start.wait()
        with lib.stream():
            for _ in range(20):
                x = lib.put(fields[i])
                archive = szgpu.compress(x, abs=1e-3)
                b = szgpu.decompress(archive)
                assert raw(lib, archive) == expected[i]
                assert raw(lib, b) == restored[i].tobytes()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


def test_nothing_but_headers_is_copied_to_the_host(tmp_path):
    x = torch.from_numpy(smooth(128, 256, 256)).cuda()
    archive = szgpu.compress(x, rel=1e-3)
    szgpu.decompress(archive)
    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=kinds) as profile:
        archive = szgpu.compress(x, rel=1e-3)
        szgpu.decompress(archive)
        torch.cuda.synchronize()
    profile.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert any(event.get("cat") == "kernel" for event in events)
    copies: dict[str, list[int]] = {}
    for event in events:
        if event.get("cat") == "gpu_memcpy":
            kind = event["name"].removeprefix("Memcpy ").partition(" ")[0]
            copies.setdefault(kind, []).append(int(event["args"]["bytes"]))
    assert sum(copies.get("DtoH", [])) < 1 << 15 < archive.numel()
    assert sum(copies.get("HtoD", [])) < 1 << 15


# ---- other libraries ----


def test_arrays_of_jax():
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax = pytest.importorskip("jax")
    a = smooth(64, 50, 40)
    x = jax.numpy.asarray(a) * 1
    if x.devices().pop().platform not in ("gpu", "cuda"):
        pytest.skip("skipped: this jax has no GPU")
    archive = szgpu.compress(x, abs=1e-3)
    assert isinstance(archive, jax.Array)
    expected = CPU.compress(a, abs=1e-3)
    assert np.asarray(archive).tobytes() == expected
    b = szgpu.decompress(archive)
    assert isinstance(b, jax.Array) and b.shape == a.shape
    assert np.asarray(b).tobytes() == CPU.decompress(expected).tobytes()
    with pytest.raises(ValueError, match="jax"):
        szgpu.decompress(archive, out=b)
    out = cupy.empty(a.shape, "f4")
    szgpu.decompress(archive, out=out)
    assert cupy.asnumpy(out).tobytes() == np.asarray(b).tobytes()


class OnlyInterface:
    """What numba's arrays offer: __cuda_array_interface__ and no DLPack."""

    def __init__(self, x):
        self._x = x
        self.__cuda_array_interface__ = x.__cuda_array_interface__
        self.shape, self.dtype = x.shape, x.dtype


def test_arrays_without_dlpack():
    a = smooth(64, 64)
    x = cupy.asarray(a)
    archive = szgpu.compress(OnlyInterface(x), abs=1e-3)
    assert isinstance(archive, cupy.ndarray)
    assert archive.get().tobytes() == CPU.compress(a, abs=1e-3)
    out = OnlyInterface(cupy.empty_like(x))
    assert szgpu.decompress(OnlyInterface(archive), out=out) is out
    assert out._x.get().tobytes() == szgpu.decompress(archive).get().tobytes()


def test_subclasses_and_memory_of_other_kinds():
    a = smooth(64, 64)
    expected = CPU.compress(a, abs=1e-3)

    class Field(torch.Tensor):
        pass

    archive = szgpu.compress(torch.from_numpy(a).cuda().as_subclass(Field), abs=1e-3)
    assert raw(Torch, archive) == expected
    pinned = torch.from_numpy(a).pin_memory()
    assert szgpu.compress(pinned, abs=1e-3) == expected
    managed = cupy.ndarray(a.shape, "f4", cupy.cuda.malloc_managed(a.nbytes))
    managed[...] = cupy.asarray(a)
    assert szgpu.compress(managed, abs=1e-3).get().tobytes() == expected


# ---- containers ----


def test_weights_come_back_on_the_gpu(tmp_path):
    pytest.importorskip("safetensors")
    from szgpu.safetensors import load_file, open_file, save_file

    tensors = {
        "f32": torch.randn(130, 70, device="cuda"),
        "f64": torch.randn(33, device="cuda", dtype=torch.float64),
        "f16": torch.randn(3, 5, 7, 9, 11, device="cuda").half(),
        "bf16": torch.randn(257, 129, device="cuda").bfloat16(),
        "fp8": torch.randn(64, 65, device="cuda").to(torch.float8_e4m3fn),
        "i64": torch.arange(1000, device="cuda"),
        "mask": torch.rand(99, device="cuda") > 0.5,
        "one": torch.tensor(3.5, device="cuda"),
        "none": torch.empty(0, 4, device="cuda"),
    }
    from_gpu, from_cpu = tmp_path / "gpu.safetensors", tmp_path / "cpu.safetensors"
    save_file(tensors, from_gpu)
    save_file({name: tensor.cpu() for name, tensor in tensors.items()}, from_cpu)
    assert from_gpu.read_bytes() == from_cpu.read_bytes()
    restored = load_file(from_cpu, device="cuda")
    assert restored.keys() == tensors.keys()
    for name, tensor in tensors.items():
        back = restored[name]
        assert back.is_cuda and back.dtype == tensor.dtype and back.shape == tensor.shape
        if tensor.numel():
            assert raw(Torch, back.reshape(-1)) == raw(Torch, tensor.reshape(-1))
    with open_file(from_cpu, framework="torch", device="cuda:0") as file:
        assert file.get_tensor("bf16").device == torch.device("cuda", 0)


def test_zarr_restores_on_the_gpu(tmp_path):
    zarr = pytest.importorskip("zarr")
    from szgpu.zarr import SzgpuCodec

    a = smooth(60, 64, 50)
    codec = SzgpuCodec(abs=1e-3)
    for name, more in (("plain", {}), ("sharded", {"shards": (32, 64, 50)})):
        array = zarr.create_array(
            tmp_path / name, data=a, chunks=(16, 64, 50), serializer=codec, compressors=None, **more
        )
        on_cpu = array[...]
        with zarr.config.enable_gpu():
            on_gpu = zarr.open_array(tmp_path / name, mode="r")[...]
            assert isinstance(on_gpu, cupy.ndarray)
            assert on_gpu.get().tobytes() == on_cpu.tobytes()
            again = zarr.create_array(
                tmp_path / f"{name} by gpu",
                shape=a.shape,
                dtype="f4",
                chunks=(16, 64, 50),
                serializer=codec,
                compressors=None,
                **more,
            )
            again[...] = cupy.asarray(a)
        for file in (tmp_path / name / "c").rglob("*"):
            if file.is_file():
                twin = tmp_path / f"{name} by gpu" / file.relative_to(tmp_path / name)
                assert twin.read_bytes() == file.read_bytes()


def test_dask_reduces_chunks_on_the_gpu(tmp_path):
    zarr = pytest.importorskip("zarr")
    da = pytest.importorskip("dask.array")
    from szgpu.zarr import SzgpuCodec

    a = smooth(64, 64, 50)
    stored = zarr.create_array(
        tmp_path / "a", data=a, chunks=(16, 64, 50), serializer=SzgpuCodec(abs=1e-3),
        compressors=None,
    )
    expected = stored[...].max()
    with zarr.config.enable_gpu():
        again = zarr.open_array(tmp_path / "a", mode="r")
        lazy = da.from_array(again, chunks=(16, 64, 50), asarray=False)
        found = lazy.max().compute(scheduler="threads")
        assert isinstance(lazy[:16].compute(scheduler="threads"), cupy.ndarray)
    assert float(found) == float(expected)


# ---- arrays on the CPU, beside a GPU ----


def test_large_arrays_on_the_cpu_are_the_same_by_either():
    a = np.tile(smooth(64, 512, 512), (8, 1, 1))
    archive = szgpu.compress(a, rel=1e-3, threads=1)  # so large that the GPU takes it
    assert archive == CPU.compress(a, rel=1e-3)
    assert np.array_equal(szgpu.decompress(archive, threads=1), CPU.decompress(archive))


def test_forked_processes_work_on_the_cpu():
    program = """
        import os, sys
        import numpy as np
        import szgpu
        a = np.cumsum(np.random.default_rng(1).normal(size=(64, 512, 512)), 2).astype("f4")
        a = np.tile(a, (8, 1, 1))
        here = szgpu.compress(a, rel=1e-3, threads=1)
        szgpu.Compressor(backend="cuda").compress(a[0], rel=1e-3)
        child = os.fork()
        if child == 0:
            ok = szgpu.compress(a, rel=1e-3, threads=1) == here
            ok = ok and szgpu.decompress(here, threads=1).shape == a.shape
            os._exit(0 if ok else 3)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
